"""Changes of watched offsets are told in their order, each once, and cost what has changed."""

from __future__ import annotations

from random import Random

import pytest

from groups.offset_changes import CHUNK, REMOVED_MAX, WEIGHT_AT_ONCE, OffsetChanges, WatchedOffsets
from groups.offset_values import NO_EXPIRY, Committed, committed_bytes
from groups.record_keys import OffsetKey
from protocol.wire import ZERO_UUID


def key(index: int, group: str = "g") -> OffsetKey:
    return OffsetKey(group, "t", index)


def value(offset: int) -> bytes:
    return committed_bytes(Committed(offset, -1, "", 1, NO_EXPIRY), ZERO_UUID)


def watched(*groups: str) -> WatchedOffsets:
    table = WatchedOffsets()
    table.changes.groups.update(dict.fromkeys(groups, frozenset[str]()))
    return table


def test_only_groups_that_are_watched_have_changes() -> None:
    table = watched("g")
    table.replay(key(0, "other"), value(1))
    assert table.changes.after(0).changes == []
    assert table.changes.size_bytes == 0
    table.replay(key(0), value(1))
    assert table.changes.after(0).changes == [key(0)]


def test_a_change_is_told_once_and_again_when_it_comes_again() -> None:
    table = watched("g")
    table.replay(key(0), value(1))
    table.replay(key(1), value(1))
    first = table.changes.after(0)
    assert (first.changes, first.has_more) == ([key(0), key(1)], False)
    assert table.changes.after(first.next_after).changes == []
    table.replay(key(0), value(2))
    again = table.changes.after(first.next_after)
    assert again.changes == [key(0)]
    assert table.changes.after(0).changes == [key(1), key(0)]


def test_an_offset_that_is_removed_is_a_change() -> None:
    table = watched("g")
    table.replay(key(0), value(1))
    after = table.changes.after(0).next_after
    table.replay(key(0), None)
    assert table.changes.after(after).changes == [key(0)]
    assert table.position(key(0)) is None


def test_many_changes_are_told_in_parts() -> None:
    changes = OffsetChanges()
    count = 3 * WEIGHT_AT_ONCE
    for index in range(count):
        changes.note(key(index))
    found: list[object] = []
    after, parts = 0, 0
    while True:
        part = changes.after(after)
        assert len(part.changes) <= WEIGHT_AT_ONCE + CHUNK
        found += part.changes
        after, parts = part.next_after, parts + 1
        if not part.has_more:
            break
    assert found == [key(index) for index in range(count)]
    assert parts == 3


def test_a_group_that_reads_many_topics_weighs_as_much() -> None:
    changes = OffsetChanges()
    changes.note("wide", WEIGHT_AT_ONCE)
    changes.note(key(0))
    assert changes.after(0).changes == ["wide"]
    assert changes.after(0).has_more


def test_long_names_are_kept_once_and_make_answers_shorter() -> None:
    changes = OffsetChanges()
    for index in range(20):
        # As from records: equal names, each an object of its own.
        changes.note(OffsetKey("".join(["g"] * 30_000), "".join(["t"] * 200), index))
    keys = [key for chunk in changes._chunks.values() for key in chunk] + [*changes._chunk_of]
    assert len({id(key.group_id) for key in keys if isinstance(key, OffsetKey)}) == 1
    assert len({id(key.topic) for key in keys if isinstance(key, OffsetKey)}) == 1
    assert len(changes.after(0).changes) < 10


def test_memory_follows_the_changes_and_counts_with_the_offsets() -> None:
    table = watched("g")
    table.replay(key(0), value(1))
    bytes_of_one = table.size_bytes
    for _ in range(100):
        table.replay(key(0), value(1))
        table.changes.after(0)
    assert table.size_bytes == bytes_of_one
    table.replay(key(1), value(1))
    assert table.size_bytes > bytes_of_one


def test_a_group_that_is_loaded_again_begins_another_life() -> None:
    table = watched("g")
    table.replay(key(0), value(1))
    life = table.changes.life
    table.drop("g")
    assert table.changes.life != life
    assert table.changes.groups == {}
    assert table.changes.after(0).changes == []


def test_the_loss_of_a_group_that_is_not_watched_changes_nothing() -> None:
    table = watched("g")
    table.replay(key(0, "other"), value(1))
    life = table.changes.life
    table.drop("other")
    assert table.changes.life == life


def test_removals_are_not_kept_without_end() -> None:
    table = watched("g")
    life = table.changes.life
    for index in range(REMOVED_MAX + 1):
        table.replay(key(index), value(1))
        table.replay(key(index), None)
    assert table.changes.life != life
    assert table.changes.size_bytes == 0


@pytest.mark.parametrize("seed", range(20))
def test_whoever_asks_at_any_time_knows_every_offset(seed: int) -> None:
    random = Random(seed)
    table = watched("g")
    askers = [(0, -1, dict[OffsetKey, int | None]()) for _ in range(3)]
    for _ in range(400):
        if random.random() < 0.02:
            table.changes.begin_anew()
            table.changes.groups["g"] = frozenset()
            for known in table.iterate("g"):
                table.changes.note(known[0])
        place = key(random.randrange(6))
        table.replay(place, None if random.random() < 0.2 else value(random.randrange(9)))
        number = random.randrange(3)
        after, life, found = askers[number]
        if life != table.changes.life:
            after, found = 0, {}
        part = table.changes.after(after)
        for change in part.changes:
            assert isinstance(change, OffsetKey)
            found[change] = table.position(change)
        askers[number] = part.next_after, table.changes.life, found
        assert {place: offset for place, offset in found.items() if offset is not None} == {
            place: table.position(place) for place, _ in table.iterate("g")
        }
