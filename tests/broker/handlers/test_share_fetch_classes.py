"""ShareFetch in groups with classes of records: larger ones are given out first."""

from __future__ import annotations

import pytest

from protocol.record_reader import Record
from protocol.record_writer import encode_batch
from tests.broker.handlers.test_share_fetch import Jobs
from tests.broker.handlers.test_share_fetch_timing import put
from tests.broker.kit import producing
from tests.broker.shares import ACCEPT, RELEASE, Member, acquired, configure, values
from tests.broker.topic_requests import altered
from tests.broker.txn import Producer


def classed(**settings: str) -> Jobs:
    jobs = Jobs()
    configure(jobs.gateway, kawal_share_priority_classes="3", **settings)
    return jobs


def classes(jobs: Jobs, *numbers: int) -> None:
    """Produce one batch with a record of each class."""
    put(jobs, *({"kawal_priority": number} if number else {} for number in numbers))


def one(jobs: Jobs, member: Member, count: int = 1) -> list[tuple[int, int, int]]:
    answer = member.fetch(jobs.place, max_records=count, share_acquire_mode=1)
    return acquired(answer)


def test_larger_classes_are_given_out_first() -> None:
    jobs = classed()
    member = jobs.member("m1")
    classes(jobs, 0, 1, 0, 2, 1)
    got = [one(jobs, member)[0][0] for _ in range(5)]
    assert got == [3, 1, 4, 0, 2]
    assert one(jobs, member) == []


def test_a_class_that_comes_later_overtakes_what_waits() -> None:
    jobs = classed()
    member = jobs.member("m1")
    classes(jobs, 0, 0, 0)
    assert one(jobs, member) == [(0, 0, 1)]
    classes(jobs, 2)
    assert one(jobs, member) == [(3, 3, 1)]


def test_one_answer_has_its_records_in_order_and_each_batch_once() -> None:
    jobs = classed()
    member = jobs.member("m1")
    classes(jobs, 0, 2)
    classes(jobs, 1, 0)
    answer = member.fetch(jobs.place, max_records=3, share_acquire_mode=1)
    assert acquired(answer) == [(0, 0, 1), (1, 1, 1), (2, 2, 1)]
    assert values(answer) == [b"0", b"1", b"0", b"1"], "both batches, once"


@pytest.mark.parametrize("text", [7, 2])
def test_numbers_above_the_largest_class_are_in_it(text: int) -> None:
    jobs = classed()
    member = jobs.member("m1")
    classes(jobs, 1, text)
    assert one(jobs, member) == [(1, 1, 1)]


def test_a_released_record_keeps_its_class() -> None:
    jobs = classed()
    member = jobs.member("m1")
    classes(jobs, 0, 2, 1)
    assert one(jobs, member) == [(1, 1, 1)]
    member.acknowledge(jobs.place, (1, 1, [RELEASE]))
    assert one(jobs, member) == [(1, 1, 2)]


def test_classes_filters_delays_and_windows_go_together() -> None:
    jobs = classed(
        kawal_share_filter="!skip", kawal_share_timing_enable="true", kawal_share_member_max_records="2"
    )
    member = jobs.member("m1")
    put(
        jobs,
        {},
        {"kawal_priority": 1, "kawal_delay_ms": 5_000},
        {"kawal_priority": 2, "skip": 1},
        {"kawal_priority": 1},
        {},
    )
    assert acquired(member.fetch(jobs.place)) == [(0, 0, 1), (3, 3, 1)]
    assert acquired(member.fetch()) == [], "two at a time"
    jobs.gateway.advance(5_000)
    again = member.fetch(said={jobs.place: [(0, 0, [ACCEPT])]}, max_records=1, share_acquire_mode=1)
    assert acquired(again) == [(1, 1, 1)]
    assert acquired(member.fetch(said={jobs.place: [(1, 1, [ACCEPT])]})) == [(4, 4, 1)]


def test_records_of_a_larger_class_that_were_aborted_do_not_hide_the_others() -> None:
    jobs = classed()
    producer = Producer(jobs.gateway)
    aborted = encode_batch(
        [Record(0, jobs.gateway.now_ms, None, b"", (("kawal-priority", b"1"),))],
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        base_sequence=0,
        transactional=True,
    )
    request = producing(("jobs", 0, aborted))
    request.transactional_id = producer.name
    producer.client.call(request, producer.produce_version)
    producer.abort()
    classes(jobs, 2, 0)
    assert one(jobs, jobs.member("m1")) == [(2, 2, 1)]
    configure(jobs.gateway, share_isolation_level="read_committed")
    assert one(jobs, jobs.member("m2")) == [(3, 3, 1)]


def first_of_three(jobs: Jobs, *headers: dict[str, int]) -> Member:
    """Return a member that was given the first of three records, so that the others are known."""
    put(jobs, {"kawal_priority": 2}, *headers)
    member = jobs.member("m1")
    assert one(jobs, member) == [(0, 0, 1)]
    return member


def test_a_record_that_expires_while_its_class_waits_is_not_delivered() -> None:
    jobs = classed(kawal_share_timing_enable="true")
    expires_ms = jobs.gateway.now_ms + 5_000
    member = first_of_three(jobs, {"kawal_priority": 1, "kawal_expires_at": expires_ms}, {})
    jobs.gateway.advance(5_000)
    assert one(jobs, member) == [(2, 2, 1)]


def test_a_filter_that_is_set_while_classes_wait_leaves_records_out() -> None:
    jobs = classed()
    member = first_of_three(jobs, {"kawal_priority": 1, "kind": 7}, {})
    configure(jobs.gateway, kawal_share_filter="!kind")
    assert one(jobs, member) == [(2, 2, 1)]


def test_a_record_that_is_deleted_while_its_class_waits_is_not_delivered() -> None:
    jobs = classed()
    member = first_of_three(jobs, {"kawal_priority": 1}, {})
    assert altered(jobs.gateway.client(), "jobs", "kawal.share.deleted", "0:1") == (0, "")
    assert one(jobs, member) == [(2, 2, 1)]


def test_a_released_record_of_a_class_is_still_kept_from_its_last_member() -> None:
    jobs = classed(kawal_share_timing_enable="true", kawal_share_avoid_last_member_ms="60000")
    first = first_of_three(jobs, {"kawal_priority": 1}, {})
    assert one(jobs, first) == [(1, 1, 1)]
    first.acknowledge(jobs.place, (1, 1, [RELEASE]))
    assert one(jobs, first) == [(2, 2, 1)]
    assert one(jobs, jobs.member("m2")) == [(1, 1, 2)]


def test_without_classes_the_order_is_that_of_the_log() -> None:
    jobs = Jobs()
    member = jobs.member("m1")
    classes(jobs, 0, 2)
    assert one(jobs, member) == [(0, 0, 1)]


def test_a_restart_goes_on_with_what_is_left() -> None:
    jobs = classed()
    member = jobs.member("m1")
    classes(jobs, 0, 2, 1)
    one(jobs, member)
    member.acknowledge(jobs.place, (1, 1, [ACCEPT]))
    jobs.gateway.crash()
    jobs.gateway.tick()
    jobs.gateway.settle()
    again = jobs.member("m2")
    assert sorted(one(jobs, again)[0][0] for _ in range(2)) == [0, 2]
    assert one(jobs, again) == []
