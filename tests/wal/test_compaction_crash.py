"""Every crash state of logs compacted while they are written: kept batches are there, in one version.

A reader sees a stream as it was before a pass or as the pass left it, never a mixture, and as the pass left
it once its end was durable. This is so whatever else the log does meanwhile: rolls, checkpoints, log starts,
drops, deletions of segments, passes that are given up.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace

import pytest

from tests.wal.compactions import seen
from tests.wal.crash import CrashState, check_every_crash, killed_states
from tests.wal.logs import DIRECTORY, batch, commit, maintain
from tests.wal.recorded_runs import OPTIONS, Promise, RecordedRun, newest, shown
from wal.disk import Disk
from wal.format import COPIES_BIT
from wal.inspect import LogReport, verify_log
from wal.log import VnodeLog
from wal.memory_image import DROP_ALL
from wal.options import LogOptions
from wal.stream import LOG_STREAM

pytestmark = pytest.mark.usefixtures("_slow_checkpoints")
STREAMS = (1, 2, 3)


@dataclass
class Run(RecordedRun):
    """A log, the batches sent to it, and those that each pass kept."""

    sent: dict[int, dict[int, bytes]] = field(default_factory=dict)
    kept: dict[int, list[tuple[int, frozenset[int]]]] = field(default_factory=dict)
    """Stream -> per pass its clean end and the batches kept below it; the first is no pass."""
    ended: dict[int, int] = field(default_factory=dict)

    def promise(self) -> Promise:
        """Return the ends of every stream, and how many of its passes have ended."""
        return tuple((*ends, self.ended.get(ends[0], 0)) for ends in super().promise())

    def views(self, stream_id: int, start: int, end: int, since: int) -> list[dict[int, bytes]]:
        """Return what a reader may see of [start, end): the result of each pass from `since` on."""
        found = []
        for clean_end, kept in [(0, frozenset[int]()), *self.kept.get(stream_id, [])][since:]:
            found.append(
                {
                    base: data
                    for base, data in self.sent.get(stream_id, {}).items()
                    if start < base + 1 + int.from_bytes(data[23:27], "big") <= end
                    and (base >= clean_end or base in kept)
                }
            )
        return found


def one_pass(run: Run, chance: random.Random, stream_id: int) -> None:
    """Copy a random part of a stream's old batches, in several frames, and make them count, or not."""
    log = run.log
    bases = [base for base in seen(log, stream_id) if base > log.clean_end(stream_id)]
    copies_id = log.begin_copies()
    assert copies_id is not None
    if not bases:
        log.give_up_copies(copies_id)
        return
    clean_end = chance.choice(bases)
    kept = set()
    for base, data in seen(log, stream_id).items():
        if base < clean_end and chance.random() < 0.4:
            kept.add(base)
            log.append_copy(copies_id, data)
            if chance.random() < 0.2:
                log.append(2, new_batch(run, 2, b"meanwhile"))
                run.commit()
                if chance.random() < 0.5:
                    maintain(log, run.now_ms)
    if chance.random() < 0.2:
        log.give_up_copies(copies_id)
        run.commit()
        return
    run.kept.setdefault(stream_id, []).append((clean_end, frozenset(kept)))
    log.let_copies_count(stream_id, clean_end=clean_end, copies_id=copies_id)
    commit(log, run.now_ms)
    run.ended[stream_id] = run.ended.get(stream_id, 0) + 1
    run.commit()


def new_batch(run: Run, stream_id: int, body: bytes, records: int = 1) -> bytearray:
    """Return a batch to append now, recorded under the offset that it gets."""
    data = batch(records, body=body)
    base = run.log.next_offset(stream_id)
    sent = bytearray(data)
    sent[0:8] = base.to_bytes(8, "big")
    sent[12:16] = bytes(4)
    run.sent.setdefault(stream_id, {})[base] = bytes(sent)
    return data


