"""The tree of a topic whose partitions split: a key has one partition, and keeps it until that is split."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groups.partition_tree import HASH_MASK, KEPT_KEYS, PartitionTree, Range, Split, hash_of, hashes_of
from protocol.partitioner import partition_of


def split(tree: PartitionTree, parent: int, bound: int | None = None) -> Split:
    """Split a partition, in the middle unless told where."""
    own = tree.range_of(parent)
    child = tree.root_count + len(tree.splits)
    made = Split(parent, child, 100 * child, (own.low + own.high) // 2 if bound is None else bound, 0)
    tree.apply(made)
    return made


@pytest.mark.parametrize("count", [1, 3, 16])
def test_before_the_first_split_keys_lie_where_kafkas_clients_put_them(count: int) -> None:
    tree = PartitionTree(count)
    keys = [b"%d" % number for number in range(200)] + [b"", b"x" * 100]
    assert [tree.of(hash_of(key)) for key in keys] == [partition_of(key, count) for key in keys]


def test_a_split_moves_the_upper_part_of_one_partition_and_nothing_else() -> None:
    tree = PartitionTree(2)
    hashes = [hash_of(b"%d" % number) for number in range(500)]
    before = [tree.of(hashed) for hashed in hashes]
    made = split(tree, 1)
    for hashed, old in zip(hashes, before, strict=True):
        moves = old == 1 and tree.place(hashed) >= made.bound
        assert tree.of(hashed) == (2 if moves else old)


@settings(max_examples=60)
@given(
    count=st.integers(1, 5),
    choices=st.lists(st.integers(0, 1 << 30), max_size=12),
    hashes=st.lists(st.integers(0, HASH_MASK), min_size=1, max_size=40),
)
def test_the_ranges_of_all_partitions_are_all_places_once(
    count: int, choices: list[int], hashes: list[int]
) -> None:
    tree = PartitionTree(count)
    for choice in choices:
        parent = choice % (count + len(tree.splits))
        own = tree.range_of(parent)
        if own.can_split:
            split(tree, parent, own.low + 1 + choice % (own.high - own.low - 1))
    ranges = {index: tree.range_of(index) for index in range(count + len(tree.splits))}
    for hashed in hashes:
        owners = [
            index
            for index, own in ranges.items()
            if own.root == hashed % count and own.low <= tree.place(hashed) < own.high
        ]
        assert owners == [tree.of(hashed)]
        assert tree.root_of(owners[0]) == hashed % count
    again = PartitionTree(count, tree.splits)
    assert [again.of(hashed) for hashed in hashes] == [tree.of(hashed) for hashed in hashes]


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_when_all_were_split_in_their_order_keys_lie_where_kafkas_clients_put_them(count: int) -> None:
    tree = PartitionTree(count)
    keys = {b"%d" % number for number in range(500)}
    hashes = hashes_of(keys)
    for level in (1, 2, 3):
        for parent in range(count << level - 1):
            assert tree.next_of_level == parent
            split(tree, parent)
        assert tree.in_levels
        homes = dict(zip(hashes, tree.of_many(hashes.values()), strict=True))
        assert homes == {key: partition_of(key, count << level) for key in keys}


def test_a_split_out_of_turn_or_beside_the_middle_is_no_level() -> None:
    out_of_turn, aside = PartitionTree(2), PartitionTree(2)
    split(out_of_turn, 1)
    split(aside, 0, 5)
    assert not out_of_turn.in_levels
    assert not aside.in_levels
    hashes = [hash_of(b"%d" % number) for number in range(300)]
    assert aside.of_many(hashes) == [aside.leaf(hashed % 2, hashed) for hashed in hashes]


def test_hashes_that_were_kept_and_new_ones_are_the_same() -> None:
    keys = {b"kept-%d" % number for number in range(100)} | {b"", b"x" * 5_000}
    assert hashes_of(keys) == {key: hash_of(key) for key in keys}
    many = keys | {b"new-%d" % number for number in range(KEPT_KEYS + 1)}
    found = hashes_of(many)
    assert found == hashes_of(many)
    assert all(found[key] == hash_of(key) for key in keys)


def test_a_partition_knows_the_split_that_made_it_and_those_of_its_own() -> None:
    tree = PartitionTree(1)
    first, second, third = split(tree, 0), split(tree, 1), split(tree, 0)
    assert [tree.made_by(index) for index in range(4)] == [None, first, second, third]
    assert list(tree.children_of(0)) == [first, third]


def test_a_bound_outside_of_the_partition_is_a_fault() -> None:
    tree = PartitionTree(1)
    made = split(tree, 0)
    with pytest.raises(AssertionError, match="outside"):
        tree.apply(Split(0, 2, 0, made.bound + 1, 0))


def test_a_successor_takes_all_keys_of_its_partition_and_can_be_split() -> None:
    tree = PartitionTree(3, [Split(index, 3 + index, 10, 0, 0) for index in range(3)])
    assert [tree.of(hashed) for hashed in range(6)] == [3, 4, 5, 3, 4, 5]
    assert tree.of_many(range(6)) == [3, 4, 5, 3, 4, 5]
    assert [tree.range_of(index).is_empty for index in range(6)] == [True] * 3 + [False] * 3
    assert not tree.in_levels
    whole = tree.range_of(4)
    assert whole == Range(1, 0, tree.places_end)
    tree.apply(Split(4, 6, 1, whole.middle, 0))
    assert [tree.of(hashed) for hashed in (1, 4)] == [4, 6]
    assert [tree.leaf(1, hashed) for hashed in (1, 4)] == [4, 6]


def test_a_successor_is_only_made_of_a_root() -> None:
    tree = PartitionTree(1, [Split(0, 1, 10, 0, 0)])
    with pytest.raises(AssertionError):
        tree.apply(Split(1, 2, 10, 0, 0))


def test_splits_that_are_replayed_make_no_table_each(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    real = PartitionTree._made_table

    def counted(tree: PartitionTree) -> list[int]:
        made.append(len(tree.splits))
        return real(tree)

    monkeypatch.setattr(PartitionTree, "_made_table", counted)
    tree = PartitionTree(4)
    for _ in range(60):
        split(tree, tree.next_of_level)
    assert made == []
    assert [tree.of(hashed) for hashed in range(64)] == list(range(64))
    assert made == [60]


class Unwalked(list[int]):
    """A list in which nothing is looked for one by one."""

    def index(self, *_: object) -> int:
        raise AssertionError("a walk over all partitions of a root")


def test_many_partitions_are_taken_in_without_a_walk_over_those_before() -> None:
    tree = PartitionTree(2)
    tree._leaves = [Unwalked(leaves) for leaves in tree._leaves]
    before = tree.successions
    for root in range(2):
        tree.apply(Split(root, 2 + root, 10, 0, 0))
    assert tree.successions is before, "those before are not copied"
    assert [tree.range_of(root).is_empty for root in range(4)] == [True, True, False, False]
    for _ in range(12):
        split(tree, 2)
        split(tree, tree.root_count + len(tree.splits) - 1)
    ranges = [tree.range_of(index) for index in range(tree.root_count + len(tree.splits))]
    assert sum(own.high - own.low for own in ranges) == 2 * tree.places_end
    assert sum(len(list(tree.children_of(index))) for index in range(len(ranges))) == len(tree.splits)
