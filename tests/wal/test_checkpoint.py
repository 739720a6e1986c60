"""Checkpoints and witnesses come back as they were written, and damaged ones are rejected."""

from __future__ import annotations

from array import array
from dataclasses import replace

import pytest
from crc32c import crc32c

from wal.checkpoint import (
    CHECKPOINT_HEADERS,
    COMPACTION_COLUMNS,
    CRC,
    EPOCH_COLUMNS,
    SEGMENT_COLUMNS,
    STREAM_COLUMNS,
    Checkpoint,
    Witness,
    decode_checkpoint,
    encode_checkpoint,
    load_checkpoints,
    load_witness,
    log_number,
    own_checkpoint,
    table_of,
    write_checkpoint,
    write_witness,
)
from wal.ledger_snapshot import CountedStream
from wal.ledgers import Ledger
from wal.memory_disk import MemoryDisk
from wal.named_producers import STATE, NamedSnapshot, NamedState
from wal.producer_snapshot import ProducerSnapshot

STREAMS = [(7, 100, 5, 4_000, 1_700_000_000_000, 90), (2**63, 0, 0, 0, -(1 << 63), -1)]


def checkpoint(generation: int = 0, sequence: int = 12) -> Checkpoint:
    return Checkpoint(
        log_number=log_number(""),
        generation=generation,
        sequence=sequence,
        durable_sequence=sequence,
        version=99,
        last_crc=0xDEADBEEF,
        clean=True,
        segments=table_of(SEGMENT_COLUMNS, [(0, 0, 1 << 63, 50, 9, 4_096, -1, 0xFFFFFFFF, 0)]),
        streams=table_of(STREAM_COLUMNS, STREAMS),
        epochs=table_of(EPOCH_COLUMNS, [(7, 1, 50)]),
        compactions=table_of(COMPACTION_COLUMNS, [(7, 40, 1 << 63 | 9)]),
        counted=[],
        producers=ProducerSnapshot([]),
        named=NamedSnapshot({}),
    )


def test_a_checkpoint_comes_back_as_it_was() -> None:
    state = STATE.pack(*NamedState(7, 4711, 1_700_000_000_000))
    original = replace(checkpoint(), log_number=3, named=NamedSnapshot({7: [{b"sensor": state, b"": state}]}))

    decoded = decode_checkpoint(encode_checkpoint(original))

    assert decoded is not None
    assert decoded.segments == original.segments
    assert decoded.streams == original.streams
    assert decoded.epochs == original.epochs
    assert decoded.compactions == original.compactions
    assert decoded.named == original.named
    assert (decoded.log_number, decoded.sequence, decoded.version, decoded.last_crc, decoded.clean) == (
        3,
        12,
        99,
        0xDEADBEEF,
        True,
    )


def of_format(version: int, original: Checkpoint) -> bytes:
    """Return the bytes that programs of an older format wrote; the checkpoint must not have more."""
    now = encode_checkpoint(original)
    magic, _, *fields = CHECKPOINT_HEADERS[4].unpack_from(now)
    body = now[CHECKPOINT_HEADERS[4].size : -CRC.size]
    del fields[-5:-2]  # rows of counted streams, ledgers and marks
    if version < 3:
        del fields[-1]  # bytes of named producers
    if version < 2:
        columns = (*original.segments, *original.streams, *original.epochs)
        start = sum(len(column.tobytes()) for column in columns)
        end = start + sum(len(column.tobytes()) for column in original.compactions)
        del fields[-2]
        body = body[:start] + body[end:]
    old = CHECKPOINT_HEADERS[version].pack(magic, version, *fields) + body
    return old + CRC.pack(crc32c(old))


def test_checkpoints_of_older_formats_are_read() -> None:
    original = checkpoint()

    found = {version: decode_checkpoint(of_format(version, original)) for version in (1, 2, 3)}

    for version, decoded in found.items():
        assert decoded is not None, version
        assert (decoded.streams, decoded.epochs) == (original.streams, original.epochs)
        assert decoded.compactions == (
            original.compactions if version > 1 else table_of(COMPACTION_COLUMNS, [])
        )
        assert (decoded.named, decoded.counted) == (NamedSnapshot({}), [])


def test_ledgers_and_marks_come_back_as_they_were() -> None:
    counted = [
        CountedStream(
            7, 30, 9_000, False, (Ledger(0, 0, 0, 0, 5), Ledger(3, 50, 20, 6_000, 9, 2)),
            array("q", [0, 50]), array("q", [0, 20]),
        ),
        CountedStream(2**63, 1, 70, True, (Ledger(1, 4, 0, 0, 5),), array("q"), array("q")),
    ]  # fmt: skip

    decoded = decode_checkpoint(encode_checkpoint(replace(checkpoint(), counted=counted)))

    assert decoded is not None
    assert decoded.counted == counted


