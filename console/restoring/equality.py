"""The check of a restored database: every partition of it has the records of the one that it was made from.

Offsets may differ, as a copy has no gaps. Key, value, headers but `kawal.origin`, and timestamp must not; the
timestamps of a topic that dates records itself do.
Records are read once, in order; of a compacted topic the last value of each key counts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import blake2b

from console.errors import CommandError
from console.sql.records import read_all
from console.sql.session import Session
from protocol.record_reader import Headers, Record

ORIGIN = "kawal.origin"
TAG_PREFIX = "kawal.tag."
"""Tags after the origin were not carried by the record itself (table_copies.py)."""


def is_restored(record: Record) -> bool:
    """Whether the record was written by restoring it from elsewhere."""
    return any(name == ORIGIN for name, _ in record.headers)


def content_of(record: Record, *, dated: bool) -> bytes:
    """Return all that must be the same in a copy of the record."""
    headers = [(name, None if value is None else value.hex()) for name, value in _own_headers(record)]
    key, value = (None if part is None else part.hex() for part in (record.key, record.value))
    return json.dumps([key, value, headers, record.timestamp_ms if dated else None]).encode()


def _own_headers(record: Record) -> Headers:
    """Return the headers without the origin, and without the tags that a restore has put after it."""
    names = [name for name, _ in record.headers]
    if ORIGIN not in names:
        return record.headers
    at = names.index(ORIGIN)
    rest = (header for header in record.headers[at:] if header[0] != ORIGIN)
    return *record.headers[:at], *(header for header in rest if not header[0].startswith(TAG_PREFIX))


def sequence_of(records: Iterator[Record], *, dated: bool) -> tuple[int, str]:
    """Return the number of records, and a digest of them in their order."""
    digest, count = blake2b(), 0
    for record in records:
        content = content_of(record, dated=dated)
        digest.update(b"%d:%b" % (len(content), content))
        count += 1
    return count, digest.hexdigest()


def state_of(records: Iterator[Record], *, dated: bool) -> tuple[int, str]:
    """Return the number of keys with a value, and a digest of those."""
    last: dict[bytes, bytes] = {}
    for record in records:
        if record.value is None:
            last.pop(record.key or b"", None)
        else:
            last[record.key or b""] = blake2b(content_of(record, dated=dated), digest_size=16).digest()
    digest = blake2b(b"".join(value for _, value in sorted(last.items())))
    return len(last), digest.hexdigest()


def check_equal(
    source: Session,
    target: Session,
    place: tuple[str, str, int],
    *,
    end: int,
    compacted: bool,
    dated: bool,
    skips_restored: bool = False,
) -> int:
    """Check one partition, (name, name in the copy, index), of the source up to an offset; return the count.

    `skips_restored`: records of the source that were restored themselves are not in the copy.
    Raises: CommandError.
    """
    name, copy, index = place
    sum_up = state_of if compacted else sequence_of
    expected = (
        record
        for record in read_all(source, name, index)
        if record.offset < end and not (skips_restored and is_restored(record))
    )
    here = sum_up(expected, dated=dated)
    there = sum_up(read_all(target, copy, index), dated=dated)
    if here != there:
        what = "keys" if compacted else "records"
        raise CommandError(
            f"{name}-{index} has {here[0]} {what}, its copy {copy}-{index} has {there[0]}, and they are not"
            " the same: records were deleted or expired meanwhile, or others were written to the copy"
        )
    return here[0]
