"""Segments measured frame by frame, and copied with a checksum."""

from __future__ import annotations

import pytest
from crc32c import crc32c

from tests.wal.backups import make
from wal.backup_pieces import CHUNK_BYTES, copy_bytes, measured, same_segment
from wal.format import FIRST_FRAME_POSITION
from wal.memory_disk import MemoryDisk

SEALED = "data/default/vnode-0/00000000000000000000.wal"
ACTIVE = "data/default/vnode-0/00000000000000000003.wal"


@pytest.fixture
def disk() -> MemoryDisk:
    disk = MemoryDisk()
    make(disk, commits=4)
    return disk


@pytest.mark.parametrize("skim", [True, False])
def test_a_sealed_segment_ends_with_its_footer(disk: MemoryDisk, skim: bool) -> None:
    piece = measured(disk.open(SEALED), skim=skim)
    assert piece is not None
    assert (piece.finished, piece.passed) == (True, False)
    assert piece.end_position == len(disk.contents(SEALED))


def test_an_active_segment_ends_where_its_frames_do(disk: MemoryDisk) -> None:
    piece = measured(disk.open(ACTIVE), skim=False)
    assert piece is not None
    assert not piece.finished
    assert FIRST_FRAME_POSITION < piece.end_position < len(disk.contents(ACTIVE))
    disk.open(ACTIVE).write_at(piece.end_position, [b"torn"])
    assert measured(disk.open(ACTIVE), skim=False) == piece


def test_frames_after_the_point_count_only_below_the_floor(disk: MemoryDisk) -> None:
    everything = measured(disk.open(SEALED), skim=True)
    before = measured(disk.open(SEALED), skim=True, point_ms=-1)
    some = measured(disk.open(SEALED), skim=True, point_ms=-1, floor=2)
    assert everything is not None
    assert before is not None
    assert some is not None
    assert (before.end_position, before.passed, before.finished) == (FIRST_FRAME_POSITION, True, False)
    assert (some.next_sequence, some.passed) == (2, True)
    assert before.end_position < some.end_position < everything.end_position


def test_what_is_no_segment_is_none(disk: MemoryDisk) -> None:
    assert measured(disk.open("data/kawal.json"), skim=True) is None


def test_a_copy_has_the_bytes_and_their_checksum(disk: MemoryDisk) -> None:
    file = disk.open("large", create=True)
    content = bytes(range(256)) * (CHUNK_BYTES // 256) + b"end"
    file.write_at(0, [content])
    steps = copy_bytes(disk, file, "copy", len(content))
    sizes = []
    while True:
        try:
            sizes.append(next(steps))
        except StopIteration as done:
            known = done.value
            break
    assert sizes == [CHUNK_BYTES, 3]
    assert known == (len(content), crc32c(content))
    assert disk.contents("copy") == content


def test_a_sealed_segment_is_the_same_by_header_and_footer(disk: MemoryDisk) -> None:
    content = disk.contents(SEALED)
    for name, data in (("same", content), ("other", content[:-1] + b"?"), ("longer", content + b"\0")):
        disk.open(name, create=True).write_at(0, [data])
    file = disk.open(SEALED)
    found = [same_segment(disk, file, name, len(content)) for name in ("same", "other", "longer", "none")]
    assert found == [True, False, False, False]
