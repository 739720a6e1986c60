"""The directory of one node of several: it is of one cluster, one node and one number of nodes for good."""

from __future__ import annotations

from wal.errors import StoreError
from wal.store_marker import StoreIdentity


class OtherNode(StoreError):
    """The directory is another node's, or of another cluster."""


def check_directory(
    path: str, found: StoreIdentity, *, number: int, count: int, cluster_id: str = ""
) -> None:
    """Check that a data directory is that of node `number` of `count`; 1: of a server without other nodes.

    `cluster_id` is that of the cluster to which the node belongs; empty: it is not known yet.
    Raises: OtherNode.
    """
    if found.nodes != count:
        raise OtherNode(
            f"{path}: this is the directory of {_in_words(found.node, found.nodes)}, and it would be that of"
            f" {_in_words(number, count)}; the number of nodes of a cluster cannot be changed: start it as it"
            " was, or give another directory"
        )
    if found.node != number:
        raise OtherNode(
            f"{path}: this is the directory of node {found.node}, and this is node {number}"
            " (kawal.cluster.node, --node); give each node its own directory"
        )
    if cluster_id and found.cluster_id != cluster_id:
        raise OtherNode(
            f"{path}: this directory belongs to cluster {found.cluster_id}, and node 0 to {cluster_id}; give"
            " this node another directory, or the address of its own node 0 in kawal.cluster.nodes"
        )


def _in_words(number: int, count: int) -> str:
    return "a server without kawal.cluster.nodes" if count == 1 else f"node {number} of {count} nodes"
