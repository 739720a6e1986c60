"""Checkpoints and the witness: the point where recovery may begin, and the frames that it must find.

    checkpoint.0, checkpoint.1   two generations, the newer counts; tmp, fdatasync, rename, directory sync
    witness                      two slots of 4 KiB, written in turn in place, each with its own crc

A checkpoint is the durable state of all streams after the frame `sequence - 1`; a scan continues from
there. A witness says how far the log was synced, so that bytes missing at its end are noticed. Appends
wait for neither.

    checkpoint := header table{7} producers named crc[4]
                                                        tables: segments, streams, leader epochs, compactions,
                                                                counted streams, ledgers, marks
    table      := column*                               each column u64 or i64
    producers  := the bytes of `wal.producer_snapshot`, with transactions
    named      := the bytes of `wal.named_snapshot`
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from crc32c import crc32c

from wal.disk import Disk
from wal.format import SEAL_BLOCK_BYTES
from wal.ledger_snapshot import CODES as LEDGER_CODES
from wal.ledger_snapshot import CountedStream, Table, streams_of, tables_of
from wal.named_producers import NamedSnapshot
from wal.named_snapshot import decode as decode_named
from wal.named_snapshot import encode as encode_named
from wal.producer_snapshot import ProducerSnapshot
from wal.producer_snapshot import decode as decode_producers
from wal.producer_snapshot import encode as encode_producers
from wal.unreadable import PatientReader
from wal.whole_files import load_generations, replace_file

CHECKPOINT_MAGIC = b"KAWALCKP"
CHECKPOINT_FORMAT = 4
"""Format 1 has no table of compactions, 1 and 2 have no named producers, 1 to 3 count no entries."""

CHECKPOINT_NAMES = ("checkpoint.0", "checkpoint.1")
CHECKPOINT_TEMPORARY = "checkpoint.tmp"
META = "meta"
"""The directory of the catalogue's log."""
VNODE_PREFIX = "vnode-"
"""A vnode's directory has this and its id for its name."""
# magic, format, flags, number of the log, generation, sequence, durable sequence, version, last crc, rows of
# each table, bytes of the producers, bytes of the named producers
CHECKPOINT_HEADERS = {
    1: struct.Struct("<8sHHIQQQQI3IQ"),
    2: struct.Struct("<8sHHIQQQQI4IQ"),
    3: struct.Struct("<8sHHIQQQQI4IQQ"),
    CHECKPOINT_FORMAT: struct.Struct("<8sHHIQQQQI7IQQ"),
}
CHECKPOINT_START = struct.Struct("<8sH")
CLEAN = 1
"""The flag of a checkpoint that a clean stop wrote."""
NUMBERED = 2
"""The flag of a checkpoint with its log's number in the header; earlier ones have the vnode's id there."""

SEGMENT_COLUMNS = "QQQQQQqQQ"
# base version, base sequence, salt, next version, next sequence, end position, max timestamp, last crc,
# retired
STREAM_COLUMNS = "QqqQqq"
# stream id, next offset, log start, size, max timestamp, offset of it
EPOCH_COLUMNS = "Qqq"
# stream id, epoch, first offset
COMPACTION_COLUMNS = "QqQ"
# stream id, offset below which copies are read, stream id of the copies
TABLES = (SEGMENT_COLUMNS, STREAM_COLUMNS, EPOCH_COLUMNS, COMPACTION_COLUMNS, *LEDGER_CODES)
TABLES_BY_FORMAT = {1: TABLES[:3], 2: TABLES[:4], 3: TABLES[:4], CHECKPOINT_FORMAT: TABLES}

WITNESS_MAGIC = b"KAWALWIT"
WITNESS_NAME = "witness"
WITNESS_SLOTS = 2
WITNESS = struct.Struct("<8sQQQQ")
CRC = struct.Struct("<I")


