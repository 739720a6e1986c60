"""Ledgers come back from a checkpoint's tables as they were captured."""

from __future__ import annotations

from array import array

import pytest

from wal.ledger_snapshot import CountedStream, streams_of, tables_of
from wal.ledgers import Ledger, Ledgers


def ledgers() -> Ledgers:
    found = Ledgers()
    for number in range(5):
        mark = found.take(70, epoch=0, offset=number, wall_ms=9)
        found.written(1, 70)
        if mark is not None:
            found.put(mark)
    found.put(found.begin(3, offset=5, wall_ms=11))
    return found


def test_what_is_captured_does_not_change() -> None:
    found = ledgers()
    captured = CountedStream.of(7, found)
    found.written(1, 70)
    found.put(found.begin(8, offset=6, wall_ms=12))
    found.trim(5)

    assert captured == CountedStream(
        7, 5, 350, False, (Ledger(0, 0, 0, 0, 9), Ledger(3, 5, 5, 350, 11)), array("q", [0, 5]),
        array("q", [0, 5]),
    )  # fmt: skip
    assert captured.epochs() == ((3, 5),)


def test_restored_ledgers_count_on() -> None:
    (captured,) = streams_of(*tables_of([CountedStream.of(7, ledgers())]))

    restored = captured.restored()

    assert (restored.epoch, restored.durable_ordinal, restored.durable_bytes) == (3, 5, 350)
    assert CountedStream.of(7, restored) == captured
    assert restored.take(70, epoch=3, offset=5, wall_ms=12) is None


def test_a_loss_that_was_noticed_is_not_forgotten() -> None:
    found = ledgers()
    found.lose_count()

    (captured,) = streams_of(*tables_of([CountedStream.of(7, found)]))
    mark = captured.restored().take(70, epoch=3, offset=5, wall_ms=12)

    assert mark is not None
    assert mark.ledger_id == 4


def test_tables_that_do_not_fit_together_are_refused() -> None:
    counted, rows, marks = tables_of([CountedStream.of(7, ledgers())])

    assert streams_of(*tables_of([])) == []
    with pytest.raises(ValueError, match="not as many"):
        streams_of(counted, rows, [marks[0][:1], marks[1][:1]])
    with pytest.raises(ValueError, match="not as many"):
        streams_of(counted, [column[:1] for column in rows], marks)
