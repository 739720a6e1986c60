"""KawalQueueChanges: records of share groups given back, or finished, by an operator."""

from __future__ import annotations

import errno
from typing import Any

import pytest

from protocol.error_codes import ErrorCode
from protocol.messages.kawal_queue_changes import (
    KawalQueueChangesRequest,
    KawalQueueChangesResponse,
    QueueAction,
    QueueTopicItem,
)
from tests.broker.guarded import ADMIN, ALICE
from tests.broker.guarded_shares import GuardedShares
from tests.broker.handlers.test_share_fetch import Jobs
from tests.broker.shares import ACCEPT, Member, acquired, configure, outcome, values
from wal.memory_faults import failing

RELEASE, PURGE = QueueAction.RELEASE, QueueAction.PURGE


def change(
    jobs: Any, action: int, *places: tuple[str, list[int]], **values: Any
) -> KawalQueueChangesResponse:
    topics = [QueueTopicItem(topic_name=name, partitions=indexes) for name, indexes in places]
    request = KawalQueueChangesRequest(
        **{"group_id": "g", "action": action, "topics": topics or None, **values}
    )
    answer = jobs.gateway.client().call(request, 0)
    assert isinstance(answer, KawalQueueChangesResponse)
    return answer


def rows(answer: KawalQueueChangesResponse) -> list[tuple[str, int, int, int]]:
    return [
        (topic.topic_name, row.partition_index, row.error_code, row.records)
        for topic in answer.topics
        for row in topic.partitions
    ]


def busy() -> tuple[Jobs, Member, Member]:
    """Return jobs of which m1 has 0 and 1, and m2 has 2 and 3."""
    jobs = Jobs()
    first, second = jobs.member("m1"), jobs.member("m2")
    jobs.produce(b"a", b"b", b"c", b"d")
    for member in (first, second):
        member.fetch(jobs.place, max_records=2, share_acquire_mode=1)
    return jobs, first, second


def test_all_records_in_work_are_given_back_at_once() -> None:
    jobs, first, _ = busy()
    assert rows(change(jobs, RELEASE)) == [("jobs", 0, 0, 4)]
    assert outcome(first.acknowledge(jobs.place, (0, 1, [ACCEPT]))) == [ErrorCode.INVALID_RECORD_STATE]
    assert acquired(jobs.member("m3").fetch(jobs.place)) == [(0, 3, 2)]


def test_a_fetch_that_waits_gets_what_is_given_back() -> None:
    jobs, _, _ = busy()
    third = jobs.member("m3")
    third.send_fetch(jobs.place, max_wait_ms=5_000)
    jobs.gateway.settle()
    change(jobs, RELEASE)
    jobs.gateway.settle()
    (answer,) = third.client.answers()
    assert acquired(answer) == [(0, 3, 2)]


def test_the_records_of_one_member_or_one_record_are_given_back() -> None:
    jobs, _, second = busy()
    assert rows(change(jobs, RELEASE, member_id="m1")) == [("jobs", 0, 0, 2)]
    assert rows(change(jobs, RELEASE, ("jobs", [0]), offset=3)) == [("jobs", 0, 0, 1)]
    assert rows(change(jobs, RELEASE, ("jobs", [0]), offset=3)) == [("jobs", 0, 0, 0)]
    assert rows(change(jobs, RELEASE, ("jobs", [0]), offset=77)) == [("jobs", 0, 0, 0)]
    assert rows(change(jobs, RELEASE, ("jobs", [0]), member_id="m1", offset=2)) == [("jobs", 0, 0, 0)]
    assert outcome(second.acknowledge(jobs.place, (2, 2, [ACCEPT]))) == [0]
    assert acquired(jobs.member("m3").fetch(jobs.place)) == [(0, 1, 2), (3, 3, 2)]


def test_a_record_given_back_the_last_time_is_archived() -> None:
    jobs, _, _ = busy()
    configure(jobs.gateway, share_delivery_count_limit="2")
    change(jobs, RELEASE)
    assert acquired(jobs.member("m3").fetch(jobs.place)) == [(0, 3, 2)]
    assert rows(change(jobs, RELEASE)) == [("jobs", 0, 0, 4)]
    assert acquired(jobs.member("m4").fetch(jobs.place)) == []