@dataclass(slots=True, kw_only=True)
class Checkpoint:
    """The content of a checkpoint file; a table is a list of columns of equal length."""

    log_number: int
    """The number of its log, by `log_number`; without `is_numbered` the vnode's id."""
    generation: int
    sequence: int
    """The first frame that the checkpoint does not cover."""
    durable_sequence: int
    version: int
    """The next version after the checkpoint."""
    last_crc: int
    """The header CRC of the frame before `sequence`."""
    clean: bool
    segments: Table
    """All sealed segments before `sequence`; the scan begins in the segment after the last one."""
    streams: Table
    epochs: Table
    compactions: Table
    counted: list[CountedStream]
    """The ledgers and marks of the streams that have some."""
    producers: ProducerSnapshot
    named: NamedSnapshot
    is_numbered: bool = True


def log_number(directory: str) -> int:
    """Return a number that tells a log from the others of a data directory, wherever that is restored to.

    It is made of the directory's name: `meta`, or a vnode's with its database.
    """
    parent, _, name = directory.rpartition("/")
    vnode_id = name.removeprefix(VNODE_PREFIX)
    relative = f"{parent.rpartition('/')[2]}/{name}" if vnode_id != name else name
    return int(crc32c(relative.encode()))


def own_checkpoint(data: bytes, directory: str) -> Checkpoint | None:
    """Return the checkpoint in a file's bytes, or None when it is not whole or of another directory's log.

    A repair that trusted the file of another log would give up intact frames of this one. A directory that
    does not have the name of a log, as a copy of one, or a path without the database, may be that of any.
    """
    found = decode_checkpoint(data)
    parent, _, name = directory.rpartition("/")
    vnode_id = name.removeprefix(VNODE_PREFIX)
    is_known = name == META or (name != vnode_id and parent.rpartition("/")[2] not in ("", ".", ".."))
    if found is None or not is_known:
        return found
    if found.is_numbered:
        return found if found.log_number == log_number(directory) else None
    return found if not vnode_id.isdigit() or found.log_number == int(vnode_id) else None


def encode_checkpoint(checkpoint: Checkpoint) -> bytes:
    """Return the bytes of a checkpoint file."""
    tables = (
        checkpoint.segments, checkpoint.streams, checkpoint.epochs, checkpoint.compactions,
        *tables_of(checkpoint.counted),
    )  # fmt: skip
    producers, named = encode_producers(checkpoint.producers), encode_named(checkpoint.named)
    header = CHECKPOINT_HEADERS[CHECKPOINT_FORMAT].pack(
        CHECKPOINT_MAGIC, CHECKPOINT_FORMAT, CLEAN * checkpoint.clean | NUMBERED * checkpoint.is_numbered,
        checkpoint.log_number,
        checkpoint.generation, checkpoint.sequence, checkpoint.durable_sequence, checkpoint.version,
        checkpoint.last_crc, *(len(table[0]) for table in tables), len(producers), len(named),
    )  # fmt: skip
    columns = (column.tobytes() for table in tables for column in table)
    data = b"".join([header, *columns, producers, named])
    return data + CRC.pack(crc32c(data))


def decode_checkpoint(data: bytes) -> Checkpoint | None:
    """Return the checkpoint in a file's bytes, or None when they are not a whole one of this format."""
    end = len(data) - CRC.size
    if end < CHECKPOINT_START.size:
        return None
    magic, version = CHECKPOINT_START.unpack_from(data)
    header = CHECKPOINT_HEADERS.get(version)
    if magic != CHECKPOINT_MAGIC or header is None or end < header.size:
        return None
    _, _, flags, number, generation, sequence, durable, next_version, last_crc, *counts = header.unpack_from(
        data
    )
    columns = TABLES_BY_FORMAT[version]
    rows, tails = counts[: len(columns)], counts[len(columns) :]
    size = header.size + sum(tails) + sum(8 * len(codes) * n for codes, n in zip(columns, rows, strict=True))
    if size != end or crc32c(memoryview(data)[:end]) != CRC.unpack_from(data, end)[0]:
        return None
    tables, position = _decode_tables(data, header.size, columns, rows)
    tables += map(empty_table, TABLES[len(tables) :])
    try:
        middle = position + tails[0]
        producers = decode_producers(memoryview(data)[position:middle])
        named = decode_named(memoryview(data)[middle:end])
        counted = streams_of(*tables[4:])
    except ValueError:
        return None
    return Checkpoint(
        log_number=number, generation=generation, sequence=sequence, durable_sequence=durable,
        version=next_version, last_crc=last_crc, clean=bool(flags & CLEAN), segments=tables[0],
        streams=tables[1], epochs=tables[2], compactions=tables[3], counted=counted, producers=producers,
        named=named, is_numbered=bool(flags & NUMBERED),
    )  # fmt: skip


