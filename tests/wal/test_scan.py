"""The walk over a segment's frames: it stops at the first invalid bytes, and says where and why."""

from __future__ import annotations

import pytest
from crc32c import crc32c

from tests.wal.logs import batch, frame_bytes
from wal.disk import File
from wal.format import (
    ENTRY,
    FOOTER,
    FRAME_MAGIC,
    HEADER_BYTES,
    Entry,
    EntryKind,
    FrameHeader,
    FrameKind,
    encode_frame,
    encode_frame_header,
    plain_header,
    seed_of,
)
from wal.memory_disk import MemoryDisk
from wal.scan import (
    END,
    NEVER_WRITTEN,
    NO_TIMESTAMP,
    WINDOW_BYTES,
    FoundFrame,
    Scan,
    payload_problem,
    survey_after,
)

SEED = seed_of(99)
START = 1_024


def file_of(*parts: bytes) -> File:
    """Return a file whose frames begin at START."""
    file = MemoryDisk().open("a.wal", create=True)
    file.write_at(START, [b"".join(parts)])
    return file


def data_frame(sequence: int, *, durable: int = 0, offset: int = 0, body: bytes = b"body") -> bytes:
    return frame_bytes(
        batch(2, body=body, timestamp=sequence), sequence=sequence, durable=durable, offset=offset, seed=SEED
    )


def plain(kind: FrameKind, sequence: int, *, padding: int = 0, table: bytes = b"", count: int = 0) -> bytes:
    header = plain_header(kind, sequence=sequence, durable_sequence=0, version=0, now_ms=0)
    return encode_frame(header._replace(entry_count=count), table, SEED, padding_bytes=padding)[0]


def scanned(file: File, sequence: int = 0, *, skim: bool = False) -> tuple[Scan, list[FoundFrame]]:
    scan = Scan(file, seed=SEED, position=START, sequence=sequence, skim=skim)
    return scan, list(scan)


@pytest.mark.parametrize("skim", [False, True])
@pytest.mark.parametrize(
    ("last", "problem"),
    [
        (b"", END),
        (FRAME_MAGIC, END),
        (bytes(HEADER_BYTES - 1), END),
        (bytes(HEADER_BYTES), NEVER_WRITTEN),
        (b"\1" + bytes(HEADER_BYTES), "the frame header there has a wrong magic or crc"),
        (data_frame(1)[:60] + b"!!!!", "the frame header there has a wrong magic or crc"),
        (data_frame(2), "frame 2 lies where frame 1 is due"),
        (data_frame(0), "frame 0 lies where frame 1 is due"),
        (data_frame(1)[:-1], "frame 1 has 177 bytes, but the file ends before that"),
        (data_frame(1)[:70] + b"?" + data_frame(1)[71:], "the entry table of frame 1 has a wrong crc"),
    ],
)
def test_a_walk_ends_before_the_first_bad_frame(last: bytes, problem: str, *, skim: bool) -> None:
    first = data_frame(0)

    scan, frames = scanned(file_of(first, last), skim=skim)

    assert [frame.header.sequence for frame in frames] == [0]
    assert (scan.position, scan.sequence, scan.finished) == (START + len(first), 1, False)
    assert scan.problem == problem


@pytest.mark.parametrize("position", [112, 120, 124, 128, 129, 133, 140, 176])
def test_only_a_whole_walk_checks_the_batches(position: int) -> None:
    damaged = bytearray(data_frame(1))
    damaged[position] ^= 0x40

    scan, frames = scanned(file_of(data_frame(0), bytes(damaged)))
    skimmed = scanned(file_of(data_frame(0), bytes(damaged)), skim=True)[1]

    assert len(frames) == 1
    assert scan.problem == "frame 1: entry 0 (stream 1, offset 0) has a wrong crc or size"
    assert [frame.payload for frame in skimmed] == [None, None]


def test_frames_of_another_file_are_none() -> None:
    frame = frame_bytes(batch(), sequence=0, seed=seed_of(98))

    assert scanned(file_of(frame))[1] == []


def test_a_walk_begins_where_it_is_told() -> None:
    first, second = data_frame(6), data_frame(7, offset=2)
    file = file_of(first, second)
    scan = Scan(file, seed=SEED, position=START + len(first), sequence=7)

    (frame,) = list(scan)

    assert (frame.position, frame.header.sequence) == (START + len(first), 7)
    assert (scan.sequence, scan.problem) == (8, END)


def test_a_found_frame_says_where_its_parts_lie() -> None:
    data = data_frame(0, body=b"x" * 100)

    (frame,) = scanned(file_of(data))[1]

    assert (frame.position, frame.payload_position, frame.next_position) == (
        START, START + 112, START + len(data),
    )  # fmt: skip
    assert bytes(frame.head) == data[:64]
    assert bytes(frame.table) == data[64:112]
    assert bytes(frame.payload or b"") == data[112:]
    assert frame.header_crc == int.from_bytes(data[60:64], "little")
    assert frame.max_timestamp() == 0


