"""ShareFetch in groups that look at times in records' headers."""

from __future__ import annotations

import pytest

from protocol.record_reader import Record
from protocol.record_writer import encode_batch
from tests.broker.dead_letters import Tail, later, told
from tests.broker.handlers.test_share_fetch import Jobs
from tests.broker.kit import create, send
from tests.broker.shares import ACCEPT, Member, acquired, configure


def timed_jobs() -> Jobs:
    return Jobs(kawal_share_timing_enable="true")


def put(jobs: Jobs | Tail, *headers: dict[str, int]) -> None:
    """Produce one batch of records with these headers."""
    records = [
        Record(
            number,
            jobs.gateway.now_ms,
            None,
            b"%d" % number,
            tuple((name.replace("_", "-"), b"%d" % value) for name, value in named.items()),
        )
        for number, named in enumerate(headers)
    ]
    send(jobs.gateway.client(), "jobs", encode_batch(records), 0)


def test_a_delayed_record_comes_when_it_is_due_and_keeps_nothing_waiting() -> None:
    jobs = timed_jobs()
    member = jobs.member("m1")
    put(jobs, {"kawal_delay_ms": 5_000}, {})
    assert acquired(member.fetch(jobs.place)) == [(1, 1, 1)]
    member.send_fetch(said={jobs.place: [(1, 1, [ACCEPT])]}, max_wait_ms=20_000)
    jobs.gateway.advance(4_999)
    assert member.client.answers() == []
    jobs.gateway.advance(2)
    (answer,) = member.client.answers()
    assert acquired(answer) == [(0, 0, 1)]


def test_a_restart_keeps_a_record_until_its_moment() -> None:
    jobs = timed_jobs()
    member = jobs.member("m1")
    put(jobs, {"kawal_deliver_at": jobs.gateway.now_ms + 5_000}, {})
    assert acquired(member.fetch(jobs.place, said={})) == [(1, 1, 1)]
    member.acknowledge(jobs.place, (1, 1, [ACCEPT]))
    jobs.gateway.crash()
    jobs.gateway.tick()
    jobs.gateway.settle()
    again = Member(jobs.gateway, "m2", "jobs")
    assert acquired(again.fetch(jobs.place)) == []
    jobs.gateway.advance(5_000)
    assert acquired(again.fetch()) == [(0, 0, 1)]


def test_groups_that_are_not_timed_get_all_at_once() -> None:
    jobs = Jobs()
    put(jobs, {"kawal_delay_ms": 5_000}, {"kawal_expires_at": 1})
    assert acquired(jobs.member("m1").fetch(jobs.place)) == [(0, 1, 1)]


def test_expired_records_are_not_delivered() -> None:
    jobs = timed_jobs()
    member = jobs.member("m1")
    put(jobs, {"kawal_expires_at": jobs.gateway.now_ms + 100}, {})
    jobs.gateway.advance(200)
    assert acquired(member.fetch(jobs.place)) == [(1, 1, 1)]
    with jobs.gateway.broker.coordinators.shares.step(jobs.gateway.now_ms) as machine:
        (key,) = machine.keys_of("g")
        found = machine.find(key)
    assert found is not None
    assert found.start == 1


def test_the_topics_time_to_live_counts_from_the_records_time() -> None:
    jobs = timed_jobs()
    topic_id = create(jobs.gateway.client(), "short", kawal_share_ttl_ms="1000")
    member = Member(jobs.gateway, "m1", "short")
    send(jobs.gateway.client(), "short", encode_batch([Record(0, jobs.gateway.now_ms, None, b"old")]))
    jobs.gateway.advance(1_000)
    send(jobs.gateway.client(), "short", encode_batch([Record(0, jobs.gateway.now_ms, None, b"new")]))
    assert acquired(member.fetch((topic_id, 0))) == [(1, 1, 1)]


def test_expired_records_leave_dead_letters_in_groups_that_have_them() -> None:
    tail = Tail()
    tail.settings(kawal_share_timing_enable="true")
    member = tail.member()
    put(tail, {}, {"kawal_expires_at": 1}, {"kawal_expires_at": 1})
    assert acquired(member.fetch(tail.place)) == [(0, 0, 1)]
    later(tail)
    assert [told(letter)["offset"] for letter in tail.letters()] == ["1", "2"]
    assert {told(letter)["message"] for letter in tail.letters()} == {
        "Record expired before it was delivered."
    }
    assert {told(letter)["delivery.count"] for letter in tail.letters()} == {"0"}


@pytest.mark.parametrize("enabled", ["true", "false"])
def test_timing_can_be_switched_while_records_wait(enabled: str) -> None:
    jobs = timed_jobs()
    member = jobs.member("m1")
    put(jobs, {"kawal_delay_ms": 60_000})
    assert acquired(member.fetch(jobs.place)) == []
    configure(jobs.gateway, kawal_share_timing_enable=enabled)
    jobs.gateway.advance(61_000)
    assert acquired(member.fetch()) == [(0, 0, 1)]
