"""The part of a batch that compaction keeps: the last record of each key, in the batch's own form.

    all records stay      the batch as it is, byte for byte
    some do               the same header, codec, producer and offsets; fewer records
    none do               nothing, or a header without records where something depends on it: the last batch
                          of an active producer, whose sequence and epoch it has, and the last batch of the
                          pass, so that readers reach its end
    tombstones, markers   the first pass that meets them writes into the batch when they may go, as Kafka
                          does: attribute 0x40, and that time in place of the base timestamp (KIP-534)

Source: Kafka 4.3, Cleaner.cleanInto and shouldRetainRecord, MemoryRecords.filterTo.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from broker.upkeep.compaction_keys import KeyOffsets
from broker.upkeep.compaction_tags import TagReader
from broker.upkeep.compaction_transactions import CleanedTransactions
from protocol.compression import Codec, compress
from protocol.errors import Malformed
from protocol.record_reader import open_batch, read_varint, record_heads
from protocol.record_writer import VARINTS
from protocol.records import (
    APPEND_TIME,
    CONTROL,
    DELETE_HORIZON,
    HEADER,
    HEADER_BYTES,
    NO_TIMESTAMP,
    PREFIX_BYTES,
    TRANSACTIONAL,
    BatchHeader,
    read_batch_header,
    renew_crc,
)
from wal.producers import AbortedTransaction

BATCH_BYTES_MAX: Final = 128 << 20
"""A batch that expands to more than this is not compacted; a producer could not have sent it uncompressed."""


class LastRecord(NamedTuple):
    """The end of an active producer's last batch, None if only its epoch is known; and its epoch."""

    last_offset: int | None
    epoch: int


_Kept = tuple[int, int, int]
"""A record that stays: its start and end in the batch's content, and its timestamp."""


class BatchFilter:
    """Filters the batches of one pass, in the order of their offsets."""

    def __init__(
        self,
        keys: KeyOffsets,
        *,
        aborted: Iterable[AbortedTransaction],
        producers: Mapping[int, LastRecord],
        clean_end: int,
        now_ms: int,
        delete_retention_ms: int,
        tags: TagReader | None = None,
    ) -> None:
        """Make a filter for batches below `clean_end`, whose keys are in `keys`; `now_ms` is wall time.

        With `tags`, which `keys` was filled with as well, the records that carry a key's tags stay, too.
        """
        self._tags = tags
        self._keys = keys
        self._transactions = CleanedTransactions(aborted)
        self._producers = producers
        self._clean_end = clean_end
        self._now_ms = now_ms
        self._horizon_ms = now_ms + delete_retention_ms
        self.earliest_horizon_ms: int | None = None
        """The time at which the first of the remaining tombstones and markers may go."""
        self.records_read = 0
        self.records_kept = 0

    def left_of(self, batch: memoryview) -> bytes | bytearray | None:
        """Return the batch with the records that stay, or None.  Raises: Malformed."""
        header = read_batch_header(batch)
        discards = self._transactions.may_go(header, batch)
        horizon = _horizon_of(header)
        markers_wait = header.is_control and discards and not header.is_left_behind
        if markers_wait:
            discards = horizon is not None and horizon <= self._now_ms
        header, body = open_batch(batch, BATCH_BYTES_MAX)
        self.records_read += header.record_count
        kept, tombstones = ([], False) if discards else self._kept(header, body, horizon)
        self.records_kept += len(kept)
        if not kept:
            return self._emptied(header)
        waits = tombstones or markers_wait
        if waits and horizon is None:
            self._note_horizon(self._horizon_ms)
            return _rewritten(header, body, kept, horizon_ms=self._horizon_ms)
        if waits and horizon is not None:
            self._note_horizon(horizon)
        if len(kept) == header.record_count:
            return bytes(batch)
        return _rewritten(header, body, kept, horizon_ms=horizon)

    def _note_horizon(self, horizon_ms: int) -> None:
        known = self.earliest_horizon_ms
        self.earliest_horizon_ms = horizon_ms if known is None else min(known, horizon_ms)

    def _kept(self, header: BatchHeader, body: bytes, horizon: int | None) -> tuple[list[_Kept], bool]:
        """Return the records that stay, and whether there are tombstones among them."""
        if header.is_control:
            heads = record_heads(header, body)
            return [(0, end, timestamp) for _, timestamp, _, end in heads], False
        expired = horizon is not None and self._now_ms >= horizon
        kept, tombstones, start = [], False, 0
        last = self._keys.last
        for offset, timestamp, at, end in record_heads(header, body):
            length, at = _key_span(body, at, end)
            # A record without a key can only be from a time when the topic was not compacted.
            if length >= 0 and (
                offset >= last(key := body[at : at + length])
                or (self._tags is not None and self._carries(self._tags, key, offset, body, at + length, end))
            ):
                is_tombstone = _length(body, at + length, end)[0] < 0
                if not (is_tombstone and expired):
                    kept.append((start, end, timestamp))
                    tombstones = tombstones or is_tombstone
            start = end
        return kept, tombstones

    def _carries(self, tags: TagReader, key: bytes, offset: int, body: bytes, at: int, end: int) -> bool:
        """Whether a record that has a later one must stay for its tags."""
        carried = tags.carried(body, at, end)
        return bool(carried) and self._keys.carries(key, carried, offset)

    def _emptied(self, header: BatchHeader) -> bytearray | None:
        last = self._producers.get(header.producer_id) if header.producer_id >= 0 else None
        if last is not None:
            if last.last_offset is None:
                needed = header.is_control and header.producer_epoch == last.epoch
            else:
                needed = last.last_offset == header.last_offset
            if needed:
                return _without_records(header)
        return _without_records(header) if header.last_offset + 1 == self._clean_end else None


