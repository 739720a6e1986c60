"""ShareFetch: acquiring, acknowledging, waiting, sessions."""

from __future__ import annotations

from uuid import UUID

import pytest

from protocol.compression import Codec
from protocol.error_codes import ErrorCode
from tests.broker.gateway import Gateway
from tests.broker.kit import batch, create, send
from tests.broker.shares import (
    ACCEPT,
    REJECT,
    RELEASE,
    RENEW,
    Member,
    acquired,
    codes,
    configure,
    outcome,
    values,
)

Place = tuple[UUID, int]


class Jobs:
    """A broker with a topic `jobs`, and members that read it from the start."""

    def __init__(self, partitions: int = 1, **settings: str) -> None:
        self.gateway = Gateway(kawal_vnodes=1)
        self.topic_id = create(self.gateway.client(), "jobs", partitions)
        configure(self.gateway, share_auto_offset_reset="earliest", **settings)
        self.place: Place = (self.topic_id, 0)

    def produce(self, *records: bytes, index: int = 0) -> None:
        send(self.gateway.client(), "jobs", batch(*records), index)

    def member(self, name: str) -> Member:
        return Member(self.gateway, name, "jobs")


def test_records_are_acquired_by_one_member_and_not_by_the_next() -> None:
    jobs = Jobs()
    first, second = jobs.member("m1"), jobs.member("m2")
    jobs.produce(b"a", b"b", b"c")
    answer = first.fetch(jobs.place)
    assert acquired(answer) == [(0, 2, 1)]
    assert values(answer) == [b"a", b"b", b"c"]
    assert answer.acquisition_lock_timeout_ms == 30_000
    answer = second.fetch(jobs.place)
    assert codes(answer) == [(0, 0, 0)]
    assert acquired(answer) == []


def test_only_batches_with_acquired_records_are_returned() -> None:
    jobs = Jobs()
    first, second = jobs.member("m1"), jobs.member("m2")
    for value in (b"a", b"b", b"c", b"d"):
        jobs.produce(value)
    first.fetch(jobs.place)
    first.acknowledge(jobs.place, (0, 3, [RELEASE, ACCEPT, ACCEPT, RELEASE]))
    answer = second.fetch(jobs.place)
    assert acquired(answer) == [(0, 0, 2), (3, 3, 2)]
    assert values(answer) == [b"a", b"d"]


def test_what_was_accepted_with_a_fetch_is_not_delivered_again_after_a_crash() -> None:
    jobs = Jobs()
    member = jobs.member("m1")
    jobs.produce(b"a", b"b")
    member.fetch(jobs.place)
    answer = member.fetch(said={jobs.place: [(0, 0, [ACCEPT])]})
    assert codes(answer) == [(0, 0, 0)]
    jobs.gateway.crash()
    jobs.gateway.tick()
    jobs.gateway.settle()
    answer = Member(jobs.gateway, "m2", "jobs").fetch(jobs.place)
    assert acquired(answer) == [(1, 1, 1)]


def test_a_fetch_waits_until_there_are_records() -> None:
    jobs = Jobs()
    member = jobs.member("m1")
    member.send_fetch(jobs.place, max_wait_ms=500)
    jobs.gateway.settle()
    assert member.client.answers() == []
    jobs.produce(b"a")
    (answer,) = member.client.answers()
    assert values(answer) == [b"a"]


def test_a_fetch_waits_until_records_are_given_back_and_no_longer_than_it_said() -> None:
    jobs = Jobs()
    first, second = jobs.member("m1"), jobs.member("m2")
    jobs.produce(b"a")
    first.fetch(jobs.place)
    second.send_fetch(jobs.place, max_wait_ms=500)
    jobs.gateway.settle()
    first.acknowledge(jobs.place, (0, 0, [RELEASE]))
    jobs.gateway.settle()
    (answer,) = second.client.answers()
    assert acquired(answer) == [(0, 0, 2)]
    first.send_fetch(jobs.place, max_wait_ms=500)
    jobs.gateway.advance(499)
    assert first.client.answers() == []
    jobs.gateway.advance(1)
    (answer,) = first.client.answers()
    assert acquired(answer) == []


def test_an_append_wakes_as_many_members_as_it_has_records_for() -> None:
    jobs = Jobs()
    members = [jobs.member(f"m{number}") for number in range(5)]
    for member in members:
        member.send_fetch(jobs.place, max_wait_ms=500)
    jobs.gateway.settle()
    jobs.produce(b"a")
    assert sorted(len(member.client.answers()) for member in members) == [0, 0, 0, 0, 1]


