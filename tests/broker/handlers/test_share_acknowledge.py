"""ShareAcknowledge: outcomes of records without fetching more."""

from __future__ import annotations

from uuid import UUID

from protocol.error_codes import ErrorCode
from tests.broker.handlers.test_share_fetch import Jobs
from tests.broker.shares import ACCEPT, RELEASE, RENEW, acquired, codes, configure, outcome


def test_acknowledgements_are_answered_when_durable_with_the_duration_of_locks() -> None:
    jobs = Jobs(share_record_lock_duration_ms="20000")
    member = jobs.member("m1")
    jobs.produce(b"a", b"b")
    member.fetch(jobs.place)
    answer = member.acknowledge(jobs.place, (0, 0, [ACCEPT]), (1, 1, [RELEASE]))
    assert (outcome(answer), answer.acquisition_lock_timeout_ms) == ([0], 20_000)
    assert acquired(member.fetch()) == [(1, 1, 2)]


def test_only_what_the_member_has_can_be_acknowledged() -> None:
    jobs = Jobs()
    first, second = jobs.member("m1"), jobs.member("m2")
    jobs.produce(b"a")
    first.fetch(jobs.place)
    second.fetch(jobs.place)
    answer = second.acknowledge(jobs.place, (0, 0, [ACCEPT]))
    assert outcome(answer) == [ErrorCode.INVALID_RECORD_STATE]
    assert outcome(first.acknowledge(jobs.place, (0, 0, [ACCEPT]))) == [0]


def test_an_unknown_topic_is_told_before_faults_of_form_and_those_before_an_unknown_partition() -> None:
    jobs = Jobs()
    member = jobs.member("m1")
    member.fetch(jobs.place)
    stranger = UUID(int=5), 0
    assert outcome(member.acknowledge(stranger, (5, 0, [ACCEPT]))) == [ErrorCode.UNKNOWN_TOPIC_ID]
    assert outcome(member.acknowledge((jobs.topic_id, 9), (5, 0, [ACCEPT]))) == [ErrorCode.INVALID_REQUEST]
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert outcome(member.acknowledge((jobs.topic_id, 9), (0, 0, [ACCEPT]))) == [unknown]


def test_it_does_not_open_a_session() -> None:
    jobs = Jobs()
    member = jobs.member("m1")
    answer = member.acknowledge(jobs.place, (0, 0, [ACCEPT]), epoch=0)
    assert answer.error_code == ErrorCode.INVALID_SHARE_SESSION_EPOCH
    answer = member.acknowledge(jobs.place, (0, 0, [ACCEPT]), epoch=1)
    assert answer.error_code == ErrorCode.SHARE_SESSION_NOT_FOUND


def test_closing_the_session_gives_back_the_rest() -> None:
    jobs = Jobs()
    first, second = jobs.member("m1"), jobs.member("m2")
    jobs.produce(b"a", b"b")
    first.fetch(jobs.place)
    assert outcome(first.acknowledge(jobs.place, (0, 0, [ACCEPT]), epoch=-1)) == [0]
    assert acquired(second.fetch(jobs.place)) == [(1, 1, 2)]
    assert first.acknowledge(jobs.place, epoch=1).error_code == ErrorCode.SHARE_SESSION_NOT_FOUND


def test_locks_are_renewed_only_where_the_group_allows_it() -> None:
    jobs = Jobs()
    member = jobs.member("m1")
    jobs.produce(b"a")
    member.fetch(jobs.place)
    assert outcome(member.acknowledge(jobs.place, (0, 0, [RENEW]), renews=True)) == [0]
    configure(jobs.gateway, share_renew_acknowledge_enable="false")
    answer = member.acknowledge(jobs.place, (0, 0, [RENEW]), renews=True)
    assert outcome(answer) == [ErrorCode.INVALID_RECORD_STATE]


def test_of_a_partition_that_is_named_twice_the_last_acknowledgements_count() -> None:
    jobs = Jobs()
    member = jobs.member("m1")
    jobs.produce(b"a", b"b")
    member.fetch(jobs.place)
    request = member.fetching(said={jobs.place: [(0, 1, [ACCEPT])]})
    request.topics += member.fetching(said={jobs.place: [(1, 1, [RELEASE])]}).topics
    assert codes(member.client.call(request, 2)) == [(0, 0, 0)]
    member.session += 1
    assert outcome(member.acknowledge(jobs.place, (0, 0, [ACCEPT]))) == [0], "the first were not applied"
    assert acquired(member.fetch()) == [(1, 1, 2)]


def test_a_long_acknowledgement_is_applied_in_parts() -> None:
    jobs = Jobs()
    member = jobs.member("m1")
    jobs.produce(*[b"x"] * 500)
    member.fetch(jobs.place)
    answer = member.acknowledge(jobs.place, (0, 499, [ACCEPT, RELEASE] * 250))
    assert outcome(answer) == [0]
    assert len(acquired(member.fetch())) == 250
