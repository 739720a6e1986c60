"""ShareFetch in groups with settings that only Kawal has."""

from __future__ import annotations

import pytest

from protocol.record_reader import Record
from protocol.record_writer import encode_batch
from tests.broker.handlers.test_share_fetch import Jobs
from tests.broker.kit import create, send
from tests.broker.shares import ACCEPT, REJECT, RELEASE, Member, acquired, codes, configure, outcome, values
from wal.memory_faults import Fault


def tagged(jobs: Jobs, *kinds: str) -> None:
    """Produce one batch with a record of each kind."""
    records = [
        Record(number, jobs.gateway.now_ms, None, kind.encode(), (("kind", kind.encode()),))
        for number, kind in enumerate(kinds)
    ]
    send(jobs.gateway.client(), "jobs", encode_batch(records), 0)


# --- windows ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [1, 2])
def test_a_member_has_no_more_records_than_its_window(version: int) -> None:
    jobs = Jobs(partitions=2, kawal_share_member_max_records="5")
    member = jobs.member("m1")
    other = (jobs.topic_id, 1)
    jobs.produce(*[b"a"] * 4)
    jobs.produce(*[b"b"] * 4, index=1)
    request = member.fetching(jobs.place, other)
    answer = member.client.call(request, version)
    member.session += 1
    assert sum(last - first + 1 for first, last, _ in acquired(answer)) == 5
    assert acquired(member.fetch()) == [], "the window is full"
    assert len(acquired(jobs.member("m2").fetch(jobs.place, other))) == 1, "others have windows of their own"


def test_a_window_opens_with_acknowledgements_and_wakes_the_fetch_that_waits() -> None:
    jobs = Jobs(kawal_share_member_max_records="2")
    member = jobs.member("m1")
    jobs.produce(*[b"%d" % number for number in range(5)])
    assert acquired(member.fetch(jobs.place)) == [(0, 1, 1)]
    member.send_fetch(max_wait_ms=500)
    jobs.gateway.settle()
    assert member.client.answers() == []
    with jobs.gateway.broker.coordinators.shares.step(jobs.gateway.now_ms) as machine:
        (key,) = machine.keys_of("g")
        machine.release(key, "m1", lambda _code: None, jobs.gateway.now_ms)
    jobs.gateway.settle()
    (answer,) = member.client.answers()
    assert acquired(answer) == [(0, 1, 2)]


def test_bytes_under_way_in_a_partition_are_bounded() -> None:
    jobs = Jobs(kawal_share_partition_max_in_flight_bytes="2500")
    first, second = jobs.member("m1"), jobs.member("m2")
    for _ in range(5):
        jobs.produce(b"x" * 1_000)
    got = acquired(first.fetch(jobs.place))
    assert got == [(0, 1, 1)]
    assert acquired(second.fetch(jobs.place)) == [], "whatever member asks"
    first.acknowledge(jobs.place, (0, 0, [ACCEPT]))
    assert acquired(second.fetch()) == [(2, 2, 1)]


def test_one_record_may_exceed_the_bytes() -> None:
    jobs = Jobs(kawal_share_partition_max_in_flight_bytes="100")
    member = jobs.member("m1")
    jobs.produce(b"x" * 1_000)
    jobs.produce(b"x" * 1_000)
    assert acquired(member.fetch(jobs.place)) == [(0, 0, 1)]
    assert acquired(member.fetch()) == []
    assert acquired(member.fetch(said={jobs.place: [(0, 0, [ACCEPT])]})) == [(1, 1, 1)]


# --- acceptance at delivery ---------------------------------------------------------------------------------


def test_what_is_delivered_is_accepted_and_later_acknowledgements_change_nothing() -> None:
    jobs = Jobs(kawal_share_auto_accept="true")
    member = jobs.member("m1")
    jobs.produce(b"a", b"b")
    answer = member.fetch(jobs.place)
    assert (acquired(answer), values(answer)) == ([(0, 1, 1)], [b"a", b"b"])
    assert outcome(member.acknowledge(jobs.place, (0, 1, [ACCEPT, REJECT]))) == [0]
    jobs.gateway.advance(60_000)
    assert acquired(jobs.member("m2").fetch(jobs.place)) == []


@pytest.mark.parametrize("is_stored", [False, True])
def test_a_crash_delivers_again_only_what_was_not_delivered(is_stored: bool) -> None:
    jobs = Jobs(kawal_share_auto_accept="true")
    member = jobs.member("m1")
    jobs.produce(b"a")
    member.send_fetch(jobs.place)
    if is_stored:
        jobs.gateway.settle()
    answers = member.client.answers()
    assert bool(answers) == is_stored
    jobs.gateway.crash()
    jobs.gateway.tick()
    jobs.gateway.settle()
    again = acquired(Member(jobs.gateway, "m2", "jobs").fetch(jobs.place))
    assert again == ([] if is_stored else [(0, 0, 1)])


