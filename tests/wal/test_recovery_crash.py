"""Every crash state of recorded runs: nothing acknowledged is lost, nothing undamaged is refused."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace

import pytest

from tests.wal.crash import CrashState, RecordingDisk, check_every_crash, killed_states
from tests.wal.logs import DIRECTORY, batch, commit, maintain, read_all
from tests.wal.recorded_runs import OPTIONS, Promise, RecordedRun, newest, shown
from wal.disk import Disk
from wal.log import VnodeLog
from wal.memory_image import DROP_ALL
from wal.options import LogOptions

pytestmark = pytest.mark.usefixtures("_slow_checkpoints")


@dataclass
class Run(RecordedRun):
    """A log and the batches sent to it."""

    sent: dict[int, list[tuple[int, int, bytes]]] = field(default_factory=dict)
    """Stream -> (base offset, next offset, batch), in order."""

    def append(self, stream_id: int, body: bytes, records: int = 1) -> None:
        data = batch(records, body=body)
        at = self.log.append(stream_id, data)
        self.sent.setdefault(stream_id, []).append((at.base_offset, at.next_offset, bytes(data)))

    def maintain(self) -> None:
        maintain(self.log, self.now_ms)


def check(run: Run, disk: Disk, promised: Promise) -> VnodeLog | None:
    """Recover and compare with the batches sent and promised."""
    log = run.reopened(disk, promised)
    if log is None:
        return None
    for stream_id in log.streams():
        start, end = log.log_start(stream_id), log.high_watermark(stream_id)
        stored = [data for base, after, data in run.sent.get(stream_id, []) if start < after <= end]
        assert read_all(log, stream_id) == b"".join(stored), f"stream {stream_id} from {start} to {end}"
    return log


def holds(run: Run, state: CrashState, promised: Promise) -> None:
    check(run, state.disk, promised)


def recovers(run: Run, state: CrashState) -> None:
    check(run, state.disk, newest(state))


def busy_run(
    seed: int,
    steps: int,
    *,
    sizes: tuple[int, ...] = (5, 50, 300),
    batches: int = 4,
    idle: float = 0.5,
    options: LogOptions = OPTIONS,
) -> Run:
    """Run appends, syncs, rolls, seals, checkpoints, log starts, drops, retirement and deletion of segments.

    Small frames fill a segment to the brim, so that its footer is written with its last frame.
    """
    chance = random.Random(seed)
    run = Run(options)
    for step in range(steps):
        run.now_ms += chance.choice((1, 5, 150, 400)) if idle > 0.1 else 1
        for number in range(chance.randint(1, batches)):
            stream_id = chance.choice((1, 1, 2, 3, 4 + step // 10))
            if stream_id not in run.dropped:
                run.append(stream_id, bytes((step % 256, number)) * chance.choice(sizes), number + 1)
        run.commit()
        if chance.random() < 0.3:
            stream_id = chance.choice(sorted(run.log.streams()))
            end = run.log.high_watermark(stream_id)
            run.log.set_log_start(stream_id, chance.randint(run.log.log_start(stream_id), end))
            for other in (1, 2, 3):
                if chance.random() < 0.3:
                    run.log.set_log_start(other, run.log.high_watermark(other))
            run.commit()
        if step % 10 == 9:
            run.log.drop_stream(3 + step // 10)
            run.dropped.add(3 + step // 10)
            run.commit()
        if chance.random() < idle:
            run.now_ms += 150
            commit(run.log, run.now_ms)
        run.maintain()
        run.log.retire_segments()
    return run


@pytest.mark.parametrize(
    ("seed", "sizes", "batches", "idle"), [(1, (5, 50, 300), 4, 0.5), (5, (50, 150), 2, 0.02)]
)
def test_no_crash_state_of_a_busy_log_loses_what_was_acknowledged(
    seed: int, sizes: tuple[int, ...], batches: int, idle: float
) -> None:
    run = busy_run(seed, steps=70, sizes=sizes, batches=batches, idle=idle)
    names = run.disk.list(DIRECTORY)
    assert any(name.startswith("checkpoint") for name in names)
    assert len(run.log._state.segments) < 20, "segments were deleted"

    states = check_every_crash(run.disk.trace, lambda state: recovers(run, state))

    assert states > 2_500


def test_no_crash_state_around_segments_closed_for_their_extents_loses_what_was_acknowledged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Their indexes are written in several pieces.
    monkeypatch.setattr("wal.index_file.PIECE_BYTES", 300)
    options = replace(OPTIONS, segment_bytes=64 << 10, segment_extents_max=12)
    run = busy_run(seed=7, steps=50, options=options)
    closed = [segment for segment in run.log._state.segments.all if segment.sealed]
    assert closed
    assert all(segment.end_position < 32 << 10 for segment in closed), "none of them was full"

    def within(state: CrashState) -> None:
        log = check(run, state.disk, newest(state))
        for segment in log._state.segments.all if log is not None else ():
            assert segment.index is None or len(segment.index.base) < 12 + 5

    assert check_every_crash(run.disk.trace, within) > 2_000


def test_what_a_restarted_process_shows_survives_the_next_power_cut() -> None:
    run = busy_run(seed=2, steps=25)

    for state in killed_states(run.disk.trace):
        log = check(run, state.disk, newest(state))
        if log is not None:
            check(run, state.disk.crash(DROP_ALL), shown(log))


def test_a_crash_in_recovery_loses_nothing_either() -> None:
    run = busy_run(seed=3, steps=12)

    def check_recovery(state: CrashState) -> None:
        second = RecordingDisk(state.disk)
        if check(run, second, newest(state)) is not None:
            promised = newest(state)
            check_every_crash(second.trace, lambda inner: holds(run, inner, promised), random_states=1)

    assert check_every_crash(run.disk.trace, check_recovery, random_states=1) > 500


def test_a_recovered_log_goes_on_where_it_ended() -> None:
    run = busy_run(seed=4, steps=12)

    def go_on(state: CrashState) -> None:
        log = check(run, state.disk, newest(state))
        if log is None:
            return
        data = batch(2, body=b"after the crash")
        base = log.append(1, data).base_offset
        commit(log, run.now_ms)
        again = VnodeLog.open(state.disk.crash(DROP_ALL), DIRECTORY, options=OPTIONS, now_ms=run.now_ms)
        assert again.state == "OPEN", again.damage
        assert again.high_watermark(1) == base + 2
        assert read_all(again, 1).endswith(bytes(data))

    assert check_every_crash(run.disk.trace, go_on) > 1_000


def test_durability_os_keeps_what_a_killed_process_acknowledged_and_a_prefix_after_a_power_cut() -> None:
    options = replace(OPTIONS, durability="os", flush_ms=200)
    run = busy_run(seed=6, steps=25, options=options)

    for state in killed_states(run.disk.trace):
        check(run, state.disk, newest(state))
    assert check_every_crash(run.disk.trace, lambda state: holds(run, state, ())) > 1_000
