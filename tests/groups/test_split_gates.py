"""Gates of consumer groups; those of a whole broker are in tests/broker/coordinators/test_node_splits.py."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from groups.offset_values import NO_EXPIRY, Committed, committed_bytes
from groups.partition_tree import PartitionTree, Split
from groups.record_keys import OffsetKey
from groups.split_facts import NO_SPLITS
from groups.split_gates import begins_at, has_ancestor_in, withheld, withheld_by_topic
from protocol.wire import ZERO_UUID
from tests.groups.driver import Driver


class Facts:
    """A topic `t`, by itself of one root, in which a group has read what it has committed."""

    def __init__(self, *splits: Split, roots: int = 1) -> None:
        self.topics = {"t": SimpleNamespace(tree=PartitionTree(roots, splits))}
        self.forced: set[int] = set()

    def is_read(self, _topic: str, split: Split, position: int | None) -> bool:
        return position is not None and position >= split.cut

    def is_forced(self, _topic: str, split: Split) -> bool:
        return split.child in self.forced

    def log_start(self, _topic: str, partition: int) -> int:
        return 10 * partition

    def share_position(self, _group_id: str, _topic: str, _partition: int) -> int | None:
        return None

    def shares_from_end(self, _group_id: str) -> bool:
        return False


CHAIN = (Split(0, 1, 5, 1 << 20, 0), Split(1, 2, 7, 1 << 25, 0), Split(0, 3, 9, 1 << 10, 0))


@pytest.fixture
def context(driver: Driver) -> Any:
    found: Any = driver.coordinator._context
    found.splits = Facts(*CHAIN)
    return found


def at(context: Any, **offsets: int) -> None:
    """Set what group g has committed, by `p` and the partition."""
    for name, offset in offsets.items():
        value = committed_bytes(Committed(offset, -1, "", 0, NO_EXPIRY), ZERO_UUID)
        context.put_offset(OffsetKey("g", "t", int(name[1:])), value)


@pytest.mark.parametrize(
    ("offsets", "closed"),
    [
        ({"p0": 4}, {1, 2, 3}),
        ({"p0": 5}, {2, 3}),
        ({"p0": 9}, {2}),
        ({"p0": 9, "p1": 7}, set()),
        ({"p0": 4, "p1": 7}, {1, 2, 3}),
        ({"p1": 7}, {1, 2, 3}),
    ],
)
def test_a_child_is_given_out_when_the_parent_is_read_and_is_given_out_itself(
    context: Any, offsets: dict[str, int], closed: set[int]
) -> None:
    at(context, **offsets)
    assert withheld(context, "g", "t") == closed


def test_a_group_with_progress_in_an_ancestor_begins_a_child_at_its_start(context: Any) -> None:
    at(context, p0=5)
    assert [begins_at(context, "g", "t", index) for index in (0, 1, 2)] == [
        None,
        Committed(10, -1, "", 0, NO_EXPIRY),
        Committed(20, -1, "", 0, NO_EXPIRY),
    ]


def test_a_group_that_asks_for_a_partition_that_is_not_there_begins_nowhere(context: Any) -> None:
    at(context, p0=5)
    assert [begins_at(context, "g", "t", index) for index in (4, 2**31 - 1, -1)] == [None] * 3


def test_a_commit_in_a_topic_with_splits_has_the_group_look_at_its_gates(context: Any) -> None:
    context.gated.clear()
    at(context, p0=5)
    assert context.gated == {"g"}
    context.gated.clear()
    context.put_offset(OffsetKey("g", "u", 0), committed_bytes(Committed(1, -1, "", 0, NO_EXPIRY), ZERO_UUID))
    assert context.gated == set()


def test_without_progress_all_children_are_withheld(context: Any) -> None:
    assert withheld(context, "g", "t") == {1, 2, 3}
    assert withheld_by_topic(context, "g", ["t", "u"]) == {"t": {1, 2, 3}}


def test_a_topic_without_splits_withholds_nothing(context: Any) -> None:
    assert withheld(context, "g", "other") == frozenset()
    context.splits = NO_SPLITS
    assert withheld_by_topic(context, "g", ["t"]) == {}


def test_a_forced_child_is_given_out(context: Any) -> None:
    context.splits.forced = {1, 2}
    assert withheld(context, "g", "t") == {3}


def test_a_stranger_begins_where_its_reset_policy_says(context: Any) -> None:
    assert begins_at(context, "g", "t", 1) is None
    assert begins_at(context, "g", "t", 0) is None
    assert begins_at(context, "g", "u", 1) is None


RENEWED = (Split(0, 2, 5, 0, 0), Split(1, 3, 9, 0, 0), Split(3, 4, 7, 1 << 20, 0))
"""Two roots with successors, of which one was split."""


@pytest.mark.parametrize(
    ("offsets", "closed"),
    [
        ({"p0": 5, "p1": 8}, {2, 3, 4}),
        ({"p0": 4, "p1": 9}, {2, 3, 4}),
        ({"p0": 5, "p1": 9}, {4}),
        ({"p0": 5, "p1": 9, "p3": 7}, set()),
    ],
)
def test_successors_are_given_out_when_all_partitions_before_them_are_read(
    context: Any, offsets: dict[str, int], closed: set[int]
) -> None:
    context.splits = Facts(*RENEWED, roots=2)
    at(context, **offsets)
    assert withheld(context, "g", "t") == closed


def test_a_successor_came_from_every_partition_before_it() -> None:
    tree = PartitionTree(2, RENEWED)
    assert [has_ancestor_in(tree, index, {1}) for index in range(5)] == [False, False, True, True, True]
    assert [has_ancestor_in(tree, index, {3}) for index in range(5)] == [False, False, False, False, True]
    assert not has_ancestor_in(tree, 4, set())
