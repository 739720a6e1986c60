"""The inspection of a batch whose topic asks for a look at its records: each is decoded once.

    cleanup.policy=compact       records without a key
    kawal.check.records=open     everything that Kafka's validator refuses
    kawal.session.headers        the same, as the batch may be written anew
    kawal.dedup=seqno            the producers' names and numbers in the headers
    kawal.partition.autosplit.mode   the keys, and their hashes, which say where they belong
    kawal.schema.validation      values that do not fit

A large batch is inspected in a thread, before it is checked by its head; a small one on the event loop,
unless its values are checked. Where only keys matter (`inspect_keys`) nothing else is read.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from broker.config.topic_settings import TopicSettings
from broker.storage.numbered_records import NumberedRecords, Numbering
from broker.storage.value_checks import ValueCheck
from groups.partition_tree import hashes_of
from protocol.compression import Codec, DecompressedTooLarge
from protocol.errors import Malformed
from protocol.record_reader import iter_records, open_batch, open_records, record_keys
from protocol.records import HEADER_BYTES, NO_TIMESTAMP, BatchHeader, read_batch_header

RECORD_ERRORS_MAX: Final = 1000
"""The most refused records named in one answer: a million wrong ones should not make an answer of 100 MB."""

INSPECTED_RECORDS_MAX: Final = 200
"""The most records of a batch that are inspected on the event loop: about 0.4 ms."""

INSPECTED_BYTES_MAX: Final = 64 << 10
"""The largest such batch."""

KEYS_RECORDS_MAX: Final = 1_500
"""The most records of a batch without compression of which the keys alone are read there: about 0.5 ms. A
thread for it costs twice as much as reading them."""

KEYS_BYTES_MAX: Final = 512 << 10

KEYS_HASHED_MAX: Final = 32 << 10
"""The bytes of keys that are hashed there: those of different lengths take 0.17 µs for each byte, 5 ms."""

PACKED_BYTES_MAX: Final = 2 << 10
"""The largest compressed batch that is opened there, to see whether it has INSPECTED_BYTES_MAX then: it may
have a thousand times its size."""


NO_TIMES: Final = (2**63, -(2**63))
"""The earliest and the latest timestamp of no records."""


class Keys(NamedTuple):
    """The keys of a batch, where the server chooses partitions by them."""

    of_records: list[bytes | None]
    hashes: dict[bytes, int]
    """The hash of each key that occurs (groups/partition_tree.py)."""


NO_KEYS: Final = Keys([], {})


class Inspection(NamedTuple):
    """The facts about the records of a batch that its topic's settings ask for."""

    settings: TopicSettings
    """The settings that were in effect."""
    flaw: str = ""
    """The reason why the batch cannot be read to its end; the error itself would keep what was opened."""
    keyless: tuple[int, ...] = ()
    """The first records without a key."""
    times: tuple[int, int] | None = None
    """The earliest and the latest timestamp, if records are checked and one has a timestamp."""
    numbered: NumberedRecords | None = None
    keys: Keys | None = None
    misfits: tuple[tuple[int, str], ...] = ()
    """The first records whose values do not fit, and why."""
    missing: frozenset[int] = frozenset()
    """Schemas without which that could not be decided."""
    undecided: str = ""
    """The reason why it cannot be decided now."""


def takes_long(records: bytes | bytearray | memoryview | None) -> bool:
    """Whether to inspect a batch, which is not checked yet, in a thread."""
    if records is None or len(records) < HEADER_BYTES:
        return False
    if len(records) > INSPECTED_BYTES_MAX:
        return True
    header = read_batch_header(records)
    if header.record_count > INSPECTED_RECORDS_MAX:
        return True
    return header.codec != Codec.NONE and (len(records) > PACKED_BYTES_MAX or _opens_wide(header, records))


def _opens_wide(header: BatchHeader, records: bytes | bytearray | memoryview) -> bool:
    try:
        open_records(header, records, INSPECTED_BYTES_MAX)
    except DecompressedTooLarge:
        return True
    except Malformed:
        return False  # it is refused as soon as it is read
    return False


def inspection_takes_long(records: bytes | bytearray | memoryview | None, settings: TopicSettings) -> bool:
    """Whether to inspect a batch, by what its topic's settings ask for, in a thread."""
    if settings.opens_batches or records is None or len(records) < HEADER_BYTES:
        return takes_long(records)
    header = read_batch_header(records)
    if header.codec != Codec.NONE:
        return takes_long(records)
    return len(records) > KEYS_BYTES_MAX or header.record_count > KEYS_RECORDS_MAX


def inspect(
    batch: bytes | bytearray | memoryview, settings: TopicSettings, values: ValueCheck | None = None
) -> Inspection:
    """Look at all records of a batch; takes 1 to 3 µs for each, beside decompression and `values`."""
    checks, compacts = settings.checks_records, settings.compacts
    numbering = Numbering() if settings.dedups else None
    keys: list[bytes | None] | None = [] if settings.routes_records and numbering is None else None
    keyless: list[int] = []
    times = NO_TIMES
    try:
        expected = read_batch_header(batch).base_offset
        for index, record in enumerate(iter_records(batch)):
            if checks:
                offset, timestamp = record[:2]
                if offset != expected + index:
                    raise _out_of_order(index, offset - expected)
                if not times[0] <= timestamp <= times[1] and timestamp != NO_TIMESTAMP:
                    times = min(times[0], timestamp), max(times[1], timestamp)
            if compacts and record.key is None and len(keyless) < RECORD_ERRORS_MAX:
                keyless.append(index)
            if numbering is not None:
                numbering.add(index, record.headers)
            if keys is not None:
                keys.append(record.key)
            if values is not None:
                values.add(index, record)
        if values is not None:
            values.finish()
    except Malformed as error:
        return Inspection(settings, flaw=str(error))
    return Inspection(
        settings,
        keyless=tuple(keyless),
        times=times if times != NO_TIMES else None,
        numbered=numbering.result() if numbering is not None else None,
        keys=None if keys is None else _keys(keys),
        misfits=tuple(values.misfits) if values is not None else (),
        missing=values.missing if values is not None else frozenset(),
    )


def inspect_here(batch: bytes | bytearray | memoryview, settings: TopicSettings) -> Inspection | None:
    """Inspect a batch that does not take long, on the event loop; None: its keys do."""
    return inspect(batch, settings) if settings.opens_batches else _inspect_short_keys(batch, settings)


def inspect_keys(batch: bytes | bytearray | memoryview, settings: TopicSettings) -> Inspection:
    """Look at the keys of a batch only; 0.4 µs for each record, 0.3 for each key not seen lately."""
    found = _inspect_short_keys(batch, settings, len(batch))
    assert found is not None, "a batch has all of its keys"
    return found


def _inspect_short_keys(
    batch: bytes | bytearray | memoryview, settings: TopicSettings, bytes_max: int = KEYS_HASHED_MAX
) -> Inspection | None:
    try:
        header, body = open_batch(batch)
        keys = record_keys(header, body)
    except Malformed as error:
        return Inspection(settings, flaw=str(error))
    if len(batch) > bytes_max and sum(map(len, filter(None, keys))) > bytes_max:
        return None
    return Inspection(settings, keys=_keys(keys))


def _keys(of_records: list[bytes | None]) -> Keys:
    distinct = set(of_records)
    distinct.discard(None)
    return Keys(of_records, hashes_of(distinct))  # type: ignore[arg-type]


def _out_of_order(index: int, delta: int) -> Malformed:
    return Malformed(HEADER_BYTES, f"record {index}", f"has offset delta {delta}")
