"""Runs of emptied batches become one, which keeps their offsets and their number."""

from __future__ import annotations

import pytest

from broker.upkeep import compaction_runs
from broker.upkeep.compaction_runs import EntryRuns
from protocol.records import HEADER_BYTES, BatchHeader, read_batch_header
from tests.broker.kit import batch
from wal.entries import entries_in


def stored(base_offset: int, *values: bytes, producer: tuple[int, int, int] = (-1, -1, -1)) -> bytearray:
    data = batch(*values, producer=producer)
    data[0:8] = base_offset.to_bytes(8, "big")
    data[12:16] = (6).to_bytes(4, "big")
    return data


def header(base_offset: int, count: int = 1, **fields: int) -> BatchHeader:
    return read_batch_header(stored(base_offset, *[b"v"] * count))._replace(**fields)


def test_a_run_becomes_one_batch_before_the_next_one_that_stays() -> None:
    runs = EntryRuns([])
    kept = stored(5, b"kept")

    assert runs.take(header(2), None) == []
    assert runs.take(header(3, 2), None) == []
    run, last = runs.take(header(5), kept)

    assert last == kept
    found = read_batch_header(run)
    assert (found.base_offset, found.last_offset, found.record_count, found.leader_epoch) == (2, 4, 0, 6)
    assert [entry.weight for entry in entries_in(run, 100)] == [2]
    assert runs.end() == []


def test_a_run_ends_before_a_mark() -> None:
    runs = EntryRuns([0, 3, 9])

    assert runs.take(header(2), None) == []
    (first,) = runs.take(header(3), None)
    (second,) = runs.end()

    assert [entry.base_offset for data in (first, second) for entry in entries_in(data, 100)] == [2, 3]


def test_a_run_of_an_earlier_pass_joins_with_its_number() -> None:
    runs = EntryRuns([])
    runs.take(header(2), None)
    (earlier,) = runs.end()
    again = read_batch_header(earlier)._replace(base_sequence=-4)

    runs.take(again, earlier)
    runs.take(header(3), None)
    (run,) = runs.end()

    assert [entry.weight for entry in entries_in(run, 100)] == [5]


def test_the_empty_batch_of_an_active_producer_stays_by_itself() -> None:
    runs = EntryRuns([])
    empty = stored(3, b"v", producer=(7, 0, 4))[:HEADER_BYTES]
    runs.take(header(2), None)

    copies = runs.take(read_batch_header(empty), empty)

    assert len(copies) == 2
    assert copies[1] == empty


def test_a_sequence_of_a_client_is_no_number_of_entries() -> None:
    runs = EntryRuns([])
    claimed = header(2, base_sequence=-900)

    runs.take(claimed, stored(2, b"v")[:HEADER_BYTES])
    (run,) = runs.end()

    assert [entry.weight for entry in entries_in(run, 100)] == [1]


def test_a_run_has_no_more_offsets_than_a_batch_can_have(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction_runs, "DELTA_MAX", 3)
    runs = EntryRuns([])

    assert runs.take(header(0, 2), None) == []
    assert runs.take(header(2, 2), None) == []
    (run,) = runs.take(header(4), None)

    assert read_batch_header(run).last_offset == 3
