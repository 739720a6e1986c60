"""Gates of share groups; those of a whole broker are in tests/broker/coordinators/test_node_splits.py."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from uuid import UUID

from groups.partition_tree import PartitionTree, Split
from groups.share.gates import holds_back, share_withheld
from groups.share.group_records import InitializedTopic
from groups.share.share_group import ShareGroup
from groups.split_facts import NO_SPLITS
from tests.groups.test_split_gates import CHAIN, Facts

TOPIC_ID = UUID(int=7)


class ShareFacts(Facts):
    """Positions of the group by partition."""

    def __init__(self, *splits: Split, from_end: bool = False, **positions: int) -> None:
        super().__init__(*splits)
        self.from_end, self.positions = from_end, positions

    def share_position(self, _group_id: str, _topic: str, partition: int) -> int | None:
        return self.positions.get(f"p{partition}")

    def shares_from_end(self, _group_id: str) -> bool:
        return self.from_end


def context_of(facts: Any) -> Any:
    topic = SimpleNamespace(name="t", topic_id=TOPIC_ID, partition_count=4)
    return SimpleNamespace(splits=facts, topics=SimpleNamespace(by_name={"t": topic}))


def group_with(*partitions: int) -> ShareGroup:
    group = ShareGroup("g")
    group.names["t"] = 1
    if partitions:
        group.initialized = {TOPIC_ID: InitializedTopic("t", frozenset(partitions))}
    return group


def closed(facts: Any, *partitions: int) -> frozenset[int]:
    return share_withheld(context_of(facts), group_with(*partitions), "t", TOPIC_ID)


def test_children_come_when_the_group_is_done_with_their_parents() -> None:
    assert closed(ShareFacts(*CHAIN, p0=4), 0) == {1, 2, 3}
    assert closed(ShareFacts(*CHAIN, p0=5), 0) == {2, 3}
    assert closed(ShareFacts(*CHAIN, p0=9, p1=7), 0, 1) == frozenset()


def test_a_child_in_which_the_group_has_a_state_is_not_taken_away() -> None:
    assert closed(ShareFacts(*CHAIN, p0=0, p1=0), 0, 1) == {2, 3}


def test_a_new_group_of_new_records_gets_everything() -> None:
    assert closed(ShareFacts(*CHAIN, from_end=True)) == frozenset()
    assert closed(ShareFacts(*CHAIN, from_end=False)) == {1, 2, 3}


def test_a_group_holds_back_as_long_as_it_has_no_state_in_some_partition() -> None:
    assert holds_back(context_of(ShareFacts(*CHAIN)), group_with(0, 1, 2))
    assert not holds_back(context_of(ShareFacts(*CHAIN)), group_with(0, 1, 2, 3))
    assert not holds_back(context_of(NO_SPLITS), group_with(0))


def test_successors_ask_once_whether_all_before_them_was_read() -> None:
    asked: list[int] = []

    class Counting(ShareFacts):
        def share_position(self, group_id: str, topic: str, partition: int) -> int | None:
            asked.append(partition)
            return super().share_position(group_id, topic, partition)

    def withheld_with(positions: dict[str, int]) -> frozenset[int]:
        facts = Counting()
        facts.positions = positions
        facts.topics["t"].tree = PartitionTree(30, [Split(root, 30 + root, 10, 0, 0) for root in range(30)])
        return closed(facts)

    assert withheld_with({f"p{root}": 10 for root in range(30)}) == frozenset()
    assert asked == list(range(30))
    assert withheld_with({}) == frozenset(range(30, 60))
