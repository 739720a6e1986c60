"""A share fetch and all that comes in its pauses: nothing wakes it for that, so it looks again.

Each test lets two things happen one after the other, after every number of pauses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest

from protocol.record_reader import Record
from protocol.record_writer import encode_batch
from tests.broker.handlers.test_share_fetch import Jobs
from tests.broker.kit import producing
from tests.broker.shares import ACCEPT, acquired, configuring

MOMENTS: Final = [(first, second) for first in range(4) for second in range(12)]


class Paused:
    """A fetch between its start and the moment at which it waits, and a client that settles nothing."""

    def __init__(self, jobs: Jobs) -> None:
        self.gateway = jobs.gateway
        self._client = jobs.gateway.client()

    def send(self, request: Any, version: int) -> None:
        """Have a request durable; what that is for the fetch comes later."""
        self._client.send(request, version)
        self.write()

    def write(self) -> None:
        while self.gateway.run_jobs():
            pass

    def produce(self, index: int, *tags: tuple[str, bytes]) -> None:
        record = Record(0, self.gateway.now_ms, None, b"x", tags)
        self.send(producing(("jobs", index, encode_batch([record]))), 9)

    def pauses(self, count: int) -> None:
        for _ in range(count):
            self.gateway.broker.scheduler.run()


@pytest.mark.parametrize(("first", "second"), MOMENTS)
def test_records_that_come_in_pauses_of_one_look_after_another_are_found(first: int, second: int) -> None:
    jobs = Jobs(kawal_share_filter="kind")
    member, paused = jobs.member("m1"), Paused(jobs)
    jobs.produce(b"left out")
    member.send_fetch(jobs.place, max_wait_ms=100_000)
    paused.pauses(first)
    paused.produce(0)
    paused.pauses(second)
    paused.produce(0, ("kind", b""))
    jobs.gateway.settle()
    assert [acquired(answer) for answer in member.client.answers()] == [[(2, 2, 1)]]


def accepts(paused: Paused, holder: Any, place: Any) -> None:
    holder.send_fetch(said={place: [(1, 1, [ACCEPT])]}, max_records=0)
    paused.write()


def raises_the_limit(paused: Paused, _holder: Any, _place: Any) -> None:
    paused.send(configuring(kawal_share_partition_max_in_flight_bytes="1000"), 1)


def ways() -> Iterator[tuple[Callable[..., None], bool]]:
    for change in (accepts, raises_the_limit):
        for is_first in (False, True):
            yield change, is_first


@pytest.mark.parametrize(("change", "is_first"), list(ways()))
def test_room_for_bytes_that_comes_in_a_pause_is_found(change: Callable[..., None], is_first: bool) -> None:
    for first, second in MOMENTS:
        jobs = Jobs(2, kawal_share_partition_max_in_flight_bytes="300", kawal_share_filter="!test")
        holder, member, paused = jobs.member("m1"), jobs.member("m2"), Paused(jobs)
        other = (jobs.topic_id, 1)
        jobs.produce(*[bytes(100)] * 3)
        assert acquired(holder.fetch(jobs.place, max_records=2, share_acquire_mode=1)) == [(0, 1, 1)]
        paused.produce(1, ("test", b""))
        places = [jobs.place, other] if is_first else [other, jobs.place]
        member.send_fetch(*places, max_wait_ms=100_000)
        paused.pauses(first)
        paused.produce(1, ("test", b""))
        paused.pauses(second)
        change(paused, holder, jobs.place)
        jobs.gateway.settle()
        assert [acquired(answer) for answer in member.client.answers()] == [[(2, 2, 1)]], (first, second)
