"""Replica lists that clients choose: which of the nodes has a partition.

Each partition has one replica, and its place follows from a rule: partition i of a topic is on vnode
(first + i) mod V, and vnode v on node v mod N (broker/catalogue/nodes.py). So a client may choose what some
first vnode gives, as one does who repeats what a cluster has; anything else is refused.

Source: ReplicationControlManager.validateManualPartitionAssignment of Kafka 4.3, checked on the wire (4.3.1).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from broker.errors import RequestError
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from broker.catalogue.catalogue_records import TopicCreated
    from broker.catalogue.nodes import Nodes
    from broker.catalogue.topic import Topic


def check_replicas(assignments: Iterable[list[int]], ids: Collection[int]) -> None:
    """Refuse replica lists other than one node of these ids once.

    Raises: RequestError(INVALID_REPLICA_ASSIGNMENT).
    """
    for replicas in assignments:
        if not replicas:
            raise _refusal("The manual partition assignment includes an empty replica list.")
        for number, broker_id in enumerate(replicas):
            if broker_id in replicas[:number]:
                raise _refusal(
                    f"The manual partition assignment includes the broker {broker_id} more than once."
                )
        for broker_id in replicas:
            if broker_id not in ids:
                raise _refusal(
                    f"The manual partition assignment includes broker {broker_id}, but no such broker is"
                    " registered."
                )
        if len(replicas) > 1:
            raise _refusal(f"partitions have one replica, and {len(replicas)} were asked for")


def first_vnode_for(leaders: Sequence[int], record: TopicCreated, vnode_count: int, nodes: Nodes) -> int:
    """Return the first vnode of a new topic whose partitions are to be led by these nodes, in their order.

    It is the one that the topic would have anyway, if that will do. Raises: RequestError(39), if none will.
    """
    spread = record.vnode_count or vnode_count
    for step in range(vnode_count):
        first = (record.first_vnode + step) % vnode_count
        if all(
            nodes.leader_of_vnode((first + index) % spread) == leader for index, leader in enumerate(leaders)
        ):
            return first
    raise _refusal(_rule(record.name, [nodes.leader_of_vnode(index % spread) for index in range(spread)]))


def check_growth(topic: Topic, leaders: Sequence[int], spread: int, nodes: Nodes) -> None:
    """Check that new partitions of a topic, on so many vnodes, come to the nodes that a client chose.

    Raises: RequestError(39), if they do not.
    """
    first = topic.first_vnode + topic.planned_count
    due = [nodes.leader_of_vnode((first + number) % spread) for number in range(len(leaders))]
    if due != list(leaders):
        raise _refusal(_rule(topic.name, due))


def check_follows_source(source: str, ids: Collection[int]) -> None:
    """Check that a client need not say where the partitions of a view are.  Raises: RequestError(39)."""
    if len(ids) > 1:
        raise _refusal(f"each partition of a view is where that of its source is: {source!r}")


def _rule(name: str, due: Sequence[int]) -> str:
    shown = ", ".join(map(str, due[:20])) + (", …" if len(due) > 20 else "")
    return (
        f"the partitions of {name!r} cannot be on these nodes: the place of each follows from that of the"
        f" first; ask for an order like {shown}, or leave it to the server"
    )


def _refusal(message: str) -> RequestError:
    return RequestError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