def test_a_fetch_waits_for_the_bytes_that_it_wants() -> None:
    jobs = Jobs()
    member = jobs.member("m1")
    member.send_fetch(jobs.place, max_wait_ms=500, min_bytes=100)
    jobs.produce(b"a")
    assert member.client.answers() == []
    jobs.produce(b"b")
    (answer,) = member.client.answers()
    assert acquired(answer) == [(0, 1, 1)]


def test_a_lost_connection_gives_records_back_and_the_delivery_counts() -> None:
    jobs = Jobs()
    first, second = jobs.member("m1"), jobs.member("m2")
    jobs.produce(b"a")
    first.fetch(jobs.place)
    second.send_fetch(jobs.place, max_wait_ms=500)
    jobs.gateway.settle()
    jobs.gateway.broker.disconnect(first.client.connection)
    jobs.gateway.settle()
    (answer,) = second.client.answers()
    assert acquired(answer) == [(0, 0, 2)]


def test_a_lock_that_runs_out_gives_records_back() -> None:
    jobs = Jobs()
    first, second = jobs.member("m1"), jobs.member("m2")
    jobs.produce(b"a")
    first.fetch(jobs.place)
    second.send_fetch(jobs.place, max_wait_ms=40_000)
    jobs.gateway.advance(30_001)
    (answer,) = second.client.answers()
    assert acquired(answer) == [(0, 0, 2)]


def test_an_exact_limit_cuts_a_batch_and_a_soft_one_does_not() -> None:
    jobs = Jobs()
    member = jobs.member("m1")
    jobs.produce(b"a", b"b", b"c")
    jobs.produce(b"d", b"e")
    assert acquired(member.fetch(jobs.place, max_records=2, share_acquire_mode=1)) == [(0, 1, 1)]
    assert acquired(member.fetch(max_records=2)) == [(2, 4, 1)]
    assert outcome(member.acknowledge(jobs.place, (0, 0, [ACCEPT]))) == [0]


def test_control_batches_and_compressed_ones_are_taken_whole() -> None:
    jobs = Jobs()
    member = jobs.member("m1")
    send(jobs.gateway.client(), "jobs", batch(b"a", b"b", codec=Codec.GZIP), 0)
    answer = member.fetch(jobs.place)
    assert acquired(answer) == [(0, 1, 1)]
    assert values(answer) == [b"a", b"b"]


def test_every_request_begins_with_another_partition() -> None:
    jobs = Jobs(partitions=3)
    member = jobs.member("m1")
    places = [(jobs.topic_id, index) for index in range(3)]
    for index in range(3):
        for _ in range(3):
            jobs.produce(b"a", index=index)
    member.fetch(*places, max_records=1)
    seen = {next(code[0] for code in codes(member.fetch(max_records=1))) for _ in range(3)}
    assert seen == {0, 1, 2}


def test_reading_in_pieces_finds_every_record() -> None:
    jobs = Jobs()
    member = jobs.member("m1")
    for _ in range(400):
        jobs.produce(b"x" * 500)
    answer = member.fetch(jobs.place, max_records=400)
    assert sum(last - first + 1 for first, last, _ in acquired(answer)) == 400
    assert len(values(answer)) == 400


def test_a_session_has_its_epochs() -> None:
    jobs = Jobs()
    member = jobs.member("m1")
    assert member.fetch(jobs.place, epoch=3).error_code == ErrorCode.SHARE_SESSION_NOT_FOUND
    assert member.fetch(jobs.place).error_code == 0
    assert member.fetch(epoch=7).error_code == ErrorCode.INVALID_SHARE_SESSION_EPOCH
    said = {jobs.place: [(0, 0, [ACCEPT])]}
    assert member.fetch(said=said, epoch=0).error_code == ErrorCode.INVALID_REQUEST


def test_closing_a_session_acknowledges_and_gives_back_the_rest() -> None:
    jobs = Jobs()
    first, second = jobs.member("m1"), jobs.member("m2")
    jobs.produce(b"a", b"b")
    first.fetch(jobs.place)
    answer = first.fetch(said={jobs.place: [(0, 0, [ACCEPT])]}, epoch=-1)
    assert codes(answer) == [(0, 0, 0)]
    assert acquired(second.fetch(jobs.place)) == [(1, 1, 2)]


def test_errors_are_those_of_partitions() -> None:
    jobs = Jobs()
    member = jobs.member("m1")
    stranger = (UUID(int=5), 0)
    answer = member.fetch((jobs.topic_id, 9), stranger)
    assert codes(answer) == [
        (9, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 0),
        (0, ErrorCode.UNKNOWN_TOPIC_ID, 0),
    ]


