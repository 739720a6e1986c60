"""ShareFetch over logs with transactions, with gaps, and over restarts of the server."""

from __future__ import annotations

import pytest

from broker.fetching.share_reader import BATCHES_PER_STEP
from groups.share.state_records import ShareKey
from tests.broker.compacted import SMALL, fill, pass_time, put
from tests.broker.gateway import Gateway
from tests.broker.handlers.test_share_fetch import Jobs
from tests.broker.kit import create
from tests.broker.shares import ACCEPT, REJECT, RELEASE, Member, acquired, configure, values
from tests.broker.txn import Producer


def committed_jobs() -> Jobs:
    return Jobs(share_isolation_level="read_committed")


def accepted(member: Member, jobs: Jobs, *ranges: tuple[int, int]) -> list[tuple[int, int, int]]:
    """Accept what a member has, and return what it is given then."""
    said = [(first, last, [ACCEPT]) for first, last in ranges]
    return acquired(member.fetch(said={jobs.place: said}))


def test_read_committed_waits_at_an_open_transaction() -> None:
    jobs = committed_jobs()
    member, producer = jobs.member("m1"), Producer(jobs.gateway)
    jobs.produce(b"before")
    producer.write("jobs", 0, b"open")
    jobs.produce(b"after")
    answer = member.fetch(jobs.place)
    assert (acquired(answer), values(answer)) == ([(0, 0, 1)], [b"before"])
    member.send_fetch(max_wait_ms=500)
    jobs.gateway.settle()
    assert member.client.answers() == []
    producer.commit()
    jobs.gateway.settle()
    (answer,) = member.client.answers()
    assert values(answer) == [b"open", b"after"]


def test_read_committed_archives_what_was_aborted() -> None:
    jobs = committed_jobs()
    member, producer = jobs.member("m1"), Producer(jobs.gateway)
    producer.write("jobs", 0, b"gone", b"gone too")
    jobs.produce(b"kept")
    producer.abort()
    jobs.produce(b"last")
    answer = member.fetch(jobs.place)
    assert values(answer) == [b"kept", b"last"]
    assert acquired(answer) == [(2, 2, 1), (4, 4, 1)]
    assert accepted(member, jobs, (2, 2), (4, 4)) == []
    jobs.gateway.restart()
    jobs.gateway.settle()
    jobs.produce(b"next")
    assert acquired(Member(jobs.gateway, "m2", "jobs").fetch(jobs.place)) == [(5, 5, 1)]


def test_read_uncommitted_gets_aborted_records_and_no_markers() -> None:
    jobs = Jobs()
    member, producer = jobs.member("m1"), Producer(jobs.gateway)
    producer.write("jobs", 0, b"aborted")
    producer.abort()
    producer.write("jobs", 0, b"committed")
    producer.commit()
    answer = member.fetch(jobs.place)
    assert values(answer) == [b"aborted", b"committed"]
    assert acquired(answer) == [(0, 0, 1), (2, 2, 1)]


def test_a_partition_that_ends_with_markers_leaves_nothing_to_wait_for() -> None:
    jobs = committed_jobs()
    member, producer = jobs.member("m1"), Producer(jobs.gateway)
    producer.write("jobs", 0, b"gone")
    producer.abort()
    assert acquired(member.fetch(jobs.place)) == []
    member.send_fetch(max_wait_ms=500)
    jobs.gateway.settle()
    assert member.client.answers() == []
    jobs.produce(b"kept")
    (answer,) = member.client.answers()
    assert acquired(answer) == [(2, 2, 1)]


def test_offsets_that_compaction_left_out_are_not_delivered() -> None:
    gateway = Gateway(kawal_vnodes=1)
    topic_id = create(gateway.client(), "jobs", 1, **SMALL)
    configure(gateway, share_auto_offset_reset="earliest")
    client = gateway.client()
    for number in range(5):
        put(client, "jobs", [(b"same", b"%d" % number)])
    fill(client, "jobs")
    pass_time(gateway)
    member = Member(gateway, "m1", "jobs")
    answer = member.fetch((topic_id, 0))
    found = values(answer)
    assert b"0" not in found
    assert b"4" in found
    offsets = {offset for first, last, _ in acquired(answer) for offset in range(first, last + 1)}
    assert len(offsets) >= len(found)
    said = [(first, last, [ACCEPT]) for first, last, _ in acquired(answer)]
    assert acquired(member.fetch(said={(topic_id, 0): said})) == []


def test_delivery_counts_survive_a_lost_connection_and_the_last_one_archives() -> None:
    jobs = Jobs(share_delivery_count_limit="2")
    jobs.produce(b"poison")
    for count in (1, 2):
        member = jobs.member(f"m{count}")
        assert acquired(member.fetch(jobs.place)) == [(0, 0, count)]
        member.client.close()
        jobs.gateway.settle()
    assert acquired(jobs.member("m3").fetch(jobs.place)) == []


def test_a_restart_keeps_what_was_said_and_gives_back_the_rest() -> None:
    jobs = Jobs()
    member = jobs.member("m1")
    jobs.produce(b"a", b"b", b"c", b"d")
    member.fetch(jobs.place)
    member.acknowledge(jobs.place, (0, 2, [ACCEPT, REJECT, RELEASE]))
    jobs.gateway.restart()
    jobs.gateway.settle()
    answer = Member(jobs.gateway, "m2", "jobs").fetch(jobs.place)
    assert [(first, last) for first, last, _ in acquired(answer)] in ([(2, 3)], [(2, 2), (3, 3)])


@pytest.mark.parametrize("is_stored", [False, True])
def test_a_crash_between_an_acknowledgement_and_its_answer_delivers_once_more_at_most(
    is_stored: bool,
) -> None:
    jobs = Jobs()
    member = jobs.member("m1")
    jobs.produce(b"a", b"b")
    member.fetch(jobs.place)
    request = member.fetching(said={jobs.place: [(0, 0, [ACCEPT])]})
    member.client.send_unanswered(request, 2)
    if is_stored:
        jobs.gateway.settle()
    jobs.gateway.crash()
    jobs.gateway.tick()
    jobs.gateway.settle()
    answer = Member(jobs.gateway, "m2", "jobs").fetch(jobs.place)
    found = [offset for first, last, _ in acquired(answer) for offset in range(first, last + 1)]
    assert found == ([1] if is_stored else [0, 1])


def test_a_lock_runs_from_the_turn_in_which_its_record_was_acquired() -> None:
    jobs = Jobs()
    for _ in range(BATCHES_PER_STEP * 2):
        jobs.produce(b"a")
    member = jobs.member("m1")
    began_ms = jobs.gateway.now_ms
    member.client.send(member.fetching(jobs.place), 2)
    jobs.gateway.now_ms += 700
    jobs.gateway.settle()
    with jobs.gateway.broker.coordinators.shares.step(jobs.gateway.now_ms) as machine:
        partition = machine.find(ShareKey("g", *jobs.place))
        assert partition is not None
        locks = [(len(part), part.facts.lock_until_ms - began_ms) for part in partition.ranges]
    assert locks == [(BATCHES_PER_STEP, 30_000), (BATCHES_PER_STEP, 30_700)]