def test_many_ranges_are_given_back_in_parts() -> None:
    jobs = Jobs()
    first, second = jobs.member("m1"), jobs.member("m2")
    for number in range(600):
        jobs.produce(b"%d" % number)
        (first, second)[number % 2].fetch(jobs.place, max_records=1, share_acquire_mode=1)
    assert rows(change(jobs, RELEASE)) == [("jobs", 0, 0, 600)]
    found = acquired(jobs.member("m3").fetch(jobs.place, max_records=600))
    assert sum(last - first + 1 for first, last, _ in found) == 600
    assert {count for *_, count in found} == {2}


def test_a_purge_finishes_all_that_is_there_and_late_words_are_ignored() -> None:
    jobs, first, _ = busy()
    jobs.produce(b"e")
    assert rows(change(jobs, PURGE)) == [("jobs", 0, 0, 5)]
    assert outcome(first.acknowledge(jobs.place, (0, 1, [ACCEPT]))) == [0]
    jobs.produce(b"f")
    assert values(jobs.member("m3").fetch(jobs.place)) == [b"f"]
    jobs.gateway.crash()
    jobs.gateway.tick()
    jobs.gateway.settle()
    assert acquired(Member(jobs.gateway, "m4", "jobs").fetch(jobs.place)) == [(5, 5, 1)]


def test_partitions_are_changed_or_refused_on_their_own() -> None:
    jobs = Jobs(partitions=2)
    jobs.member("m1")
    for index in range(2):
        jobs.produce(b"a", index=index)
    answer = change(jobs, PURGE, ("jobs", [1, 7, 1]), ("other", []))
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert rows(answer) == [("jobs", 1, 0, 1), ("jobs", 7, unknown, 0), ("other", -1, unknown, 0)]


@pytest.mark.parametrize(
    "wrong",
    [
        {"action": 9},
        {"action": PURGE, "member_id": "m1"},
        {"action": PURGE, "offset": 3},
        {"action": RELEASE, "offset": 3},
        {"action": RELEASE, "offset": -2},
        {"action": RELEASE, "offset": 3, "topics": [QueueTopicItem(topic_name="jobs", partitions=[0, 1])]},
    ],
)
def test_what_cannot_be_asked_together_is_refused(wrong: dict[str, Any]) -> None:
    jobs, _, _ = busy()
    answer = change(jobs, **wrong)
    assert (answer.error_code, answer.topics) == (ErrorCode.INVALID_REQUEST, [])
    assert answer.error_message


def test_a_group_that_does_not_exist_is_refused() -> None:
    jobs, _, _ = busy()
    assert change(jobs, RELEASE, group_id="other").error_code == ErrorCode.GROUP_ID_NOT_FOUND


def test_topics_that_may_not_be_read_stay_as_they_are() -> None:
    guarded = GuardedShares()
    Member(guarded, "m", "open", "shut", client=guarded.of(ADMIN))
    guarded.produce("open", b"a")
    guarded.produce("shut", b"a")
    denied = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    for topics in (None, [QueueTopicItem(topic_name=name, partitions=[]) for name in ("open", "shut")]):
        guarded.produce("open", b"a")
        request = KawalQueueChangesRequest(group_id="g", action=PURGE, topics=topics)
        answer = guarded.of(ALICE).call(request, 0)
        found = {topic.topic_name: topic.partitions[0] for topic in answer.topics}
        assert found["open"].records >= 1
        assert (found["shut"].error_code, found["shut"].records) == (denied, 0)


def test_a_change_that_cannot_be_stored_has_its_error() -> None:
    for action in (PURGE, RELEASE):
        jobs, first, _ = busy()
        jobs.gateway.disk.faults.append(failing("sync", errno.EIO))
        (row,) = change(jobs, action).topics[0].partitions
        assert (row.error_code, row.records) == (ErrorCode.COORDINATOR_NOT_AVAILABLE, 0)
        jobs.gateway.settle()
        assert acquired(first.fetch(jobs.place)) == []


def test_what_was_given_back_is_so_after_a_crash_with_its_deliveries() -> None:
    jobs, _, _ = busy()
    change(jobs, RELEASE, member_id="m1")
    jobs.gateway.crash()
    jobs.gateway.tick()
    jobs.gateway.settle()
    # What m2 had was never acknowledged: that its delivery is forgotten is Kafka's way.
    assert acquired(Member(jobs.gateway, "m3", "jobs").fetch(jobs.place)) == [(0, 1, 2), (2, 3, 1)]
