"""Ids of messages after a repair that accepts loss: those of before or gone, and never given out again."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import pytest

from tests.wal.crash import CrashState, RecordingDisk, check_every_crash
from tests.wal.ledger_model import find, locate
from tests.wal.logs import DIRECTORY, batch, commit, maintain, open_log, small_options
from wal import ledgers
from wal.entries import entries_in
from wal.errors import LogDamaged
from wal.format import FIRST_FRAME_POSITION, decode_segment_start, seed_of
from wal.ledgers import Limits
from wal.log import VnodeLog
from wal.memory_disk import MemoryDisk
from wal.memory_image import KEEP_ALL
from wal.repair import repair
from wal.scan import Scan
from wal.segment import ANOTHER_HISTORY

STREAMS = (5, 6)
LIMITS = Limits(entries=4, size_bytes=3_000, age_ms=1 << 40)
OPTIONS = small_options(segment_bytes=4 << 10, frame_bytes_max=2 << 10, seal_interval_ms=0)
WITH_CHECKPOINTS = small_options(
    segment_bytes=4 << 10, frame_bytes_max=2 << 10, seal_interval_ms=0, checkpoint_ns=140_000
)


class Known(NamedTuple):
    """A message that was acknowledged."""

    offset: int
    next_offset: int
    content: bytes


Ids = dict[tuple[int, int, int], Known]
"""Messages by stream, ledger and entry."""

NOW_MS = 1_800_000_000_000


@pytest.fixture(autouse=True)
def marks_are_close(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledgers, "MARK_ENTRIES", 3)


def counted(disk: MemoryDisk, options: object = OPTIONS) -> VnodeLog:
    log = open_log(disk, options)  # type: ignore[arg-type]
    for stream_id in STREAMS:
        log.count_entries(stream_id, lambda: LIMITS)
    return log


def write(log: VnodeLog, frames: int, *, seed: int) -> Ids:
    """Write frames of some batches of both streams; return their ids."""
    chance = random.Random(seed)
    sent: list[tuple[int, Known]] = []
    for number in range(frames):
        for _ in range(chance.randrange(1, 4)):
            stream_id = chance.choice(STREAMS)
            data = batch(chance.randrange(1, 4), body=chance.randbytes(chance.choice((20, 200))))
            at = log.append(stream_id, data)
            sent.append((stream_id, Known(at.base_offset, at.next_offset, bytes(data[21:]))))
        commit(log, number)
        maintain(log, number)
    ids: Ids = {}
    for stream_id, known in sent:
        place = locate(log, stream_id, known.offset)
        assert place is not None
        ids[stream_id, place.ledger_id, place.number] = known
    assert len(ids) == len(sent)
    return ids


def content_at(log: VnodeLog, stream_id: int, offset: int) -> bytes | None:
    """Return the batch that begins at an offset, from its checksummed part on."""
    if not log.log_start(stream_id) <= offset < log.high_watermark(stream_id):
        return None
    data = b"".join(
        bytes(part.read() if hasattr(part, "read") else part) for part in log.read(stream_id, offset, 1).parts
    )
    entry = next(iter(entries_in(data, 1 << 60)), None)
    size = int.from_bytes(data[8:12], "big") + 12
    return data[21:size] if entry is not None and entry.base_offset == offset else None


def check(log: VnodeLog, before: Ids, *, what: str) -> None:
    """Check that ids of before lead to their message or nowhere, and that new ones are other ids."""
    for (stream_id, ledger, number), known in before.items():
        place = find(log, stream_id, ledger, number)
        if place is not None:
            assert place.entry.base_offset == known.offset, f"{what}: {stream_id}, {ledger}:{number}"
            assert content_at(log, stream_id, known.offset) == known.content, f"{what}: {ledger}:{number}"
        if content_at(log, stream_id, known.offset) == known.content:
            place = locate(log, stream_id, known.offset)
            assert place is None or (place.ledger_id, place.number) == (ledger, number), what
    after = write(log, 6, seed=99)
    again = before.keys() & after.keys()
    assert not again, f"{what}: {sorted(again)} are given out again"
    for (stream_id, ledger, number), known in after.items():
        place = find(log, stream_id, ledger, number)
        assert place is not None, what
        assert place.entry.base_offset == known.offset, what


def mended(disk: MemoryDisk, options: object, *, now_ms: int = NOW_MS) -> VnodeLog:
    """Repair, and open the log."""
    report = repair(disk, DIRECTORY, options=options, now_ms=now_ms, accept_loss=True)  # type: ignore[arg-type]
    assert report.mended
    return counted(disk, options)


def frames_of(disk: MemoryDisk, path: str) -> Iterator[tuple[int, int]]:
    """Yield position and end of every frame of a segment."""
    file = disk.open(path, read_only=True)
    header, _ = decode_segment_start(file.read_at(0, FIRST_FRAME_POSITION))
    assert header is not None
    scan = Scan(file, seed=seed_of(header.salt), position=FIRST_FRAME_POSITION, sequence=header.base_sequence)
    for frame in scan:
        yield frame.position, frame.next_position


def damages(disk: MemoryDisk) -> Iterator[tuple[str, MemoryDisk]]:
    """Yield the log with each frame, each two neighbours and each tail zeroed, and without each segment.

    All of them also without the checkpoints.
    """
    paths = [f"{DIRECTORY}/{name}" for name in disk.list(DIRECTORY) if name.endswith(".wal")]
    for keep in (True, False):
        bare = disk.crash(KEEP_ALL)
        if not keep:
            for name in [name for name in bare.list(DIRECTORY) if name.startswith("checkpoint")]:
                bare.remove(f"{DIRECTORY}/{name}")
        suffix = "" if keep else ", without checkpoints"
        for path in paths:
            frames = list(frames_of(disk, path))
            spans = [*frames, *((a[0], b[1]) for a, b in pairwise(frames))]
            spans += [(start, frames[-1][1]) for start, _ in frames]
            for start, end in sorted(set(spans)):
                after = bare.crash(KEEP_ALL)
                after.damage(path, start, bytes(end - start))
                yield f"{path} zeroed from {start} to {end}{suffix}", after
            after = bare.crash(KEEP_ALL)
            after.remove(path)
            yield f"{path} is missing{suffix}", after


@pytest.mark.parametrize(
    ("options", "is_clean", "mark_entries"),
    [(OPTIONS, False, 3), (WITH_CHECKPOINTS, True, 3), (WITH_CHECKPOINTS, False, 1_024)],
)
def test_after_any_repair_no_id_leads_to_another_message_or_is_given_out_again(
    monkeypatch: pytest.MonkeyPatch, options: object, mark_entries: int, *, is_clean: bool
) -> None:
    monkeypatch.setattr(ledgers, "MARK_ENTRIES", mark_entries)
    disk = MemoryDisk()
    log = counted(disk, options)
    before = write(log, 24, seed=1)
    if is_clean:
        log.close(100)
    else:
        commit(log, 1_000)
        maintain(log, 5_000)
    disk = disk.crash(KEEP_ALL)
    repaired = 0
    for what, damaged in damages(disk):
        check(mended(damaged, options), before, what=what)
        repaired += 1
    assert repaired > 100


def test_after_a_repair_of_a_repair_no_id_is_given_out_again() -> None:
    disk = MemoryDisk()
    before = write(counted(disk), 8, seed=2)
    disk = disk.crash(KEEP_ALL)
    path = f"{DIRECTORY}/{next(name for name in disk.list(DIRECTORY) if name.endswith('.wal'))}"
    start, end = list(frames_of(disk, path))[2]
    disk.damage(path, start, bytes(end - start))
    log = mended(disk, OPTIONS)
    before |= write(log, 8, seed=3)
    commit(log, 1_000)
    maintain(log, 5_000)
    disk = disk.crash(KEEP_ALL)

    for what, damaged in damages(disk):
        check(mended(damaged, OPTIONS, now_ms=NOW_MS + 3_600_000), before, what=what)


def test_a_log_restored_to_an_earlier_state_gives_out_none_of_the_ids_that_came_after_it() -> None:
    disk = MemoryDisk()
    log = counted(disk)
    earlier = {0: disk.crash(KEEP_ALL)}
    before: Ids = {}
    for number in range(1, 5):
        before |= write(log, 5, seed=number)
        earlier[number] = disk.crash(KEEP_ALL)

    for number, restored in earlier.items():
        restored.open(f"{DIRECTORY}/{ANOTHER_HISTORY}", create=True).close()
        check(counted(restored), before, what=f"restored after {number}")


@pytest.mark.parametrize("row", [1, -3])
def test_after_a_crash_at_any_moment_of_a_repair_no_id_is_given_out_again(row: int) -> None:
    """Bug: a repair that was interrupted had no damage left to see, and began no epoch when it ran again."""
    disk = MemoryDisk()
    log = counted(disk)
    before = write(log, 12, seed=4)
    commit(log, 1_000)
    maintain(log, 5_000)
    damaged = disk.crash(KEEP_ALL)
    path = f"{DIRECTORY}/{[name for name in disk.list(DIRECTORY) if name.endswith('.wal')][-1]}"
    start, _ = list(frames_of(disk, path))[row]
    damaged.damage(path, start, bytes(4_096))
    recording = RecordingDisk(damaged)
    mended(recording, OPTIONS)

    def check_state(state: CrashState) -> None:
        check(mended(state.disk, OPTIONS, now_ms=NOW_MS + 1_000), before, what=str(state))

    assert check_every_crash(recording.trace, check_state, random_states=1) > 30


@pytest.mark.parametrize("again", [False, True])
def test_a_start_after_an_interrupted_repair_leaves_no_offsets_that_cannot_be_read(*, again: bool) -> None:
    disk = MemoryDisk()
    log = counted(disk, WITH_CHECKPOINTS)
    before = write(log, 12, seed=5)
    log.close(100)
    path = f"{DIRECTORY}/{[name for name in disk.list(DIRECTORY) if name.endswith('.wal')][-1]}"
    start, _ = list(frames_of(disk, path))[1]
    damaged = disk.crash(KEEP_ALL)
    damaged.damage(path, start, bytes(4_096))
    recording = RecordingDisk(damaged)
    repair(recording, DIRECTORY, options=WITH_CHECKPOINTS, now_ms=NOW_MS, accept_loss=True)

    def check_state(state: CrashState) -> None:
        if again:
            repair(state.disk, DIRECTORY, options=WITH_CHECKPOINTS, now_ms=NOW_MS, accept_loss=True)
        started = counted(state.disk, WITH_CHECKPOINTS)
        try:
            for stream_id in STREAMS:
                end = started.high_watermark(stream_id)
                assert started.read(stream_id, end - 1, 1).next_offset == end
            check(started, before, what=str(state))
        except LogDamaged:
            assert not again

    assert check_every_crash(recording.trace, check_state, random_states=1) > 30
