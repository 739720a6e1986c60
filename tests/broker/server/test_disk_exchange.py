"""Results and jobs of one turn have a share of it: what is left waits for the next, and nothing for ever."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from broker.server.disk_exchange import LATE_NS, LOOK_NS, SHARE_NS
from broker.server.workers import TaskDone
from broker.storage.vnode import DiskJob, Vnode
from tests.broker.kit import batch, create, producing
from tests.broker.server.loop import Loop
from wal.jobs import CommitJob

VNODES = 4


@pytest.fixture
def loop(monkeypatch: pytest.MonkeyPatch) -> Loop:
    """Return a loop whose broker has a topic with a partition in each of its logs."""
    made = Loop(monkeypatch, kawal_vnodes=VNODES)
    create(made.gateway.client(), "t", partitions=VNODES)
    made.clock_ns = 1_000_000_000
    for _ in range(9):
        made.work()
        made.turn()
    made.clock_ns += LOOK_NS // 2
    return made


def append(loop: Loop, *partitions: int) -> None:
    """Append a batch to these partitions; the jobs that follow are not taken."""
    loop.gateway.client().send(producing(*(("t", index, batch(b"x")) for index in partitions)), 9)


def slow(loop: Loop, took_ns: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let each job that is handed out take so long; return the logs of the commits, as they come."""
    handed: list[str] = []
    submit = loop.workers.submit

    def note(vnode: Vnode, job: DiskJob) -> None:
        loop.clock_ns += took_ns
        if isinstance(job, CommitJob):
            handed.append(vnode.name)
        submit(vnode, job)

    monkeypatch.setattr(loop.workers, "submit", note)
    return handed


def task(done: list[int], number: int, loop: Loop, took_ns: int) -> TaskDone:
    """Return the end of a task whose result takes so long to act on."""

    def act(_error: Exception | None) -> None:
        done.append(number)
        loop.clock_ns += took_ns

    ended: Callable[[Exception | None], None] = act
    return TaskDone(ended, None)


def test_results_for_which_a_turn_has_no_time_are_acted_on_in_the_next_ones_in_their_order(
    loop: Loop,
) -> None:
    done: list[int] = []
    loop.workers.results = [task(done, number, loop, SHARE_NS // 2) for number in range(3)]
    loop.turn()
    assert done == [0, 1]
    assert loop.reactor._pending, "the loop must not wait for an event"
    loop.workers.results = [task(done, 3, loop, 0)]
    loop.turn()
    assert done == [0, 1, 2, 3]
    assert not loop.reactor._pending


def test_at_the_end_all_results_are_acted_on(loop: Loop) -> None:
    done: list[int] = []
    loop.workers.results = [task(done, number, loop, SHARE_NS) for number in range(3)]
    loop.turn()
    loop.reactor.take_in([task(done, 3, loop, SHARE_NS)], loop.gateway.now_ms)
    assert done == [0, 1, 2, 3]


def test_logs_for_which_a_turn_has_no_time_begin_in_the_next_ones(
    loop: Loop, monkeypatch: pytest.MonkeyPatch
) -> None:
    handed = slow(loop, SHARE_NS, monkeypatch)
    append(loop, *range(VNODES))
    for begun in range(1, VNODES + 1):
        loop.turn()
        assert len(set(handed)) == len(handed) == begun
        assert loop.reactor._pending == (begun < VNODES)


def test_a_log_that_has_more_in_each_turn_leaves_the_others_their_turn(
    loop: Loop, monkeypatch: pytest.MonkeyPatch
) -> None:
    handed = slow(loop, SHARE_NS, monkeypatch)
    for _ in range(2 * VNODES):
        append(loop, *range(VNODES))
        loop.workers.work()
        loop.turn()
    assert {handed.count(name) for name in handed} == {2}


def test_upkeep_goes_on_although_commits_take_the_share_of_every_turn(
    loop: Loop, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow(loop, SHARE_NS, monkeypatch)
    kept: list[bool] = []
    begin = Vnode.begin_jobs

    def note(vnode: Vnode, now_ms: int, *, maintains: bool = True) -> Iterator[DiskJob]:
        kept.append(maintains)
        return begin(vnode, now_ms, maintains=maintains)

    monkeypatch.setattr(Vnode, "begin_jobs", note)
    began_ns = loop.clock_ns
    while not any(kept):
        append(loop, *range(VNODES))
        loop.workers.work()
        loop.turn()
        assert loop.clock_ns - began_ns < 2 * LATE_NS
    assert loop.clock_ns - began_ns > LOOK_NS