def test_nothing_follows_a_footer() -> None:
    footer = plain(FrameKind.FOOTER, 1, table=FOOTER.pack(1, 1, 2, 65, 0, 2, 0))

    scan, frames = scanned(file_of(data_frame(0), footer, data_frame(2)))

    assert [frame.header.kind for frame in frames] == [FrameKind.DATA, FrameKind.FOOTER]
    assert (scan.finished, scan.sequence, scan.problem) == (True, 2, "")
    assert list(scan) == []


def test_a_lost_frame_stands_for_as_many_as_were_given_up() -> None:
    scan, frames = scanned(file_of(plain(FrameKind.LOST, 0, padding=500, count=4), data_frame(4)))

    assert [frame.next_sequence for frame in frames] == [4, 5]
    assert scan.sequence == 5


def test_frames_without_batches_have_no_timestamp() -> None:
    frames = scanned(file_of(plain(FrameKind.PAD, 0, padding=30), plain(FrameKind.SEAL, 1, padding=4_032)))[1]

    assert [frame.max_timestamp() for frame in frames] == [NO_TIMESTAMP, NO_TIMESTAMP]


@pytest.mark.parametrize("skim", [False, True])
def test_frames_across_the_borders_of_a_window_are_found(*, skim: bool) -> None:
    bodies = [
        bytes([number]) * size for number, size in enumerate((70_000, WINDOW_BYTES, 1, 400_000, 3, 900_000))
    ]
    parts = [data_frame(number, offset=2 * number, body=body) for number, body in enumerate(bodies)]

    scan, frames = scanned(file_of(*parts), skim=skim)

    assert [frame.next_position - frame.position for frame in frames] == [len(part) for part in parts]
    assert scan.problem == END
    if not skim:
        assert [bytes(frame.payload or b"")[61:] for frame in frames] == bodies


def entry(batch_data: bytes, **changes: int) -> bytes:
    """Return the table entry of a batch of stream 5, with some fields changed."""
    crc = int.from_bytes(batch_data[17:21], "big")
    row = Entry(5, EntryKind.DATA, 0, 0, 0, 1, len(batch_data), 0, crc, 0)
    return ENTRY.pack(*row._replace(**changes))


def problem(table: bytes, payload: bytes) -> str:
    return payload_problem(memoryview(table), memoryview(payload))


@pytest.mark.parametrize(
    "change",
    [
        {"base_offset": 1},
        {"leader_epoch": 1},
        {"crc": 1},
        {"size_bytes": 0},
        {"size_bytes": 60},
        {"size_bytes": 66},
        {"size_bytes": 2**32 - 1},
        {"kind": EntryKind.META},
    ],
    ids=str,
)
def test_a_batch_that_differs_from_its_entry_is_a_problem(change: dict[str, int]) -> None:
    data = bytes(batch())

    assert problem(entry(data), data) == ""
    assert problem(entry(data, **change), data).startswith("entry 0 (stream 5, offset ")


def test_a_meta_entry_is_checked_by_its_crc() -> None:
    good = {"kind": EntryKind.META, "size_bytes": 4, "crc": crc32c(b"meta")}

    assert problem(entry(b"", **good), b"meta") == ""
    assert problem(entry(b"", **good), b"mets") != ""
    assert problem(entry(b"", **good), b"met") != ""


def test_a_payload_is_covered_by_its_entries_exactly() -> None:
    data = bytes(batch())

    assert problem(entry(data) * 2, data + data) == ""
    assert problem(entry(data), data + b"?") == "the entries cover 65 of 66 bytes"
    assert problem(entry(data) * 2, data) == "entry 1 (stream 5, offset 0) has a wrong crc or size"
    assert problem(b"", b"") == ""


def surveyed(file: File, sequence: int = 1) -> tuple[int, int, int]:
    return survey_after(file, seed=SEED, position=START, sequence=sequence)


def test_a_survey_of_nothing_ends_with_the_file() -> None:
    file = file_of(bytes(500))

    assert surveyed(file) == (0, START + 500, 0)


def test_a_survey_finds_frames_wherever_they_begin() -> None:
    noise = b"noise " + FRAME_MAGIC + b" noise"
    later = data_frame(5, durable=4), data_frame(6, durable=3)

    assert surveyed(file_of(noise, *later, noise)) == (4, START + len(noise), 5)


def test_a_survey_takes_no_older_frame_for_the_one_that_follows() -> None:
    old, later = data_frame(0, durable=7), data_frame(2)

    assert surveyed(file_of(old, later)) == (7, START + len(old), 2)
    assert surveyed(file_of(old)) == (7, START + len(old), 0)


@pytest.mark.parametrize("before", range(HEADER_BYTES + 2))
def test_a_survey_finds_a_frame_that_two_windows_share(before: int) -> None:
    gap = b"?" * (WINDOW_BYTES - before)

    assert surveyed(file_of(gap, data_frame(3, durable=2))) == (2, START + len(gap), 3)


def test_what_says_no_header_is_what_lies_there() -> None:
    header = FrameHeader(FrameKind.DATA, 0, 0, 0, 0, 0, 2**32 - 1, 2**32 - 1, 0, 0)
    huge, _ = encode_frame_header(header, SEED)

    scan, frames = scanned(file_of(huge))

    assert frames == []
    assert scan.problem == f"frame 0 has {64 + 2 * (2**32 - 1)} bytes, but the file ends before that"