def test_what_cannot_be_stored_is_not_delivered() -> None:
    jobs = Jobs(kawal_share_auto_accept="true")
    member = jobs.member("m1")
    jobs.produce(b"a")
    jobs.gateway.disk.faults.append(lambda call: Fault(5) if call.kind == "sync" else None)
    answer = member.fetch(jobs.place)
    jobs.gateway.disk.faults.clear()
    ((_, code, _),) = codes(answer)
    assert code != 0
    assert (acquired(answer), values(answer)) == ([], [])
    jobs.gateway.advance(60_000)
    assert acquired(jobs.member("m2").fetch(jobs.place)) == [(0, 0, 2)]


# --- filters ------------------------------------------------------------------------------------------------


def test_a_group_is_given_only_the_records_that_its_filter_chooses() -> None:
    jobs = Jobs(kawal_share_filter="kind=order|refund")
    member = jobs.member("m1")
    tagged(jobs, "order", "test", "refund", "test")
    answer = member.fetch(jobs.place)
    assert acquired(answer) == [(0, 0, 1), (2, 2, 1)]
    member.acknowledge(jobs.place, (0, 0, [ACCEPT]), (2, 2, [ACCEPT]))
    tagged(jobs, "test", "order")
    assert acquired(member.fetch()) == [(5, 5, 1)]
    configure(jobs.gateway, "all", share_auto_offset_reset="earliest")
    everything = Member(jobs.gateway, "m2", "jobs", group="all").fetch(jobs.place)
    assert len(values(everything)) == 6, "the filter is the group's own"


def test_a_fetch_that_waits_is_not_answered_for_records_that_are_left_out() -> None:
    jobs = Jobs(kawal_share_filter="kind=order")
    member = jobs.member("m1")
    member.fetch(jobs.place)
    member.send_fetch(max_wait_ms=500)
    tagged(jobs, "test")
    assert member.client.answers() == []
    tagged(jobs, "order")
    (answer,) = member.client.answers()
    assert acquired(answer) == [(1, 1, 1)]


def test_a_changed_filter_is_in_effect_for_records_given_back() -> None:
    jobs = Jobs(kawal_share_filter="kind")
    member = jobs.member("m1")
    tagged(jobs, "order", "test")
    member.fetch(jobs.place)
    configure(jobs.gateway, kawal_share_filter="kind=test")
    member.acknowledge(jobs.place, (0, 1, [RELEASE]))
    assert acquired(member.fetch()) == [(1, 1, 2)]


def test_a_record_that_few_match_is_found_in_a_long_log() -> None:
    jobs = Jobs(kawal_share_filter="kind=needle")
    member = jobs.member("m1")
    for _ in range(60):
        tagged(jobs, *["hay" * 40_000, "hay"])
    tagged(jobs, "needle")
    member.send_fetch(jobs.place, max_wait_ms=500)
    jobs.gateway.settle()
    (answer,) = member.client.answers()
    assert acquired(answer) == [(120, 120, 1)]


def test_a_filter_works_on_a_view() -> None:
    jobs = Jobs()
    view_id = create(jobs.gateway.client(), "v", kawal_sql="SELECT * FROM jobs")
    configure(jobs.gateway, "v", share_auto_offset_reset="earliest", kawal_share_filter="kind=b")
    member = Member(jobs.gateway, "m1", "v", group="v")
    tagged(jobs, "a", "b")
    assert acquired(member.fetch((view_id, 0))) == [(1, 1, 1)]


# --- other members ------------------------------------------------------------------------------------------


def test_a_released_record_goes_to_another_member_for_a_while() -> None:
    jobs = Jobs(kawal_share_avoid_last_member_ms="1000")
    first, second = jobs.member("m1"), jobs.member("m2")
    jobs.produce(b"a", b"b")
    first.fetch(jobs.place)
    second.fetch(jobs.place)
    second.send_fetch(max_wait_ms=5_000)
    first.acknowledge(jobs.place, (0, 0, [RELEASE]))
    (answer,) = second.client.answers()
    assert acquired(answer) == [(0, 0, 2)]


def test_without_another_member_the_last_one_has_it_again_after_that_time() -> None:
    jobs = Jobs(kawal_share_avoid_last_member_ms="1000")
    member = jobs.member("m1")
    jobs.produce(b"a")
    member.fetch(jobs.place)
    member.acknowledge(jobs.place, (0, 0, [RELEASE]))
    member.send_fetch(max_wait_ms=5_000)
    jobs.gateway.advance(900)
    assert member.client.answers() == []
    jobs.gateway.advance(200)
    (answer,) = member.client.answers()
    assert acquired(answer) == [(0, 0, 2)]


def test_an_expired_record_goes_to_another_member_too() -> None:
    jobs = Jobs(kawal_share_avoid_last_member_ms="60000")
    first = jobs.member("m1")
    jobs.produce(b"a")
    first.fetch(jobs.place)
    jobs.gateway.advance(31_000)
    assert acquired(first.fetch()) == []
    assert acquired(jobs.member("m2").fetch(jobs.place)) == [(0, 0, 2)]
