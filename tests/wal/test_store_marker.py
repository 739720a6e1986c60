"""The marker of a data directory: what is written is read, and anything else is refused with a sentence."""

from __future__ import annotations

import json

import pytest

from wal.errors import MetadataLost, NotUsable, UnknownFormat
from wal.memory_disk import MemoryDisk
from wal.memory_faults import Call
from wal.store_marker import (
    MARKER,
    NEWEST_FORMAT,
    STORE_FORMAT,
    TIERED_FORMAT,
    WORKERS_FORMAT,
    StoreIdentity,
    marker_format,
    marker_workers,
    raise_format,
    read_marker,
    write_marker,
)
from wal.whole_files import read_file, replace_file

IDENTITY = StoreIdentity(cluster_id="c" * 22, node_id=3, secret="ab" * 16)
PATH = f"data/{MARKER}"


@pytest.fixture
def disk() -> MemoryDisk:
    disk = MemoryDisk()
    disk.make_directory("data")
    return disk


def put(disk: MemoryDisk, content: bytes) -> None:
    replace_file(disk, "data", MARKER, content, temporary=f"{MARKER}.tmp")


def test_a_marker_is_read_as_it_was_written(disk: MemoryDisk) -> None:
    write_marker(disk, "data", IDENTITY)
    assert read_marker(disk, PATH) == IDENTITY
    assert marker_format(disk, PATH) == STORE_FORMAT


def test_a_raised_format_keeps_the_identity(disk: MemoryDisk) -> None:
    write_marker(disk, "data", IDENTITY)
    raise_format(disk, "data", IDENTITY)
    assert (marker_format(disk, PATH), read_marker(disk, PATH)) == (TIERED_FORMAT, IDENTITY)


def test_a_newer_format_is_refused_by_name(disk: MemoryDisk) -> None:
    put(disk, json.dumps({"format": NEWEST_FORMAT + 1}).encode())
    with pytest.raises(UnknownFormat, match=f"format {NEWEST_FORMAT + 1}"):
        read_marker(disk, PATH)


@pytest.mark.parametrize("content", [b"", b"{}", b"[1]", b'{"format": 4}', b"\xff"])
def test_anything_else_is_not_a_marker(disk: MemoryDisk, content: bytes) -> None:
    put(disk, content)
    with pytest.raises((MetadataLost, UnknownFormat)):
        read_marker(disk, PATH)


def test_a_missing_marker_cannot_be_read(disk: MemoryDisk) -> None:
    with pytest.raises(NotUsable, match="cannot be read"):
        read_marker(disk, PATH)


def test_a_nodes_number_and_the_number_of_nodes_are_kept_and_left_out_for_a_server_alone(
    disk: MemoryDisk,
) -> None:
    node = StoreIdentity(cluster_id="c" * 22, node_id=3, secret="ab" * 16, node=2, nodes=3)
    write_marker(disk, "data", node)
    raise_format(disk, "data", node)
    assert read_marker(disk, PATH) == node
    write_marker(disk, "data", IDENTITY)
    assert b'"node"' not in read_file(disk, PATH)
    assert read_marker(disk, PATH) == IDENTITY


def test_a_raised_format_says_how_many_workers_have_segments_in_the_store(disk: MemoryDisk) -> None:
    write_marker(disk, "data", IDENTITY)
    assert marker_workers(disk, PATH) == 1
    raise_format(disk, "data", IDENTITY, worker=2, workers=3)
    assert (marker_format(disk, PATH), marker_workers(disk, PATH)) == (WORKERS_FORMAT, 3)
    assert read_marker(disk, PATH) == IDENTITY
    raise_format(disk, "data", IDENTITY)
    assert (marker_format(disk, PATH), marker_workers(disk, PATH)) == (TIERED_FORMAT, 1)
    assert b"workers" not in read_file(disk, PATH)


def test_workers_that_raise_the_format_at_once_do_not_meet_at_a_temporary_file(disk: MemoryDisk) -> None:
    write_marker(disk, "data", IDENTITY)
    names: list[str] = []

    def note(call: Call) -> None:
        if call.kind == "open" and call.path.endswith(".tmp"):
            names.append(call.path)

    disk.faults.append(note)
    for worker in range(3):
        write_marker(disk, "data", IDENTITY, version=WORKERS_FORMAT, worker=worker, workers=3)
    assert len(set(names)) == 3


def test_a_marker_is_written_once_however_often_segments_leave(disk: MemoryDisk) -> None:
    write_marker(disk, "data", IDENTITY, version=WORKERS_FORMAT, workers=2)
    put(disk, read_file(disk, PATH) + b" ")
    raise_format(disk, "data", IDENTITY, worker=1, workers=2)
    assert read_file(disk, PATH).endswith(b" ")