def _decode_tables(
    data: bytes, position: int, columns: Sequence[str], rows: Sequence[int]
) -> tuple[list[Table], int]:
    """Return the tables from `position` on, and the position after them."""
    tables: list[Table] = []
    for codes, count in zip(columns, rows, strict=True):
        table: Table = []
        for code in codes:
            table.append(array(code, data[position : position + 8 * count]))
            position += 8 * count
        tables.append(table)
    return tables, position


def empty_table(codes: str) -> Table:
    """Return a table without rows."""
    return [array(code) for code in codes]


def table_of(codes: str, rows: Sequence[tuple[int, ...]]) -> Table:
    """Return a table of these rows."""
    if not rows:
        return empty_table(codes)
    return [array(code, column) for code, column in zip(codes, zip(*rows, strict=True), strict=True)]


def write_checkpoint(disk: Disk, directory: str, checkpoint: Checkpoint) -> int:
    """Write a generation so that a crash leaves the old state or the new one; return its size in bytes."""
    name = CHECKPOINT_NAMES[checkpoint.generation % len(CHECKPOINT_NAMES)]
    data = encode_checkpoint(checkpoint)
    replace_file(disk, directory, name, data, temporary=CHECKPOINT_TEMPORARY)
    return len(data)


def load_checkpoints(disk: Disk, directory: str) -> tuple[list[Checkpoint], list[str]]:
    """Return the valid generations, newest first, and the names of other files, also those of another log."""
    return load_generations(disk, directory, CHECKPOINT_NAMES, lambda data: own_checkpoint(data, directory))


class Witness(NamedTuple):
    """A statement of how far the log was synced when it was written."""

    generation: int
    durable_sequence: int
    version: int
    base_version: int
    """The base version of the newest segment."""


def write_witness(disk: Disk, directory: str, witness: Witness) -> None:
    """Write the slot that is not the newest, and sync."""
    path = f"{directory}/{WITNESS_NAME}"
    is_new = not disk.exists(path)
    file = disk.open(path, create=True)
    try:
        if is_new:
            file.allocate(WITNESS_SLOTS * SEAL_BLOCK_BYTES)
        body = WITNESS.pack(WITNESS_MAGIC, *witness)
        position = witness.generation % WITNESS_SLOTS * SEAL_BLOCK_BYTES
        file.write_at(position, [body + CRC.pack(crc32c(body))])
        file.sync()
    finally:
        file.close()
    if is_new:
        disk.sync_directory(directory)


def load_witness(disk: Disk, directory: str) -> Witness | None:
    """Return the newest valid slot, if there is one."""
    path = f"{directory}/{WITNESS_NAME}"
    if not disk.exists(path):
        return None
    file = disk.open(path, read_only=True)
    try:
        data = PatientReader(file).read_at(0, WITNESS_SLOTS * SEAL_BLOCK_BYTES)
    finally:
        file.close()
    slots = [_slot(data[i * SEAL_BLOCK_BYTES :]) for i in range(WITNESS_SLOTS)]
    return max((slot for slot in slots if slot is not None), default=None)


def _slot(data: bytes) -> Witness | None:
    if len(data) < WITNESS.size + CRC.size:
        return None
    magic, *fields = WITNESS.unpack_from(data)
    if magic != WITNESS_MAGIC or crc32c(data[: WITNESS.size]) != CRC.unpack_from(data, WITNESS.size)[0]:
        return None
    return Witness(*fields)