def test_no_damaged_checkpoint_is_taken() -> None:
    data = encode_checkpoint(checkpoint())

    for size in range(len(data)):
        assert decode_checkpoint(data[:size]) is None
    for bit in range(8 * len(data)):
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << bit % 8
        assert decode_checkpoint(bytes(damaged)) is None


def test_the_newest_valid_generation_comes_first_and_odd_ones_are_named() -> None:
    disk = MemoryDisk()
    for generation in range(3):
        write_checkpoint(disk, "", checkpoint(generation, sequence=generation))

    found, odd = load_checkpoints(disk, "")
    assert [kept.generation for kept in found] == [2, 1]
    assert odd == []

    disk.damage("/checkpoint.0", 30, b"?")
    found, odd = load_checkpoints(disk, "")
    assert [kept.generation for kept in found] == [1]
    assert odd == ["checkpoint.0"]


def test_a_checkpoint_of_another_log_is_odd_and_that_of_a_restored_directory_is_not() -> None:
    disk = MemoryDisk()
    directories = ["a/meta", "a/0/vnode-0", "a/0/vnode-1", "a/db-1/vnode-0", "b/0/vnode-1"]
    for directory in ("a", "a/0", "a/db-1", "b", "b/0", *directories):
        disk.make_directory(directory)
    for written in directories:
        for read in directories:
            write_checkpoint(disk, read, replace(checkpoint(), log_number=log_number(written)))

            found, odd = load_checkpoints(disk, read)

            is_same = written == read or {written, read} == {"a/0/vnode-1", "b/0/vnode-1"}
            assert (len(found), odd) == ((1, []) if is_same else (0, ["checkpoint.0"])), (written, read)


def test_a_checkpoint_from_before_numbers_is_odd_in_another_vnodes_directory() -> None:
    disk = MemoryDisk()
    disk.make_directory("0")
    for directory in ("0/vnode-3", "0/vnode-4", "meta"):
        disk.make_directory(directory)
        write_checkpoint(disk, directory, replace(checkpoint(), log_number=3, is_numbered=False))

    assert load_checkpoints(disk, "0/vnode-3")[1] == []
    assert load_checkpoints(disk, "0/vnode-4") == ([], ["checkpoint.0"])
    assert load_checkpoints(disk, "meta")[1] == []


def test_a_table_of_no_rows_has_its_columns() -> None:
    assert table_of("Qq", []) == [array("Q"), array("q")]


def test_the_newest_witness_counts() -> None:
    disk = MemoryDisk()
    assert load_witness(disk, "") is None
    for generation in range(1, 5):
        write_witness(disk, "", Witness(generation, 10 * generation, 5, 0))
        assert load_witness(disk, "") == Witness(generation, 10 * generation, 5, 0)


@pytest.mark.parametrize("slot", [0, 1])
def test_a_damaged_witness_slot_leaves_the_other(slot: int) -> None:
    disk = MemoryDisk()
    write_witness(disk, "", Witness(1, 10, 5, 0))
    write_witness(disk, "", Witness(2, 20, 6, 0))

    disk.damage("/witness", slot * 4096 + 9, b"\xff")

    survivor = load_witness(disk, "")
    assert survivor is not None
    assert survivor.generation == (1 if slot == 0 else 2)


def test_a_witness_that_was_cut_is_none() -> None:
    disk = MemoryDisk()
    write_witness(disk, "", Witness(2, 20, 6, 0))
    disk.open("witness").truncate(43)

    assert load_witness(disk, "") is None


def test_a_checkpoint_whose_producers_cannot_be_read_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as other:
        other.setattr("wal.checkpoint.encode_producers", lambda _snapshot: b"not a snapshot")
        data = encode_checkpoint(checkpoint())

    assert decode_checkpoint(data) is None


def test_a_path_that_does_not_tell_the_log_takes_any_checkpoint() -> None:
    data = encode_checkpoint(replace(checkpoint(), log_number=7))
    for directory in ("copy", "", "vnode-3", "./vnode-3", "/tmp/copy"):
        assert own_checkpoint(data, directory) is not None
    for directory in ("0/vnode-3", "meta", "/data/meta"):
        assert own_checkpoint(data, directory) is None
