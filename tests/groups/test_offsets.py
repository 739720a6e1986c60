"""Tests of groups/offsets.py."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from groups.offset_values import NO_EXPIRY, Committed, committed_bytes, read_committed
from groups.offsets import OffsetTable
from groups.record_keys import OffsetKey
from protocol.wire import ZERO_UUID
from tests.groups.test_offset_values import values

keys = st.builds(OffsetKey, st.sampled_from(["g", "h"]), st.sampled_from(["t", "u"]), st.integers(0, 2))


def value(offset: int, expire_ms: int = NO_EXPIRY) -> bytes:
    return committed_bytes(Committed(offset, -1, "", 1, expire_ms), ZERO_UUID)


@settings(max_examples=200)
@given(st.lists(st.tuples(keys, st.none() | values), max_size=30))
def test_the_table_is_what_a_dictionary_would_be(records: list[tuple[OffsetKey, Committed | None]]) -> None:
    table = OffsetTable()
    model: dict[OffsetKey, Committed] = {}
    for key, committed in records:
        table.replay(key, None if committed is None else committed_bytes(committed, ZERO_UUID))
        if committed is None:
            model.pop(key, None)
        else:
            model[key] = committed
    assert len(table) == len(model)
    assert table.expiring == sum(committed.expire_ms != NO_EXPIRY for committed in model.values())
    assert set(table.groups()) == {key.group_id for key in model}
    found = {
        key: read_committed(data) for group_id in table.groups() for key, data in table.iterate(group_id)
    }
    assert found == model
    for key, _ in records:
        assert table.get(*key) == model.get(key)


def test_a_group_is_forgotten_with_its_last_offset() -> None:
    table = OffsetTable()
    table.replay(OffsetKey("g", "t", 0), value(1))
    assert table.holds("g")
    table.replay(OffsetKey("g", "t", 0), None)
    assert not table.holds("g")
    assert table.topics("g") == {}


def test_pending_offsets_are_seen_by_deletions_only() -> None:
    table = OffsetTable()
    key = OffsetKey("g", "t", 0)
    table.announce(key, value(1))
    assert table.get(*key) is None
    assert table.keys("g") == table.keys("g", "t") == {key}
    assert table.keys("g", "u") == set()
    assert table.groups_of("t") == {"g"}
    table.settle(key)
    assert table.keys("g") == set()


def test_the_newest_value_is_the_one_written_last() -> None:
    table = OffsetTable()
    key = OffsetKey("g", "t", 0)
    table.replay(key, value(1))
    table.announce(key, value(2))
    table.announce(key, None)
    assert table.newest(key) is None
    table.settle(key)
    assert table.newest(key) is None
    table.settle(key)
    assert table.newest(key) == value(1)


def test_rows_never_decrease_until_the_progress_is_deleted() -> None:
    table = OffsetTable()
    key = OffsetKey("g", "t", 0)
    table.replay(key, value(1))
    for number, count in enumerate((0, 15, 0, 2)):
        table.count_rows(key, count, 1_000 + number)
    assert table.rows("g", "t", 0) == (15 + 2, 1_000)
    assert table.rows("g", "t", 1) == table.rows("h", "t", 0) == (0, 0)
    table.drop("g")
    assert table.rows("g", "t", 0).records == 17, "its partition is loaded again: what was counted stays"
    table.replay(key, value(1))
    table.replay(key, None)
    assert table.rows("g", "t", 0) == (0, 0)


def test_commits_to_and_fro_between_extremes_count_as_many_rows_as_an_answer_can_tell() -> None:
    table = OffsetTable()
    key = OffsetKey("g", "t", 0)
    for _ in range(3):
        table.count_rows(key, 2**64 - 1, 1_000)
    assert table.rows("g", "t", 0).records == 2**63 - 1


def test_a_dropped_group_leaves_nothing_behind() -> None:
    table = OffsetTable()
    for index in range(3):
        table.replay(OffsetKey("g", "t", index), value(index, expire_ms=5))
    table.replay(OffsetKey("h", "t", 0), value(1))
    table.drop("g")
    assert (len(table), table.expiring, table.groups()) == (1, 0, ["h"])


def test_what_is_on_its_way_counts_as_something_to_come() -> None:
    table = OffsetTable()
    table.replay(OffsetKey("g", "t", 0), value(1))
    table.announce(OffsetKey("g", "s", 0), value(2))
    table.announce(OffsetKey("h", "t", 1), value(3))
    assert table.newest_topics("g") == ["s", "t"]
    assert table.newest_groups() == ["g", "h"]
    assert table.groups_of("t") == {"g", "h"}
    table.settle(OffsetKey("g", "s", 0))
    table.settle(OffsetKey("h", "t", 1))
    assert (table.newest_topics("g"), table.newest_groups(), table.keys("h")) == (["t"], ["g"], set())


STEP = st.tuples(
    st.sampled_from(["replay", "delete", "announce", "settle", "drop"]),
    st.sampled_from("gh"),
    st.sampled_from("tuv"),
    st.integers(0, 1),
)


@given(st.lists(STEP, max_size=40))
def test_the_groups_of_a_topic_are_those_with_an_offset_in_it(steps: list[tuple[str, str, str, int]]) -> None:
    table, pending = OffsetTable(), list[OffsetKey]()
    for kind, group_id, topic, partition in steps:
        key = OffsetKey(group_id, topic, partition)
        if kind == "announce":
            table.announce(key, value(1))
            pending.append(key)
        elif kind == "settle" and key in pending:
            table.settle(key)
            pending.remove(key)
        elif kind == "drop":
            table.drop(group_id)
        elif kind in ("replay", "delete"):
            table.replay(key, value(1) if kind == "replay" else None)
        for name in "tuv":
            durable = {group for group in "gh" if name in table.topics(group)}
            assert table.groups_of(name) == durable | {key.group_id for key in pending if key.topic == name}
