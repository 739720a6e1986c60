"""Dead letters as records: what names the record that was given up, and what is copied of it.

    __dlq.errors.topic, .partition, .offset, .group    the record, and the share group that gave it up
    __dlq.errors.delivery.count                        how often it was delivered
    __dlq.errors.message                               why, as far as that is known
    kawal-code, kawal-reason                           what a worker has said of it (negative_answers.py)

All values are text in UTF-8.  A letter has the time at which it was made.  A record's own headers come before
these, so that in the letter of a letter the last ones of each name are about the newest failure.
Source: KIP-1191; Kafka 4.4's ShareGroupDLQRecordHelper, which copies no headers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from broker.fetching.negative_answers import NegativeAnswer
from groups.share.record_range import StoredRange
from groups.share.states import Cause
from protocol.record_reader import Headers, Record
from protocol.record_writer import encode_batch

RECORD_BYTES: Final = 40
"""The most that a record takes beside key, value and headers, and a header beside its name and value."""

MESSAGES: Final = {
    Cause.REJECTED.value: "Offset rejected by client.",
    Cause.LIMIT.value: "Offset delivery count exceeded the threshold.",
    Cause.EXPIRED.value: "Record expired before it was delivered.",
}
"""The sentences for the causes: Kafka's, and ours for records that expired."""


class Origin(NamedTuple):
    """The share-partition whose records are given up."""

    group_id: str
    topic: str
    partition: int


class Letters(NamedTuple):
    """One batch of dead letters, and the ranges of offsets that have their letters in it."""

    batch: bytearray
    letter_count: int
    ranges: list[tuple[int, int]]


def letters_of(
    origin: Origin,
    ranges: Sequence[StoredRange],
    originals: Mapping[int, Record],
    *,
    wall_ms: int,
    max_bytes: int,
    copies_headers: bool,
    answers: Mapping[int, NegativeAnswer] | None = None,
) -> Letters:
    """Return a batch with the letters of as many records as fit; a first one that is larger fits alone."""
    records: list[Record] = []
    included: list[tuple[int, int]] = []
    size_bytes = 0
    for part in ranges:
        for offset in range(part.first, part.last + 1):
            letter = _letter(origin, part, offset, originals.get(offset), copies_headers=copies_headers)
            if answers and offset in answers:
                letter = letter._replace(headers=(*letter.headers, *_told_by(answers[offset])))
            size_bytes += _size_of(letter)
            if records and size_bytes > max_bytes:
                return Letters(_batch(records, wall_ms), len(records), included)
            records.append(letter)
            if included and included[-1][1] == offset - 1:
                included[-1] = (included[-1][0], offset)
            else:
                included.append((offset, offset))
    return Letters(_batch(records, wall_ms), len(records), included)


def _letter(
    origin: Origin, part: StoredRange, offset: int, original: Record | None, *, copies_headers: bool
) -> Record:
    told: list[tuple[str, bytes | None]] = [
        ("__dlq.errors.topic", origin.topic.encode()),
        ("__dlq.errors.partition", b"%d" % origin.partition),
        ("__dlq.errors.offset", b"%d" % offset),
        ("__dlq.errors.group", origin.group_id.encode()),
        ("__dlq.errors.delivery.count", b"%d" % part.delivery_count),
    ]
    if part.cause:
        told.append(("__dlq.errors.message", MESSAGES.get(part.cause, part.cause).encode()))
    if original is None:
        return Record(0, 0, None, None, tuple(told))
    own: Headers = original.headers if copies_headers else ()
    return Record(0, 0, original.key, original.value, (*own, *told))


def _told_by(answer: NegativeAnswer) -> Headers:
    """Return the headers of a worker's answer."""
    named = (("kawal-code", answer.code), ("kawal-reason", answer.reason))
    return tuple((name, text) for name, text in named if text)


def _size_of(record: Record) -> int:
    """Return the bytes that a record takes in a batch, or a few more."""
    content = len(record.key or b"") + len(record.value or b"")
    headers = sum(
        len(name.encode("utf-8", "surrogateescape")) + len(value or b"") + RECORD_BYTES
        for name, value in record.headers
    )
    return RECORD_BYTES + content + headers


def _batch(records: Sequence[Record], wall_ms: int) -> bytearray:
    return encode_batch(
        [record._replace(offset=number, timestamp_ms=wall_ms) for number, record in enumerate(records)]
    )
