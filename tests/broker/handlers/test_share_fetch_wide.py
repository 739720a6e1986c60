"""Share fetches of many partitions go in slices, whatever happens in between."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from protocol.error_codes import ErrorCode
from protocol.messages.share_fetch import FetchPartition, FetchTopic, ForgottenTopic
from tests.broker.handlers.test_share_fetch import Jobs
from tests.broker.shares import ACCEPT, Member, acquired, codes

COUNT = 600


def send_wide(member: Member, *, count: int = COUNT, topic_id: UUID | None = None, **values: Any) -> None:
    """Send a fetch that names all partitions as one topic's."""
    request = member.fetching(max_wait_ms=60_000, **values)
    found = member.gateway.broker.catalogue.find("jobs")
    assert found is not None
    partitions = [FetchPartition(partition_index=index, acknowledgement_batches=[]) for index in range(count)]
    request.topics.append(FetchTopic(topic_id=topic_id or found.topic_id, partitions=partitions))
    member.client.send(request, 2)
    member.session += 1


def run(jobs: Jobs, steps: int) -> None:
    for _ in range(steps):
        jobs.gateway.broker.scheduler.run()


@pytest.fixture(scope="module")
def shared() -> Jobs:
    jobs = Jobs(partitions=COUNT)
    jobs.member("m0")
    jobs.gateway.settle()
    return jobs


@pytest.mark.parametrize("steps", range(0, 100, 9))
def test_records_that_come_at_any_moment_before_it_is_parked_are_answered_at_once(
    shared: Jobs, steps: int
) -> None:
    gateway = shared.gateway
    member = Member(gateway, f"w{steps}")
    send_wide(member, epoch=0)
    run(shared, steps)
    shared.produce(b"new", index=COUNT - 1)
    gateway.settle()
    (answer,) = member.client.answers()
    assert [end[1] - end[0] for end in acquired(answer)] == [0]
    member.client.close()
    gateway.settle()
    # The record was given back; the next member is done with it.
    last = Member(gateway, "last")
    place = (shared.topic_id, COUNT - 1)
    (first, end, _) = acquired(last.fetch(place))[0]
    last.fetch(said={place: [(first, end, [ACCEPT])]}, epoch=-1)
    assert len(gateway.broker.waiters) == 0
    assert not gateway.broker.waiters._by_key


def test_a_client_that_leaves_at_any_moment_leaves_nothing_behind(shared: Jobs) -> None:
    gateway = shared.gateway
    for steps in range(0, 100, 9):
        leaving = Member(gateway, "m1")
        send_wide(leaving, epoch=0)
        run(shared, steps)
        leaving.client.close()
        gateway.settle()
        assert len(gateway.broker.waiters) == 0
        assert not gateway.broker.waiters._by_key
        assert len(gateway.broker.share_queues.sessions) == 0
        assert gateway.broker.share_queues.sessions.partition_count == 0
    assert gateway.broker.memory.requests_bytes == 0


def test_a_waiting_fetch_weighs_what_it_waits_for(shared: Jobs) -> None:
    member = Member(shared.gateway, "m1")
    send_wide(member, epoch=0)
    shared.gateway.settle()
    (call,) = member.client.connection.calls
    assert call.weight_bytes > COUNT * 900
    member.client.close()
    shared.gateway.settle()


def test_while_memory_is_short_a_wide_fetch_does_not_wait(shared: Jobs) -> None:
    member = Member(shared.gateway, "m1")
    memory = shared.gateway.broker.memory
    before, memory.requests_bytes_max = memory.requests_bytes_max, 1 << 18
    try:
        send_wide(member, epoch=0)
        shared.gateway.settle()
        (answer,) = member.client.answers()
        assert len(codes(answer)) == COUNT
    finally:
        memory.requests_bytes_max = before
        member.client.close()
        shared.gateway.settle()


def test_partitions_that_do_not_exist_are_answered_in_slices(shared: Jobs) -> None:
    member = Member(shared.gateway, "m1")
    send_wide(member, epoch=0, count=20_000, topic_id=UUID(int=9))
    assert member.client.answers() == []
    shared.gateway.settle()
    (answer,) = member.client.answers()
    assert {code for _, code, _ in codes(answer)} == {ErrorCode.UNKNOWN_TOPIC_ID}
    assert len(codes(answer)) == 20_000
    member.client.close()
    shared.gateway.settle()


def test_min_bytes_of_many_partitions_are_counted_when_some_have_records(shared: Jobs) -> None:
    member = Member(shared.gateway, "m1")
    send_wide(member, epoch=0, min_bytes=100)
    shared.gateway.settle()
    shared.produce(b"a", index=3)
    shared.gateway.settle()
    assert member.client.answers() == []
    shared.produce(b"b", index=COUNT - 1)
    shared.gateway.settle()
    (answer,) = member.client.answers()
    assert len(acquired(answer)) == 2
    places = [(shared.topic_id, 3), (shared.topic_id, COUNT - 1)]
    said = {
        place: [(part[0], part[1], [ACCEPT])] for place, part in zip(places, acquired(answer), strict=True)
    }
    member.fetch(said=said, epoch=-1)
    member.client.close()
    shared.gateway.settle()


def test_forgetting_many_partitions_leaves_a_session_without_them(shared: Jobs) -> None:
    member = Member(shared.gateway, "m1")
    send_wide(member, epoch=0, max_records=0)
    shared.gateway.settle()
    sessions = shared.gateway.broker.share_queues.sessions
    assert sessions.partition_count == COUNT
    request = member.fetching(max_records=0)
    gone = ForgottenTopic(topic_id=shared.topic_id, partitions=list(range(COUNT)))
    request.forgotten_topics_data.append(gone)
    member.client.send(request, 2)
    shared.gateway.settle()
    assert sessions.partition_count == 0
    member.client.close()
    shared.gateway.settle()


def test_a_session_without_room_for_its_partitions_ends(shared: Jobs) -> None:
    member = Member(shared.gateway, "m1")
    sessions = shared.gateway.broker.share_queues.sessions
    before, sessions.partitions_max = sessions.partitions_max, 50
    try:
        send_wide(member, epoch=0)
        shared.gateway.settle()
        (answer,) = member.client.answers()
        assert answer.error_code == ErrorCode.SHARE_SESSION_LIMIT_REACHED
        assert (len(sessions), sessions.partition_count) == (0, 0)
    finally:
        sessions.partitions_max = before


def test_a_wide_session_that_is_closed_as_its_client_leaves_gives_all_back(shared: Jobs) -> None:
    places = [(shared.topic_id, index) for index in range(60)]
    for index in range(60):
        shared.produce(b"a", index=index)
    for steps in (0, 1, 2):
        member = Member(shared.gateway, f"c{steps}")
        assert len(acquired(member.fetch(*places))) == 60
        member.client.send(member.fetching(epoch=-1), 2)
        run(shared, steps)
        member.client.close()
        shared.gateway.settle()
    member = Member(shared.gateway, "c3")
    assert len(acquired(member.fetch(*places))) == 60
    member.client.close()
    shared.gateway.settle()
