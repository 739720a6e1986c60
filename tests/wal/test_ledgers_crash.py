"""Every crash state of a log with ledgers: each batch that is there has the id that it had before."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import pytest

from tests.wal.compactions import append_copies, seen
from tests.wal.crash import CrashState, check_every_crash, killed_states
from tests.wal.ledger_model import ledgers_of, locate
from tests.wal.logs import batch, commit, maintain
from tests.wal.recorded_runs import OPTIONS, Promise, RecordedRun, newest, shown
from wal import ledgers
from wal.disk import Disk
from wal.ledgers import Limits
from wal.log import VnodeLog
from wal.memory_image import DROP_ALL

pytestmark = pytest.mark.usefixtures("_slow_checkpoints")
STREAM = 5
LIMITS = Limits(entries=6, size_bytes=1_500, age_ms=2_000)


@pytest.fixture(autouse=True)
def _close_marks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledgers, "MARK_ENTRIES", 3)


@dataclass
class Run(RecordedRun):
    """A log, and the ids of its batches by base offset."""

    ids: dict[int, tuple[int, int]] = field(default_factory=dict)

    def append(self, size: int, records: int) -> None:
        """Append a batch; its id follows from the epoch that it got."""
        data = batch(records, body=b"b" * size)
        base = self.log.append(STREAM, data).base_offset
        ledger = int.from_bytes(data[12:16], "big")
        last = self.ids[max(self.ids)] if self.ids else (-1, 0)
        self.ids[base] = ledger, last[1] + 1 if last[0] == ledger else 0


def busy_run(seed: int, steps: int) -> Run:
    chance = random.Random(seed)
    run = Run(OPTIONS)
    run.log.count_entries(STREAM, lambda: LIMITS)
    for _ in range(steps):
        run.now_ms += chance.choice((1, 5, 150, 900))
        run.log.tick(run.now_ms)
        for _ in range(chance.randint(0, 5)):
            run.append(chance.choice((5, 50, 300)), chance.randint(1, 3))
        run.log.append(9, batch(body=bytes(chance.choice((1, 400)))))
        run.commit()
        end = run.log.high_watermark(STREAM)
        if chance.random() < 0.15:
            run.log.set_log_start(STREAM, chance.randint(run.log.log_start(STREAM), end))
            run.commit()
        if chance.random() < 0.1:
            compact(run.log, chance)
            run.commit()
        maintain(run.log, run.now_ms)
        run.log.retire_segments()
    return run


def compact(log: VnodeLog, chance: random.Random) -> None:
    """Copy a part of the stream as it is, so that batches lie elsewhere."""
    bases = [base for base in seen(log, STREAM) if base > log.clean_end(STREAM)]
    if bases:
        clean_end = chance.choice(bases)
        copies_id = append_copies(log, STREAM, clean_end, keep=lambda _: True)
        log.let_copies_count(STREAM, clean_end=clean_end, copies_id=copies_id)


def check(run: Run, disk: Disk, promised: Promise) -> VnodeLog | None:
    log = run.reopened(disk, promised)
    if log is None or STREAM not in log.streams() or log._state.streams[STREAM].ledgers is None:
        assert all(stream_id != STREAM or not end for stream_id, _, end in promised)
        return None
    assert not ledgers_of(log, STREAM).is_unsure
    start = log.log_start(STREAM)
    for base in seen(log, STREAM):
        place = locate(log, STREAM, max(base, start))
        assert place is not None, base
        assert (place.ledger_id, place.number) == run.ids[base]
    return log


def test_every_crash_state_has_the_ids_of_before() -> None:
    run = busy_run(3, steps=45)
    rolls = {ledger for ledger, _ in run.ids.values()}
    assert len(rolls) > 10

    assert check_every_crash(run.disk.trace, lambda state: _checked(run, state)) > 1_000


def _checked(run: Run, state: CrashState) -> None:
    check(run, state.disk, newest(state))


def test_a_killed_process_and_the_next_power_cut_show_the_same_ids() -> None:
    run = busy_run(4, steps=20)

    for state in killed_states(run.disk.trace):
        log = check(run, state.disk, newest(state))
        if log is not None:
            check(run, state.disk.crash(DROP_ALL), shown(log))


def test_after_a_crash_the_count_goes_on_where_it_was() -> None:
    run = busy_run(5, steps=12)

    def go_on(state: CrashState) -> None:
        log = check(run, state.disk, newest(state))
        if log is None:
            return
        found = seen(log, STREAM)
        log.count_entries(STREAM, lambda: Limits(1 << 30, 1 << 30, 1 << 30))
        log.append(STREAM, batch())
        commit(log, run.now_ms)
        place = locate(log, STREAM, log.high_watermark(STREAM) - 1)
        assert place is not None
        if found:
            ledger, number = run.ids[max(found)]
            assert (place.ledger_id, place.number) == (ledger, number + 1)

    check_every_crash(run.disk.trace, go_on)
