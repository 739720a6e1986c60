"""Filtering and projection of one record batch: one batch of format v2 in, at most one out.

The result begins at the same base offset and ends at the same last offset, so that a client moves past all
that was left out; records keep their offsets, timestamps, keys and headers.  It belongs to no producer and to
no transaction: the caller must leave out batches of aborted transactions, and control batches.

Nothing in a batch can make this fail: records that do not fit are counted, and a batch that cannot be opened
counts as all unfit.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from protocol.compression import OUTPUT_BYTES_MAX, Codec, compress
from protocol.errors import Malformed
from protocol.records import (
    DELETE_HORIZON,
    HEADER,
    HEADER_BYTES,
    MAGIC,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    PREFIX_BYTES,
    BatchHeader,
    read_batch_header,
    renew_crc,
)
from views.evaluator import Evaluator
from views.opening import Opened, opened
from views.tags import KeyTags, TagTable

_BEFORE_ALL: Final = -(2**64)
_CODEC_AND_APPEND_TIME: Final = 0x0F
# glibc returns the memory of a large batch to the kernel, which clears it again for the next one: 0.9 ms for
# 1 MiB of lz4, as long as evaluating it takes.  It learns from the largest block that was ever freed: blocks
# up to that size it keeps, twice as much in all (mallopt(3), M_MMAP_THRESHOLD).
_KEPT_BLOCK_BYTES: Final = 4 << 20
bytes(_KEPT_BLOCK_BYTES)
# Values up to this size are copied out of the batch: making a slice of a memoryview takes longer.
_COPIED_BYTES_MAX: Final = 600


def _standing() -> int:
    return 0


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one call.

    `decompressed_bytes_max` of a source batch (a larger one is unfit); `output_bytes_max` of all new values
    and `value_bytes_max` of one (records beyond are unfit).  `slice_records` and `slice_bytes`: the
    most that `filter_steps` does between two yields.  One statement may take a thousand times as long for a
    record as another: `clock_ns`, a steady clock, says when slices must be smaller, to take about `slice_ns`.
    """

    decompressed_bytes_max: int = OUTPUT_BYTES_MAX
    output_bytes_max: int = 64 << 20
    value_bytes_max: int = 1 << 20
    slice_records: int = 2_000
    slice_bytes: int = 1 << 20
    slice_ns: int = 4_000_000
    clock_ns: Callable[[], int] = _standing


DEFAULT_LIMITS: Final = Limits()

Unframe = Callable[[bytes | memoryview], bytes]
"""Returns the JSON of a framed value.  Raises: ValueError when it has none; the record is unfit."""


class Filtered(NamedTuple):
    """The result for a batch: None when nothing matched; `last_offset` is the source batch's in any case.

    `scanned` = `matched` + `unfit` + those that did not match.
    """

    batch: bytes | None
    scanned: int
    matched: int
    unfit: int
    last_offset: int


@dataclass(slots=True)
class ScanState:
    """The state that a generated loop reads, and leaves for its next slice; `out` is what it makes."""

    body: bytes
    source: bytes | memoryview
    base_timestamp: int
    base_offset: int
    append_time: int | None
    max_timestamp: int
    """The largest timestamp that the header names: what was older was passed over by it."""
    partition: int
    tags: KeyTags
    room: int
    value_max: int
    record_max: int
    at: int = 0
    matched: int = 0
    unfit: int = 0
    newest: int = _BEFORE_ALL
    run_start: int = 0
    run_end: int = 0
    unframe: Unframe | None = None
    """What makes JSON of framed values."""
    out: Any = field(default_factory=list)


def filter_batch(
    evaluator: Evaluator,
    batch: memoryview,
    *,
    tags: KeyTags | None = None,
    partition: int = 0,
    limits: Limits = DEFAULT_LIMITS,
    codec: int = Codec.NONE,
    unframe: Unframe | None = None,
) -> Filtered:
    """Return the part of `batch`, one whole v2 batch of any codec, that belongs to the view.

    The result is compressed by `codec` if values are evaluated at all.  `tags` is the table of the
    partition, and learns from the batch.  A plan for framed values needs `unframe`.

    Raises: Malformed when `batch` is not even a header with all the bytes it announces.
    """
    steps = filter_steps(
        evaluator, batch, tags=tags, partition=partition, limits=limits, codec=codec, unframe=unframe
    )
    while True:
        try:
            next(steps)
        except StopIteration as done:
            result: Filtered = done.value
            return result


