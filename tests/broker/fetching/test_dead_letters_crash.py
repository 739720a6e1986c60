"""Dead letters over crashes and disks that fail: none is lost, and on one vnode none is written twice."""

from __future__ import annotations

import pytest

from tests.broker.dead_letters import TAKES, Tail, later, rejected, told
from tests.broker.kit import create
from tests.broker.shares import ACCEPT, REJECT, Member, acquired
from wal.memory_faults import Fault


@pytest.mark.parametrize("ends", ["restart", "crash"])
def test_what_waits_for_letters_still_does_after_an_end(ends: str) -> None:
    tail = Tail(has_topic=False)
    rejected(tail)
    getattr(tail.gateway, ends)()
    tail.gateway.tick()
    later(tail)
    assert tail.start() == 0
    create(tail.gateway.client(), "dlq.jobs", 1, **TAKES)
    later(tail)
    assert (tail.offsets(), tail.start()) == ([0, 1], 2)
    assert {told(letter)["message"] for letter in tail.letters()} == {"Offset rejected by client."}


@pytest.mark.parametrize("vnodes", [1, 3])
@pytest.mark.parametrize("jobs", range(9))
def test_a_crash_at_any_commit_loses_no_letter_and_on_one_vnode_repeats_none(vnodes: int, jobs: int) -> None:
    tail = Tail(vnodes=vnodes)
    if vnodes > 1:
        letters, state = tail.gateway.partition("dlq.jobs").vnode, None
    member = tail.member()
    tail.produce(b"a", b"b", b"c")
    member.fetch(tail.place)
    if vnodes > 1:
        state = tail.gateway.partition("__share_group_state", share_home(tail)).vnode
        assert letters is not state, "the case with two logs"
    member.client.send(member.fetching(said={tail.place: [(0, 2, [ACCEPT, REJECT, REJECT])]}), 2)
    for _ in range(jobs):
        tail.gateway.run_jobs()
        tail.gateway.broker.scheduler.run()
    is_answered = bool(member.client.answers())
    tail.gateway.crash()
    tail.gateway.tick()
    tail.gateway.settle()
    again = Member(tail.gateway, "m2", "jobs")
    got = acquired(again.fetch(tail.place))
    if got:
        assert not is_answered, "what was answered is not delivered again"
        again.acknowledge(tail.place, (0, 2, [ACCEPT, REJECT, REJECT]))
    later(tail)
    assert set(tail.offsets()) == {1, 2}
    if vnodes == 1:
        assert tail.offsets() == [1, 2]
    assert tail.start() == 3


def share_home(tail: Tail) -> int:
    with tail.gateway.broker.coordinators.shares.step(tail.gateway.now_ms) as machine:
        (key,) = machine.keys_of("g")
        return machine.partition_of(key)


def test_a_disk_that_fails_once_delays_letters() -> None:
    tail = Tail()
    member = tail.member()
    tail.produce(b"a")
    member.fetch(tail.place)
    member.client.send(member.fetching(said={tail.place: [(0, 0, [REJECT])]}), 2)
    tail.gateway.run_jobs()
    failing = [True]

    def once(call: object) -> Fault | None:
        if failing and getattr(call, "kind", "") == "sync":
            failing.pop()
            return Fault(5)
        return None

    tail.gateway.disk.faults.append(once)
    tail.gateway.settle()
    later(tail)
    assert not failing
    assert (tail.offsets(), tail.start()) == ([0], 1)


@pytest.mark.parametrize("jobs", range(4))
@pytest.mark.parametrize("slices", range(4))
def test_a_letter_that_is_due_as_the_server_stops_is_written_once(jobs: int, slices: int) -> None:
    tail = Tail()
    tail.settings(errors_deadletterqueue_copy_record_enable="true")
    member = tail.member()
    tail.produce(b"0")
    member.fetch(tail.place)
    member.client.send(member.fetching(said={tail.place: [(0, 0, [REJECT])]}), 2)
    for _ in range(jobs):
        tail.gateway.run_jobs()
    for _ in range(slices):
        tail.gateway.broker.scheduler.run()
    tail.gateway.restart()
    tail.gateway.tick()
    tail.gateway.settle()
    assert tail.offsets() == [0]
