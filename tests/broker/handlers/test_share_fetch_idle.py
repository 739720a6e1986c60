"""ShareFetch in groups that take over the records of members that sit idle (kawal.share.steal.idle.ms)."""

from __future__ import annotations

from protocol.error_codes import ErrorCode
from tests.broker.handlers.test_share_fetch import Jobs
from tests.broker.shares import ACCEPT, RELEASE, RENEW, Member, acquired, outcome


class Idle(Jobs):
    """Jobs of which a member has three, and another one that asks."""

    def __init__(self, steal_ms: int = 5_000, **settings: str) -> None:
        super().__init__(1, kawal_share_steal_idle_ms=f"{steal_ms}", **settings)
        self.first, self.second = self.member("m1"), self.member("m2")
        self.second.fetch(self.place)
        self.produce(b"a", b"b", b"c")
        assert acquired(self.first.fetch(self.place)) == [(0, 2, 1)]

    def answers_after(
        self, duration_ms: int, member: Member | None = None
    ) -> list[list[tuple[int, int, int]]]:
        self.gateway.settle()
        self.gateway.advance(duration_ms)
        return [acquired(answer) for answer in (member or self.second).client.answers()]

    def counts(self) -> dict[str, int]:
        with self.gateway.broker.coordinators.shares.step(self.gateway.now_ms) as machine:
            return machine.counts_of("g").as_dict()


def test_records_of_an_idle_member_go_to_one_that_waits_and_its_late_word_is_refused() -> None:
    jobs = Idle()
    jobs.second.send_fetch(max_wait_ms=20_000)
    assert jobs.answers_after(4_999) == []
    assert jobs.answers_after(1) == [[(0, 2, 2)]]
    late = jobs.first.acknowledge(jobs.place, (0, 2, [ACCEPT]))
    assert outcome(late) == [ErrorCode.INVALID_RECORD_STATE]
    assert outcome(jobs.second.acknowledge(jobs.place, (0, 2, [ACCEPT]))) == [0]
    assert jobs.counts()["taken_over"] == 3


def test_a_fetch_that_comes_later_has_them_as_soon_as_that_is_durable() -> None:
    jobs = Idle()
    jobs.gateway.advance(5_000)
    jobs.second.send_fetch(max_wait_ms=100)
    assert jobs.answers_after(0) == [[(0, 2, 2)]]


def test_no_more_is_taken_than_is_asked_for() -> None:
    jobs = Idle()
    jobs.gateway.advance(5_000)
    jobs.second.send_fetch(max_wait_ms=100, max_records=2)
    assert jobs.answers_after(0) == [[(0, 1, 2)]]
    assert outcome(jobs.first.acknowledge(jobs.place, (2, 2, [ACCEPT]))) == [0]


def test_a_member_that_renews_or_fetches_keeps_what_it_has() -> None:
    jobs = Idle()
    jobs.second.send_fetch(max_wait_ms=12_000)
    assert jobs.answers_after(3_000) == []
    assert outcome(jobs.first.acknowledge(jobs.place, (0, 2, [RENEW]), renews=True)) == [0]
    assert jobs.answers_after(4_000) == []
    jobs.first.fetch()
    assert jobs.answers_after(4_000) == []
    assert jobs.answers_after(1_000) == [[]], "the fetch itself is over"


def test_a_member_whose_fetch_waits_is_not_idle_and_is_from_its_answer_on() -> None:
    jobs = Idle()
    jobs.first.send_fetch(max_wait_ms=10_000)
    jobs.second.send_fetch(max_wait_ms=14_000)
    assert jobs.answers_after(10_000, jobs.first) == [[]]
    assert jobs.answers_after(4_000) == [[]]
    jobs.second.send_fetch(max_wait_ms=14_000)
    assert jobs.answers_after(999) == []
    assert jobs.answers_after(1) == [[(0, 2, 2)]]


def test_nothing_is_taken_while_something_else_is_available() -> None:
    jobs = Idle()
    jobs.gateway.advance(6_000)
    jobs.produce(b"d")
    jobs.second.send_fetch(max_wait_ms=100)
    assert jobs.answers_after(0) == [[(3, 3, 1)]]
    assert outcome(jobs.first.acknowledge(jobs.place, (0, 2, [ACCEPT]))) == [0]


def test_a_member_with_a_full_window_takes_nothing_over() -> None:
    jobs = Idle(kawal_share_member_max_records="3")
    jobs.produce(b"d", b"e", b"f")
    assert acquired(jobs.second.fetch()) == [(3, 5, 1)]
    jobs.second.send_fetch(max_wait_ms=8_000)
    assert jobs.answers_after(8_000) == [[]]
    assert outcome(jobs.first.acknowledge(jobs.place, (0, 2, [ACCEPT]))) == [0]


def test_the_delivery_counts_and_the_last_one_ends_the_record() -> None:
    jobs = Idle(share_delivery_count_limit="2")
    jobs.gateway.advance(5_000)
    jobs.second.send_fetch(max_wait_ms=100, max_records=1)
    assert jobs.answers_after(0) == [[(0, 0, 2)]]
    jobs.gateway.advance(5_000)
    third = jobs.member("m3")
    third.fetch(jobs.place)
    third.send_fetch(max_wait_ms=100, max_records=1)
    # The second delivery of the first record was its last: it is finished, and another one comes instead.
    assert jobs.answers_after(0, third) == [[(1, 1, 2)]]
    assert (jobs.counts()["taken_over"], jobs.counts()["archived"]) == (3, 1)


def test_without_the_setting_only_the_end_of_the_lock_gives_records_back() -> None:
    jobs = Idle(steal_ms=0)
    jobs.second.send_fetch(max_wait_ms=29_000)
    assert jobs.answers_after(29_000) == [[]]
    jobs.second.send_fetch(max_wait_ms=29_000)
    assert jobs.answers_after(1_000) == [[(0, 2, 2)]]


def test_records_that_are_given_up_are_not_counted_among_those_taken_over() -> None:
    jobs = Idle(share_delivery_count_limit="2")
    jobs.first.acknowledge(jobs.place, (0, 0, [RELEASE]))
    # The first of three is on its last try now.
    assert acquired(jobs.first.fetch()) == [(0, 0, 2)]
    jobs.gateway.advance(5_000)
    jobs.second.send_fetch(max_wait_ms=100, max_records=1)
    assert jobs.answers_after(0) == [[(1, 1, 2)]]
