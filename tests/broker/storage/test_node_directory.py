"""A data directory is of one cluster, one node and one number of nodes."""

from __future__ import annotations

import pytest

from broker.storage.node_directory import OtherNode, check_directory
from wal.store_marker import StoreIdentity

ALONE = StoreIdentity(cluster_id="a", node_id=1, secret="")
SECOND = StoreIdentity(cluster_id="a", node_id=2, secret="", node=1, nodes=3)


def test_the_right_directory_is_accepted() -> None:
    check_directory("d", ALONE, number=0, count=1)
    check_directory("d", SECOND, number=1, count=3)
    check_directory("d", SECOND, number=1, count=3, cluster_id="a")


@pytest.mark.parametrize(
    ("found", "number", "count", "cluster_id", "sentence"),
    [
        (
            ALONE,
            0,
            3,
            "",
            "the directory of a server without kawal.cluster.nodes, and it would be that of node 0",
        ),
        (SECOND, 0, 1, "", "the directory of node 1 of 3 nodes, and it would be that of a server without"),
        (
            SECOND,
            1,
            4,
            "",
            "node 1 of 3 nodes, and .* node 1 of 4 nodes; the number of nodes .* cannot be changed",
        ),
        (SECOND, 2, 3, "", "this is the directory of node 1, and this is node 2"),
        (SECOND, 1, 3, "b", "this directory belongs to cluster a, and node 0 to b"),
    ],
)
def test_another_directory_is_refused(
    found: StoreIdentity, number: int, count: int, cluster_id: str, sentence: str
) -> None:
    with pytest.raises(OtherNode, match=sentence):
        check_directory("d", found, number=number, count=count, cluster_id=cluster_id)