def busy_run(seed: int, steps: int, options: LogOptions = OPTIONS) -> Run:
    chance = random.Random(seed)
    run = Run(options)
    for step in range(steps):
        run.now_ms += chance.choice((1, 5, 150, 400))
        for number in range(chance.randint(1, 4)):
            stream_id = chance.choice([candidate for candidate in STREAMS if candidate not in run.dropped])
            body = bytes((step % 256, number)) * chance.choice((5, 50, 300))
            run.log.append(stream_id, new_batch(run, stream_id, body, number + 1))
        run.commit()
        if chance.random() < 0.6:
            one_pass(run, chance, chance.choice((1, 1, 2)))
        if chance.random() < 0.1:
            stream_id = chance.choice((1, 2))
            start, end = run.log.log_start(stream_id), run.log.high_watermark(stream_id)
            run.log.set_log_start(stream_id, chance.randint(start, end))
            run.commit()
        if step == steps * 2 // 3:
            one_pass(run, chance, 3)
            run.log.drop_stream(3)
            run.dropped.add(3)
            run.commit()
        maintain(run.log, run.now_ms)
        run.log.retire_segments()
    return run


def check(run: Run, disk: Disk, promised: Promise) -> VnodeLog | None:
    """Recover, and compare what is seen with what may be seen."""
    log = run.reopened(disk, promised)
    if log is None:
        return None
    since = {stream_id: ended for stream_id, _, _, ended in promised}
    for stream_id in log.streams():
        start, end = log.log_start(stream_id), log.high_watermark(stream_id)
        views = run.views(stream_id, start, end, since.get(stream_id, 0))
        assert seen(log, stream_id) in views, f"stream {stream_id} from {start} to {end}"
    named = {LOG_STREAM} | {stream.copies_id for stream in log._state.streams.values()}
    assert {stream_id for stream_id in log._state.streams if stream_id >= COPIES_BIT} <= named
    return log


def test_no_crash_state_of_a_compacted_log_loses_what_was_kept() -> None:
    run = busy_run(11, steps=40)
    assert sum(map(len, run.kept.values())) > 10
    assert len(run.log._state.segments) < 15, "segments were deleted"

    assert check_every_crash(run.disk.trace, lambda state: _checked(run, state)) > 2_000


def _checked(run: Run, state: CrashState) -> None:
    check(run, state.disk, newest(state))


def test_a_killed_process_and_the_next_power_cut_show_the_same() -> None:
    run = busy_run(12, steps=20)

    for state in killed_states(run.disk.trace):
        log = check(run, state.disk, newest(state))
        if log is not None:
            check(run, state.disk.crash(DROP_ALL), tuple((*ends, 0) for ends in shown(log)))


def test_a_recovered_log_is_compacted_again() -> None:
    run = busy_run(13, steps=10)

    def go_on(state: CrashState) -> None:
        log = check(run, state.disk, newest(state))
        if log is None or log.high_watermark(1) - log.log_start(1) < 2:
            return
        found = seen(log, 1)
        end = log.high_watermark(1)
        last = max(found)
        copies_id = log.begin_copies()
        assert copies_id is not None
        log.append_copy(copies_id, found[last])
        log.let_copies_count(1, clean_end=end, copies_id=copies_id)
        commit(log, run.now_ms)
        disk = state.disk.crash(DROP_ALL)
        again = VnodeLog.open(disk, DIRECTORY, options=OPTIONS, now_ms=run.now_ms)
        assert seen(again, 1) == {last: found[last]}
        report = list(verify_log(disk, DIRECTORY))[-1]
        assert isinstance(report, LogReport)
        assert report.is_good, report.damages

    assert check_every_crash(run.disk.trace, go_on, random_states=1) > 250


def test_durability_os_shows_one_version_too() -> None:
    run = busy_run(14, steps=15, options=replace(OPTIONS, durability="os", flush_ms=200))

    for state in killed_states(run.disk.trace):
        check(run, state.disk, newest(state))
    assert check_every_crash(run.disk.trace, lambda state: _any(run, state)) > 300


def _any(run: Run, state: CrashState) -> None:
    check(run, state.disk, ())