def filter_steps(
    evaluator: Evaluator,
    batch: memoryview,
    *,
    tags: KeyTags | None = None,
    partition: int = 0,
    limits: Limits = DEFAULT_LIMITS,
    codec: int = Codec.NONE,
    header: BatchHeader | None = None,
    unframe: Unframe | None = None,
    content: Opened | None = None,
) -> Generator[None, None, Filtered]:
    """Do `filter_batch` in slices, and yield after each, so that a million records do not stall other work.

    `header` is the batch's, if it has been read already; `content` its records, if it has been opened.
    """
    header = header or read_batch_header(batch)
    size = header.size_bytes
    if not HEADER_BYTES <= size <= len(batch) or header.magic != MAGIC:
        raise Malformed(0, "batch", f"{len(batch)} bytes of magic {header.magic}, {size} bytes by its length")
    count, last_offset = header.record_count, header.last_offset
    if header.is_control or count <= 0:
        return Filtered(None, 0, 0, 0, last_offset)
    if evaluator.scan is None:
        return Filtered(_relabelled(header, batch), count, count, 0, last_offset)
    if evaluator.plan.bounds.is_empty:
        return Filtered(None, count, 0, 0, last_offset)
    body = opened(batch, limits.decompressed_bytes_max) if content is None else content
    if isinstance(body, Malformed):
        return Filtered(None, count, 0, count, last_offset)
    state = start_scan(header, body, tags, partition, limits, evaluator.record_bytes_max)
    state.unframe = unframe
    if not (yield from scan_in_slices(evaluator.scan, state, count, limits, evaluator.first_records)):
        return Filtered(None, count, 0, count, last_offset)
    made = _assembled(header, state, codec) if state.matched else None
    return Filtered(made, count, state.matched, state.unfit, last_offset)


def start_scan(
    header: BatchHeader,
    body: bytes,
    tags: KeyTags | None,
    partition: int,
    limits: Limits,
    record_bytes_max: int,
) -> ScanState:
    """Return the state at the beginning of a batch's records."""
    is_large = len(body) > _COPIED_BYTES_MAX * header.record_count
    return ScanState(
        body,
        memoryview(body) if is_large else body,
        header.base_timestamp,
        header.base_offset,
        header.max_timestamp if header.is_append_time else None,
        header.max_timestamp,
        partition,
        TagTable() if tags is None else tags,
        limits.output_bytes_max,
        limits.value_bytes_max,
        record_bytes_max,
    )


def scan_in_slices(
    scan: Callable[..., None], state: ScanState, count: int, limits: Limits, first_records: int
) -> Generator[None, None, bool]:
    """Run a generated loop over `count` records, yielding after each slice; False when they are malformed.

    The first slice has at most `first_records`; the clock says how many the next ones may have.
    """
    slice_bytes = min(limits.slice_bytes, state.record_max)
    most = max(1, min(limits.slice_records, slice_bytes * count // (len(state.body) + 1)))
    step, done, clock_ns = min(first_records, most), 0, limits.clock_ns
    while done < count:
        began_ns = clock_ns()
        try:
            scan(state, min(step, count - done))
        except (Malformed, IndexError):
            return False
        done += step
        took_ns = clock_ns() - began_ns
        if took_ns > limits.slice_ns:
            step = max(1, step * limits.slice_ns // (2 * took_ns))
        elif 4 * took_ns < limits.slice_ns:
            step = min(most, 4 * step)
        yield
    return state.at == len(state.body)


def _assembled(header: BatchHeader, state: ScanState, codec: int) -> bytes:
    if state.run_end:
        state.out.append(state.body[state.run_start : state.run_end])
    content = state.out if codec == Codec.NONE else [compress(codec, b"".join(state.out))]
    batch = bytearray().join([bytes(HEADER_BYTES), *content])
    newest = header.max_timestamp
    if not header.is_append_time:
        # A client may have written any base and any delta.
        newest = max(-(2**63), min(header.base_timestamp + state.newest, 2**63 - 1))
    attributes = header.attributes & ~_CODEC_AND_APPEND_TIME | codec | (header.attributes & 0x08)
    write_header(batch, header, attributes, newest, state.matched)
    return bytes(batch)


def _relabelled(header: BatchHeader, batch: memoryview) -> bytes:
    """Return the same records in a batch of no producer; what is compressed stays so."""
    copy = bytearray(batch[: header.size_bytes])
    write_header(copy, header, header.attributes, header.max_timestamp, header.record_count)
    return bytes(copy)


def write_header(batch: bytearray, header: BatchHeader, attributes: int, newest: int, count: int) -> None:
    """Write the header, with CRC, of a batch of no producer that covers the same offsets as `header`."""
    # A delete horizon stays: the base timestamp means something else with it (KIP-534).
    kept = attributes & (_CODEC_AND_APPEND_TIME | DELETE_HORIZON)
    HEADER.pack_into(
        batch,
        0,
        header.base_offset,
        len(batch) - PREFIX_BYTES,
        header.leader_epoch,
        MAGIC,
        0,
        kept,
        header.last_offset_delta,
        header.base_timestamp,
        newest,
        NO_PRODUCER_ID,
        NO_PRODUCER_EPOCH,
        NO_SEQUENCE,
        count,
    )
    renew_crc(batch)
