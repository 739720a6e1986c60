"""Reading for share fetches: transactions, views, compaction, limits."""

from __future__ import annotations

from broker.fetching.pieces import PIECE_BYTES
from tests.broker.handlers.test_share_fetch import Jobs
from tests.broker.kit import create
from tests.broker.shares import ACCEPT, Member, acquired, configure, values


def test_a_view_is_read_as_any_topic_and_leaves_gaps() -> None:
    jobs = Jobs()
    create(jobs.gateway.client(), "odd", -1, kawal_sql="SELECT _offset FROM jobs WHERE _offset % 2 = 1")
    for _ in range(5):
        jobs.produce(b"x")
    configure(jobs.gateway, "v", share_auto_offset_reset="earliest")
    member = Member(jobs.gateway, "m1", "odd", group="v")
    topic_id = jobs.gateway.broker.find_topic("odd").topic_id
    assert acquired(member.fetch((topic_id, 0))) == [(1, 1, 1), (3, 3, 1)]
    member.acknowledge((topic_id, 0), (1, 1, [ACCEPT]), (3, 3, [ACCEPT]))
    member.send_fetch(max_wait_ms=1_000)
    jobs.produce(b"x")
    jobs.gateway.advance(300)
    (answer,) = member.client.answers()
    assert acquired(answer) == [(5, 5, 1)]


def test_a_batch_larger_than_a_piece_and_than_the_request_is_read_whole() -> None:
    jobs = Jobs()
    member = jobs.member("m1")
    large = b"x" * (PIECE_BYTES * 3)
    jobs.produce(large)
    assert values(member.fetch(jobs.place, max_bytes=1_000)) == [large]


def test_an_answer_has_no_more_bytes_than_it_may() -> None:
    jobs = Jobs()
    member = jobs.member("m1")
    for _ in range(10):
        jobs.produce(b"x" * 1_000)
    answer = member.fetch(jobs.place, max_bytes=5_000)
    assert len(values(answer)) == 4
    assert acquired(answer) == [(0, 3, 1)]


def test_records_on_their_last_try_go_out_alone() -> None:
    jobs = Jobs(share_delivery_count_limit="3")
    member = jobs.member("m1")
    jobs.produce(b"a", b"b", b"c", b"d")
    counts: list[list[tuple[int, int, int]]] = []
    for _ in range(3):
        found = acquired(member.fetch(*((jobs.place,) if not counts else ())))
        counts.append(found)
        member.acknowledge(jobs.place, *((first, last, [2]) for first, last, _ in found))
    assert counts[0] == [(0, 3, 1)]
    assert counts[1] == [(0, 3, 2)]
    assert counts[2] == [(0, 0, 3)]