def note_keys(
    keys: KeyOffsets,
    transactions: CleanedTransactions,
    batch: memoryview,
    first_dirty: int,
    tags: TagReader | None = None,
) -> None:
    """Note the keys of a batch's records from `first_dirty` on, except aborted ones, and their tags.

    Raises: Malformed.
    """
    header = read_batch_header(batch)
    if transactions.may_go(header, batch) or header.is_control:
        return
    header, body = open_batch(batch, BATCH_BYTES_MAX)
    put = keys.put
    for offset, _, at, end in record_heads(header, body):
        length, at = _key_span(body, at, end)
        if length < 0 or offset < first_dirty:
            continue
        key = body[at : at + length]
        if tags is None:
            put(key, offset)
        elif _length(body, at + length, end)[0] < 0:
            keys.put_tombstone(key, offset)
        else:
            put(key, offset)
            keys.carry(key, tags.carried(body, at + length, end), offset)


def _key_span(body: bytes, at: int, end: int) -> tuple[int, int]:
    """Return the length of the key, negative if there is none, and its position.  Raises: Malformed."""
    length, at = _length(body, at, end)
    if length >= end - at:
        raise Malformed(at, "key length", f"{length}, but the record ends at byte {end}")
    return length, at


def _length(body: bytes, at: int, end: int) -> tuple[int, int]:
    """Return the length at a position of a record and the position after it.  Raises: Malformed."""
    if at < end and (byte := body[at]) < 128:
        return byte >> 1 ^ -(byte & 1), at + 1
    try:
        length, at = read_varint(body, at)
    except IndexError:
        at = end + 1
    if at > end:
        raise Malformed(end, "record", "cut: it ends within a length")
    return length, at


def _horizon_of(header: BatchHeader) -> int | None:
    return header.base_timestamp if header.attributes & DELETE_HORIZON else None


def _without_records(header: BatchHeader) -> bytearray:
    batch = bytearray(HEADER_BYTES)
    attributes = header.attributes & (APPEND_TIME | TRANSACTIONAL | CONTROL)
    emptied = header._replace(
        batch_length=HEADER_BYTES - PREFIX_BYTES,
        attributes=attributes,
        base_timestamp=NO_TIMESTAMP,
        record_count=0,
    )
    HEADER.pack_into(batch, 0, *emptied)
    renew_crc(batch)
    return batch


def _rewritten(header: BatchHeader, body: bytes, kept: list[_Kept], *, horizon_ms: int | None) -> bytearray:
    """Return the batch with only these records; if there is a new horizon, their times count from it."""
    if horizon_ms is None or horizon_ms == _horizon_of(header):
        base_timestamp, attributes = header.base_timestamp, header.attributes
        content = b"".join([body[start:end] for start, end, _ in kept])
    else:
        base_timestamp, attributes = horizon_ms, header.attributes | DELETE_HORIZON
        content = b"".join([_moved(body, record, header.base_timestamp - horizon_ms) for record in kept])
    if header.codec != Codec.NONE:
        content = compress(header.codec, content)
    highest = header.max_timestamp if header.is_append_time else max(timestamp for _, _, timestamp in kept)
    changed = header._replace(
        batch_length=HEADER_BYTES - PREFIX_BYTES + len(content),
        attributes=attributes,
        base_timestamp=base_timestamp,
        max_timestamp=highest,
        record_count=len(kept),
    )
    batch = bytearray(HEADER_BYTES) + content
    HEADER.pack_into(batch, 0, *changed)
    renew_crc(batch)
    return batch


def _moved(body: bytes, record: _Kept, shift_ms: int) -> bytes:
    """Return the record with `shift_ms` added to its timestamp delta."""
    start, end, _ = record
    _, at = read_varint(body, start)
    delta, rest = read_varint(body, at + 1, 64)
    content = body[at : at + 1] + VARINTS[delta + shift_ms] + body[rest:end]
    return VARINTS[len(content)] + content