@pytest.mark.parametrize(
    ("first", "last", "types", "code"),
    [
        (0, 0, [9], ErrorCode.INVALID_REQUEST),
        (1, 0, [ACCEPT], ErrorCode.INVALID_REQUEST),
        (0, 1, [ACCEPT] * 3, ErrorCode.INVALID_REQUEST),
        (0, 5, [ACCEPT], ErrorCode.INVALID_REQUEST),
        (0, 0, [RENEW], ErrorCode.INVALID_REQUEST),
    ],
)
def test_a_wrong_acknowledgement_is_refused(first: int, last: int, types: list[int], code: int) -> None:
    jobs = Jobs()
    member = jobs.member("m1")
    jobs.produce(b"a", b"b")
    member.fetch(jobs.place)
    assert codes(member.fetch(said={jobs.place: [(first, last, types)]})) == [(0, 0, code)]


def test_ranges_from_minus_1_on_are_those_before_the_start_and_acknowledge_the_rest() -> None:
    jobs = Jobs()
    member = jobs.member("m1")
    jobs.produce(b"a", b"b")
    member.fetch(jobs.place)
    assert codes(member.fetch(said={jobs.place: [(-1, 0, [RELEASE, ACCEPT])]})) == [(0, 0, 0)]
    assert outcome(member.acknowledge(jobs.place, (1, 1, [ACCEPT]))) == [0]
    assert acquired(member.fetch()) == []


@pytest.mark.parametrize("mode", [-1, 2, 127])
def test_an_unknown_acquire_mode_is_an_invalid_request(mode: int) -> None:
    jobs = Jobs()
    member = jobs.member("m1")
    late = member.fetch(epoch=7, share_acquire_mode=mode)
    assert late.error_code == ErrorCode.SHARE_SESSION_NOT_FOUND, "as in Kafka, sessions come first"
    assert member.fetch(jobs.place, share_acquire_mode=mode).error_code == ErrorCode.INVALID_REQUEST
    member.session = 1
    assert member.fetch(share_acquire_mode=1).error_code == 0


def test_a_partition_that_is_named_twice_is_answered_once() -> None:
    jobs = Jobs()
    member = jobs.member("m1")
    jobs.produce(b"a")
    request = member.fetching(jobs.place)
    request.topics *= 2
    assert codes(member.client.call(request, 2)) == [(0, 0, 0)]


def test_a_renewal_restarts_the_lock_and_fetches_nothing() -> None:
    jobs = Jobs()
    member = jobs.member("m1")
    jobs.produce(b"a")
    member.fetch(jobs.place)
    jobs.gateway.advance(20_000)
    said = {jobs.place: [(0, 0, [RENEW])]}
    nothing = {"max_bytes": 0, "min_bytes": 0, "max_records": 0}
    assert codes(member.fetch(said=said, is_renew_ack=True, **nothing)) == [(0, 0, 0)]
    jobs.gateway.advance(20_000)
    assert codes(member.fetch(said={jobs.place: [(0, 0, [ACCEPT])]})) == [(0, 0, 0)]
    assert member.fetch(said=said, is_renew_ack=True).error_code == ErrorCode.INVALID_REQUEST


def test_a_renewal_in_one_partition_may_name_others_and_add_them_to_the_session() -> None:
    jobs = Jobs(2)
    member, other = jobs.member("m1"), (jobs.topic_id, 1)
    jobs.produce(b"a")
    member.fetch(jobs.place)
    nothing = {"max_bytes": 0, "min_bytes": 0, "max_records": 0}
    said = {jobs.place: [(0, 0, [RENEW])]}
    assert member.fetch(other, said=said, is_renew_ack=True, **nothing).error_code == 0
    jobs.produce(b"b", index=1)
    assert acquired(member.fetch()) == [(0, 0, 1)]


def test_many_alternating_acknowledgements_are_applied() -> None:
    jobs = Jobs()
    member = jobs.member("m1")
    jobs.produce(*[b"x"] * 1_000)
    member.fetch(jobs.place, max_records=1_000)
    said = {jobs.place: [(0, 999, [ACCEPT, REJECT] * 500)]}
    assert codes(member.fetch(said=said)) == [(0, 0, 0)]
    assert acquired(member.fetch()) == []


def test_a_member_that_has_no_group_gets_its_error() -> None:
    jobs = Jobs()
    member = Member(jobs.gateway, "m1")
    assert codes(member.fetch(jobs.place)) == [(0, ErrorCode.GROUP_ID_NOT_FOUND, 0)]
