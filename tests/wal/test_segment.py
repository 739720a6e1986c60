"""Segments: their names, their order, their totals, and files that stay open as long as they are used."""

from __future__ import annotations

import pytest
from crc32c import crc32c

from tests.wal.logs import DIRECTORY, batch, commit, maintain, new_state, open_log, put, small_options
from wal.disk_errors import NoSuchFile
from wal.format import FIRST_FRAME_POSITION, FORMAT, FrameHeader, FrameKind, seed_of
from wal.memory_disk import MemoryDisk
from wal.scan import NO_TIMESTAMP
from wal.segment import (
    FileRange,
    Segment,
    Segments,
    SharedFile,
    Totals,
    base_version_of,
    header_of,
    segment_name,
)

CONTENT = b"0123456789"


def segment(base_version: int = 0, path: str = "vnode-0/x.wal") -> Segment:
    return Segment(path, base_version=base_version, base_sequence=3, salt=99)


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".wal",
        "1.wal",
        "00000000000000000001",
        "00000000000000000001.idx",
        "0000000000000000000x.wal",
        "-0000000000000000001.wal",
        "000000000000000000001.wal",
        "00000000000000000001.wal.deleted",
        "next.tmp",
    ],
)
def test_other_names_are_no_segments(name: str) -> None:
    assert base_version_of(name) is None


@pytest.mark.parametrize("base_version", [0, 1, 10**19, 2**64 - 1])
def test_a_name_is_read_back(base_version: int) -> None:
    name = segment_name(base_version)

    assert base_version_of(name) == base_version
    assert len(name) == 24


def test_names_sort_as_their_versions_do() -> None:
    versions = [0, 9, 10, 99, 100, 10**19]

    assert sorted(map(segment_name, reversed(versions))) == [segment_name(version) for version in versions]


def test_a_file_closes_with_the_last_one_who_needs_it() -> None:
    disk = MemoryDisk()
    put(disk, "a", CONTENT)
    shared = SharedFile(disk.open("a"))
    part = FileRange(shared, 2, 3, maybe_cold=False, must_load=False, load=lambda: None)
    file = shared.file
    del shared
    disk.remove("a")

    assert part.read() == b"234"
    del part
    with pytest.raises(OSError, match="read"):
        file.read_at(0, 1)
    assert disk.used_bytes() == 0


def test_a_range_that_the_file_does_not_hold_is_read_short() -> None:
    disk = MemoryDisk()
    put(disk, "a", CONTENT)
    shared = SharedFile(disk.open("a"))
    part = FileRange(shared, 8, 5, maybe_cold=True, must_load=False, load=lambda: None)

    assert (part.read(), part.size_bytes, part.maybe_cold) == (b"89", 5, True)
    assert part.file.size() == 10


def test_totals_add_up_what_the_footer_will_state() -> None:
    header = FrameHeader(FrameKind.DATA, 3, 0, 10, 2, 7, 96, 500, 0, 0)

    totals = Totals().with_frame(b"head-1", header, 50).with_frame(b"head-2", header, 40)

    assert totals == Totals(2, 4, 14, 1_000, 50, crc32c(b"head-2", crc32c(b"head-1")))


def test_a_frame_without_batches_adds_no_timestamp() -> None:
    header = FrameHeader(FrameKind.SEAL, 3, 0, 10, 0, 0, 0, 4_032, 0, 0)

    assert Totals().with_frame(b"h", header).max_timestamp == NO_TIMESTAMP
    assert Totals(max_timestamp=-5).with_frame(b"h", header).max_timestamp == -5


def test_rows_are_found_by_version() -> None:
    segments = Segments()
    found = [segment(base) for base in (4, 10, 10, 30)]
    for made in found:
        segments.add(made)

    assert [segments.row_of(version) for version in (0, 3, 4, 9, 10, 29, 30, 2**64)] == [
        -1, -1, 0, 0, 2, 2, 3, 3,
    ]  # fmt: skip
    segments.remove(found[1])
    assert segments.all == [found[0], found[2], found[3]]
    assert [segments.row_of(version) for version in (9, 10, 30)] == [0, 1, 2]
    assert len(segments) == 3


def test_an_older_segment_cannot_become_the_newest() -> None:
    segments = Segments()
    segments.add(segment(10))

    with pytest.raises(AssertionError):
        segments.add(segment(9))
    assert len(segments) == 1


def test_no_segments_have_no_row() -> None:
    assert Segments().row_of(0) == -1


def test_a_new_segment_is_empty_and_named_in_its_header() -> None:
    one = segment(40)

    assert (one.end_position, one.next_version, one.next_sequence) == (FIRST_FRAME_POSITION, 40, 3)
    assert one.seed == seed_of(99)
    header = header_of(one, vnode_id=6, previous_crc=0xABCD, created_ms=123)
    assert header == (6, 40, 3, 99, 0xABCD, 123, FORMAT)


def test_a_missing_file_is_reported_when_it_is_opened() -> None:
    with pytest.raises(NoSuchFile, match=r"'gone\.wal'"):
        segment(path="gone.wal").open_shared(MemoryDisk())


def test_a_file_is_opened_once_and_not_for_writing() -> None:
    disk = MemoryDisk()
    put(disk, "a.wal", CONTENT)
    one = segment(path="a.wal")

    shared = one.open_shared(disk)

    assert one.open_shared(disk) is shared
    with pytest.raises(OSError, match="write"):
        shared.file.write_at(0, [b"x"])


def test_an_index_is_read_from_its_file_once_and_odd_ones_are_not_taken() -> None:
    disk = MemoryDisk()
    log = open_log(disk, small_options(segment_bytes=4 << 10))
    for _ in range(6):
        log.append(1, batch(body=bytes(1_500)))
        commit(log)
    maintain(log)
    stored = log._state.segments.all[0]
    fresh = Segment(stored.path, base_version=stored.base_version, base_sequence=0, salt=stored.salt)
    foreign = Segment(stored.path, base_version=stored.base_version, base_sequence=0, salt=stored.salt + 1)

    index = fresh.load_index(disk)

    assert fresh.index_path == f"{DIRECTORY}/00000000000000000000.idx"
    assert index is not None
    assert index.range_of(1) == (0, 1)
    assert fresh.load_index(disk) is index
    assert foreign.load_index(disk) is None
    disk.remove(stored.index_path)
    assert Segment(stored.path, base_version=0, base_sequence=0, salt=stored.salt).load_index(disk) is None


def test_only_a_growing_index_is_given_out_to_be_added_to() -> None:
    one = new_state(MemoryDisk()).new_segment(0, 0)

    with pytest.raises(AssertionError):
        _ = one.active_index


@pytest.mark.parametrize(("appends", "expected"), [(7, False), (8, True)])
def test_a_segment_is_nearly_full_by_its_extents_too(appends: int, *, expected: bool) -> None:
    options = small_options(segment_bytes=1 << 20, segment_extents_max=10)
    log = open_log(MemoryDisk(), options)
    for number in range(appends):
        log.append(number + 1, batch())
    commit(log)
    active = log._state.active
    assert active is not None
    assert active.is_nearly_full(options) == expected
