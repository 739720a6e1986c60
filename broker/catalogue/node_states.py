"""The other nodes of a cluster on several machines, as one of them sees them: for its metrics."""

from __future__ import annotations

from typing import NamedTuple

from broker.catalogue.nodes import Nodes


class NodeState(NamedTuple):
    """Another node."""

    node_id: int
    is_there: bool
    unseen_ms: int | None
    """The time since it was seen; None: it was not since the start, or is not expected to be."""
    links_made: int
    """The connections that were made to it, each with a greeting."""
    requests_failed: int
    """The requests to it that got no answer."""


def node_states(nodes: Nodes, now_ms: int) -> list[NodeState]:
    """Return the other nodes; none for a server that is alone, or workers of one data directory."""
    members = nodes.members
    if members is None:
        return []
    return [
        NodeState(
            node_id,
            members.is_there(number),
            members.unseen_ms(number, now_ms),
            *nodes.link_counts(node_id),
        )
        for number, node_id in enumerate(nodes.ids)
        if node_id != nodes.own_id
    ]
