"""Looks at partitions for a share group: what they find, and that they leave nothing to be done."""

from __future__ import annotations

import pytest

from broker.errors import RequestError
from broker.fetching.share_places import end_of, find_partition, first_available
from groups.share.delivery import Limits
from groups.share.state_records import ShareKey
from protocol.error_codes import ErrorCode
from protocol.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from tests.broker.handlers.test_share_fetch import Jobs
from tests.broker.shares import ACCEPT, RELEASE, acquired


def first(jobs: Jobs, limits: Limits | None = None) -> int | None:
    """Return the first offset that the member `m2` may have."""
    broker = jobs.gateway.broker
    partition, key = find_partition(broker, jobs.place), ShareKey("g", *jobs.place)
    now_ms = jobs.gateway.now_ms
    return first_available(broker.coordinators.shares, key, partition, limits or Limits(), now_ms, "m2")


def test_the_first_available_record_is_one_that_was_given_back_or_the_next_of_the_log() -> None:
    jobs = Jobs()
    member = jobs.member("m1")
    jobs.produce(b"a", b"b", b"c")
    assert first(jobs) == 0
    member.fetch(jobs.place)
    assert first(jobs) == 3
    member.acknowledge(jobs.place, (0, 2, [ACCEPT, RELEASE, ACCEPT]))
    assert first(jobs) == 1


def test_nothing_is_available_while_the_window_is_full() -> None:
    jobs = Jobs()
    member = jobs.member("m1")
    jobs.produce(b"a", b"b")
    member.fetch(jobs.place)
    assert first(jobs, Limits(in_flight_max=2)) is None
    assert first(jobs, Limits(in_flight_max=3)) == 2


def test_a_look_learns_where_the_log_begins_now() -> None:
    jobs = Jobs()
    jobs.member("m1")
    jobs.produce(b"a", b"b", b"c")
    partition = DeleteRecordsPartition(partition_index=0, offset=2)
    request = DeleteRecordsRequest(
        topics=[DeleteRecordsTopic(name="jobs", partitions=[partition])], timeout_ms=1_000
    )
    jobs.gateway.client().call(request, 2)
    assert first(jobs) == 2
    assert jobs.gateway.broker.coordinators.shares.look(ShareKey("g", *jobs.place)).start == 2


def test_a_partition_is_found_by_the_id_of_its_topic() -> None:
    jobs = Jobs()
    broker = jobs.gateway.broker
    assert end_of(find_partition(broker, jobs.place), read_committed=True) == 0
    with pytest.raises(RequestError) as none:
        find_partition(broker, (jobs.topic_id, 1))
    assert none.value.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_what_accepts_records_wakes_no_fetch_and_what_gives_them_back_wakes_one() -> None:
    jobs = Jobs()
    first_member, second = jobs.member("m1"), jobs.member("m2")
    jobs.produce(b"a", b"b")
    first_member.fetch(jobs.place)
    second.send_fetch(jobs.place, max_wait_ms=500)
    jobs.gateway.settle()
    broker = jobs.gateway.broker
    first_member.client.send(first_member.fetching(said={jobs.place: [(0, 0, [ACCEPT])]}), 2)
    first_member.session += 1
    while jobs.gateway.run_jobs():
        assert not broker.scheduler.pending, "nothing has become available"
    first_member.client.answers()
    first_member.acknowledge(jobs.place, (1, 1, [RELEASE]))
    (answer,) = second.client.answers()
    assert acquired(answer) == [(1, 1, 2)]
