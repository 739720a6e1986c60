"""Snapshots of the keys of a partition, against a model."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.view_topics.key_snapshot import KeyBudget, KeySnapshot
from broker.view_topics.view_slices import SliceBudget
from protocol.record_reader import Record, iter_records
from protocol.record_writer import encode_batch

META = (("kawal.kind", b"meta"),)


def batches_of(records: list[Record], per_batch: int) -> list[memoryview]:
    parts = (records[start : start + per_batch] for start in range(0, len(records), per_batch))
    return [memoryview(encode_batch(part)) for part in parts]


def shown(records: list[Record], snapshot: KeySnapshot) -> list[int]:
    return [record.offset for record in records if snapshot.shows(record)]


def noted(snapshot: KeySnapshot, batches: list[memoryview], end: int) -> KeySnapshot:
    assert not list(snapshot.note(batches, end, SliceBudget()))
    return snapshot


@given(
    st.lists(
        st.one_of(st.none(), st.sampled_from([b"a", b"b", bytes(32), bytes(33)])), min_size=1, max_size=30
    ),
    st.integers(1, 5),
    st.integers(0, 20),
)
def test_a_snapshot_shows_the_last_record_of_each_key_below_its_end_and_all_after_it(
    keys: list[bytes | None], per_batch: int, end: int
) -> None:
    records = [Record(offset, 0, key, b"") for offset, key in enumerate(keys)]
    end = min(end, len(keys))
    snapshot = noted(
        KeySnapshot(0, end, KeyBudget(), over_many=False), batches_of(records, per_batch), len(keys)
    )
    last = {key: offset for offset, key in enumerate(keys[:end])}
    assert shown(records, snapshot) == [
        offset for offset, key in enumerate(keys) if offset >= end or key is None or last[key] == offset
    ]
    assert snapshot.is_complete


def test_changes_are_shown_and_the_same_key_of_two_topics_is_two() -> None:
    def record(offset: int, topic: bytes) -> Record:
        return Record(offset, 0, b"k", b"", (("kawal.topic", b"fake"), ("kawal.topic", topic)))

    records = [record(0, b"p"), record(1, b"q"), record(2, b"p"), Record(3, 0, b"p", b"", META)]
    records.append(Record(4, 0, b"p", b"", META))
    snapshot = noted(KeySnapshot(0, 5, KeyBudget(), over_many=True), batches_of(records, 2), 5)
    assert shown(records, snapshot) == [1, 2, 3, 4]


def test_memory_is_counted_given_back_and_bounds_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("broker.view_topics.key_snapshot.KEYS_MAX", 10)
    budget = KeyBudget()
    records = [Record(offset, 0, b"%d" % (offset % 20), b"") for offset in range(40)]
    first = noted(KeySnapshot(0, 40, budget, over_many=False), batches_of(records, 5), 40)
    assert (first.end, len(first), budget.keys, first.is_complete) == (10, 10, 10, True)
    assert shown(records, first) == list(range(40)), "no key came twice below its end"
    second = noted(KeySnapshot(0, 40, budget, over_many=False), batches_of(records, 5), 40)
    assert (second.end, len(second)) == (0, 0)
    first.close()
    assert budget.keys == 0


def test_a_batch_that_cannot_be_read_ends_nothing() -> None:
    random = Random(7)
    good = batches_of([Record(0, 0, b"a", b""), Record(1, 0, b"a", b"")], 1)
    broken = bytearray(good[0])
    broken[61:] = random.randbytes(len(broken) - 61)
    later = [Record(2, 0, b"a", b"")]
    batches = [good[0], good[1], memoryview(broken), *batches_of(later, 1)]
    snapshot = noted(KeySnapshot(0, 3, KeyBudget(), over_many=False), batches, 3)
    assert [snapshot.shows(record) for record in iter_records(batches[1])] == [False]
    assert snapshot.shows(later[0])


def test_long_batches_are_noted_in_steps() -> None:
    records = [Record(offset, 0, b"%d" % offset, b"") for offset in range(5_000)]
    snapshot = KeySnapshot(0, 5_000, KeyBudget(), over_many=False)
    assert len(list(snapshot.note(batches_of(records, 5_000), 5_000, SliceBudget()))) >= 10
    assert len(snapshot) == 5_000
