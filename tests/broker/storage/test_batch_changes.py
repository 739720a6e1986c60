"""Changes to a batch, made here or in a thread."""

from __future__ import annotations

import pytest

from broker.catalogue.topic_configs import effective
from broker.config.config import Config
from broker.errors import RequestError
from broker.storage.batch_changes import BatchChanges, Changed, Rewriting
from protocol.error_codes import ErrorCode
from protocol.record_reader import iter_records
from protocol.records import read_batch_header
from tests.broker.splits import HIGH, LOW, keyed

BATCH = keyed((HIGH, b"0"), (LOW, b"1"), (HIGH, b"2"), (LOW, b"3"), producer=(7, 1, 20))
MOVED = BatchChanges(frozenset({3}), (), ((2, (0,)), (5, (2,))))
SETTINGS = effective({}, Config())


def test_what_is_moved_and_what_is_dropped_is_not_left_behind() -> None:
    found = Rewriting(MOVED, memoryview(BATCH)).made().result(SETTINGS)
    assert isinstance(found, Changed)
    assert [(record.offset, record.value) for record in iter_records(found.rest)] == [(1, b"1")]
    parts = {target: [record.value for record in iter_records(batch)] for target, batch in found.parts}
    assert parts == {2: [b"0"], 5: [b"2"]}


def test_without_records_for_others_the_batch_alone_is_left() -> None:
    found = Rewriting(BatchChanges(frozenset({0}), (), ()), memoryview(BATCH)).made().result(SETTINGS)
    assert isinstance(found, memoryview)
    assert len(list(iter_records(found))) == 3


def test_of_a_producers_batch_of_nothing_but_repetitions_its_sequences_are_left() -> None:
    changes = BatchChanges(frozenset(range(4)), (), ())
    header = read_batch_header(Rewriting(changes, memoryview(BATCH)).made().result(SETTINGS))  # type: ignore[arg-type]
    assert header.is_left_behind
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (7, 1, 20)
    assert header.last_offset_delta == 3


def test_what_was_made_fits_only_the_same_changes() -> None:
    made = Rewriting(MOVED, memoryview(BATCH)).made()
    assert made.fits(MOVED)
    assert not made.fits(MOVED._replace(moved=((2, (0, 2)),)))
    assert not Rewriting(MOVED, memoryview(BATCH)).fits(MOVED)


def test_headers_that_make_a_moved_part_too_large_are_refused() -> None:
    changes = BatchChanges(frozenset(), (("h", b"x" * 1_000),), ((2, (0,)),))
    small = effective({"max.message.bytes": "500"}, Config())
    with pytest.raises(RequestError) as refused:
        Rewriting(changes, memoryview(BATCH)).made().result(small)
    assert refused.value.code == ErrorCode.MESSAGE_TOO_LARGE
