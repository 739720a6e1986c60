"""Share sessions at work: waiting, waking, and connections that are lost."""

from __future__ import annotations

from typing import Any

import pytest

from broker.fetching.share_queues import ShareQueues
from groups.share.coordinator import Released
from groups.share.sessions import SessionKey
from groups.share.state_records import ShareKey
from protocol.error_codes import ErrorCode
from tests.broker.handlers.test_share_fetch import Jobs
from tests.broker.shares import ACCEPT, RELEASE, Member, acquired, outcome


def test_there_are_no_more_sessions_than_configured() -> None:
    jobs = Jobs()
    first, second = jobs.member("m1"), jobs.member("m2")
    jobs.gateway.broker.share_queues.sessions.sessions_max = 0
    first.fetch(jobs.place)
    sessions = jobs.gateway.broker.share_queues.current_sessions()
    assert (len(sessions), sessions.sessions_max) == (1, 2_000)
    second.fetch(jobs.place)
    assert len(sessions) == 2


def test_a_key_that_no_fetch_waits_for_is_forgotten() -> None:
    jobs = Jobs()
    member = jobs.member("m1")
    member.send_fetch(jobs.place, max_wait_ms=10)
    jobs.gateway.advance(20)
    member.client.answers()
    jobs.produce(b"a")
    member.fetch()
    member.acknowledge(jobs.place, (0, 0, [RELEASE]))
    jobs.gateway.settle()
    assert jobs.gateway.broker.share_queues._wait_keys == {}


def test_a_partition_that_is_deleted_counts_as_acquirable_so_that_fetches_learn_of_it() -> None:
    jobs = Jobs()
    jobs.member("m1")
    queues = jobs.gateway.broker.share_queues
    assert not queues.is_acquirable(SessionKey("g", "m1"), jobs.place)
    assert queues.is_acquirable(SessionKey("unknown", "m1"), jobs.place)
    assert queues.available_bytes(SessionKey("unknown", "m1"), jobs.place, 10) == 10
    assert queues.available_bytes(SessionKey("g", "m1"), jobs.place, 10) == 0


def test_the_records_of_every_lost_session_are_given_back() -> None:
    jobs = Jobs(partitions=2)
    first, second = jobs.member("m1"), jobs.member("m2")
    places = [(jobs.topic_id, index) for index in range(2)]
    for index in range(2):
        jobs.produce(b"a", index=index)
    first.fetch(*places)
    first.client.close()
    jobs.gateway.settle()
    assert len(jobs.gateway.broker.share_queues.sessions) == 0
    assert acquired(second.fetch(*places)) == [(0, 0, 2), (0, 0, 2)]


def test_what_a_member_acquires_after_it_came_back_is_not_given_back_with_what_it_had_before() -> None:
    jobs = Jobs()
    first, second = jobs.member("m1"), jobs.member("m2")
    jobs.produce(b"a", b"b")
    first.fetch(jobs.place, max_records=1, share_acquire_mode=1)
    jobs.gateway.broker.disconnect(first.client.connection)
    # The same member on a new connection: its fetch is there before the server gives back what it had.
    again = Member(jobs.gateway, "m1")
    got = acquired(again.fetch(jobs.place))
    assert got == [(0, 0, 2), (1, 1, 1)]
    assert acquired(second.fetch(jobs.place)) == []
    assert outcome(again.acknowledge(jobs.place, (0, 1, [ACCEPT]))) == [0]


def test_a_lost_member_with_many_ranges_gives_back_some_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("broker.fetching.share_queues.RELEASED_PER_STEP", 2)
    jobs = Jobs()
    first, second = jobs.member("m1"), jobs.member("m2")
    jobs.produce(*[b"a"] * 10)
    for _ in range(5):
        first.fetch(jobs.place, max_records=1, share_acquire_mode=1)
        second.fetch(jobs.place, max_records=1, share_acquire_mode=1)
    given_back: list[Released] = []
    release = ShareQueues.release

    def told(queues: ShareQueues, *asked: Any) -> Released:
        given_back.append(release(queues, *asked))
        return given_back[-1]

    monkeypatch.setattr(ShareQueues, "release", told)
    first.client.close()
    jobs.gateway.settle()
    assert given_back == [(2, True), (2, True), (1, False)]
    departures = jobs.gateway.broker.share_queues.departures.of_group("g", jobs.gateway.now_ms)
    assert departures["m1"].returned == 5
    assert acquired(second.fetch(jobs.place)) == [(offset, offset, 2) for offset in range(0, 10, 2)]


def test_releasing_where_the_group_has_nothing_is_told() -> None:
    jobs = Jobs()
    told: list[ErrorCode] = []
    member = jobs.member("m1")
    member.fetch(jobs.place)
    session = next(iter(jobs.gateway.broker.share_queues.sessions._sessions.values()))
    key = session.key._replace(group_id="other")
    jobs.gateway.broker.share_queues.release(key, jobs.place, told.append)
    assert told == [ErrorCode.GROUP_ID_NOT_FOUND]
    assert jobs.gateway.broker.share_queues.wait_key(ShareKey("g", *jobs.place)) < 0
