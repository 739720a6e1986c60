"""The door to the brokers: connections that are kept, work in threads, and its end."""

from __future__ import annotations

import threading
from typing import Any

import pytest
import trio

from console.admin import all_topics
from console.errors import CommandError
from console.link import LinkLost
from console.outgoing import NotAllowed, rules
from console.security import PLAIN
from console.web.kafka_door import KEPT_MAX, KafkaDoor
from console.web.search_bounds import Bounds
from console.web.search_job import Job
from console.wire import NotKawal
from protocol.messages.delete_topics import DeleteTopicsRequest
from protocol.messages.kawal_groups import KawalGroupsRequest
from protocol.messages.metadata import MetadataRequest

METADATA = MetadataRequest(topics=None, allow_auto_topic_creation=False)
DELETION = DeleteTopicsRequest(topic_names=["t"], timeout_ms=1000)


class FakeLink:
    """A link whose answers a test chooses."""

    in_flight = 0

    def __init__(self, address: str, answer: Any = "answer") -> None:
        self.address = address
        self.answer = answer
        self.closed = False
        self.asked = threading.Event()
        self.aborted = threading.Event()

    def call(self, request: Any, version: int) -> Any:
        over = rules()
        assert over is not None
        from console.exchange import api_of

        over.check(api_of(request), request)
        if self.answer == "wait":
            self.asked.set()
            self.aborted.wait(60)
            raise LinkLost("lost")
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.aborted.set()


class Brokers:
    """Links by the order in which they are made."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.links: list[FakeLink] = []

    def connect(self, address: str) -> Any:
        answer = self.answers.pop(0) if self.answers else "answer"
        if answer == "away":
            raise LinkLost(f"cannot reach {address}")
        self.links.append(FakeLink(address, answer))
        return self.links[-1]


def run(brokers: Brokers, work: Any, **options: Any) -> Any:
    async def main() -> Any:
        door = KafkaDoor("one:1,two:2", connect=brokers.connect, **options)
        return await work(door.enter())

    return trio.run(main)


def test_a_connection_is_used_again() -> None:
    brokers = Brokers()

    async def work(kafka: Any) -> None:
        assert await kafka.send(METADATA, 12) == "answer"
        assert await kafka.send(METADATA, 12) == "answer"

    run(brokers, work)
    assert [link.address for link in brokers.links] == ["one:1"]


def test_a_change_gets_a_connection_that_is_new_and_is_not_sent_twice() -> None:
    brokers = Brokers("answer", LinkLost("lost"))

    async def work(kafka: Any) -> None:
        await kafka.send(METADATA, 12)
        with pytest.raises(LinkLost):
            await kafka.send(DELETION, 4)

    run(brokers, work)
    assert len(brokers.links) == 2


def test_the_next_address_is_tried_when_one_is_away() -> None:
    brokers = Brokers("away")

    async def work(kafka: Any) -> None:
        await kafka.send(METADATA, 12)

    run(brokers, work)
    assert [link.address for link in brokers.links] == ["two:2"]


def test_a_node_that_is_alone_is_reached_where_it_is_whatever_it_calls_itself() -> None:
    brokers = Brokers()

    async def work(kafka: Any) -> None:
        await kafka.send(METADATA, 12, "kafka.example:9092")

    run(brokers, work, alone=True)
    assert brokers.links[0].address == "one:1,two:2"


def test_helpers_run_in_a_thread_under_the_rules() -> None:
    brokers = Brokers()

    async def work(kafka: Any) -> None:
        with pytest.raises(AttributeError, match="topics"):
            await kafka.run(all_topics, kafka.bootstrap)  # the fake's answer is no Metadata

    run(brokers, work)
    assert brokers.links[0].address == "one:1"


def test_nothing_that_changes_leaves_while_read_only() -> None:
    async def work(kafka: Any) -> None:
        with pytest.raises(NotAllowed, match="read-only: a request 'delete topics'"):
            await kafka.send(DELETION, 4)

    run(Brokers(), work, read_only=True)


def test_a_broker_that_hangs_up_on_a_request_of_ours_is_not_kawal() -> None:
    lost = LinkLost("lost")
    lost.__cause__ = ConnectionResetError()

    async def work(kafka: Any) -> None:
        with pytest.raises(NotKawal, match="does not know the request 'kawal groups'"):
            await kafka.send(KawalGroupsRequest(group_ids=None), 0)

    run(Brokers(lost), work)


def test_work_that_is_cancelled_has_its_connections_ended() -> None:
    brokers = Brokers("wait")

    async def work(kafka: Any) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(kafka.send, METADATA, 12)
            while not brokers.links:
                await trio.lowlevel.checkpoint()
            await trio.to_thread.run_sync(brokers.links[0].asked.wait, 60)
            nursery.cancel_scope.cancel()

    run(brokers, work)
    assert brokers.links[0].aborted.is_set()


def test_work_that_goes_on_after_its_page_sends_nothing_more() -> None:
    seen: list[Exception] = []
    begun, left, ended = threading.Event(), threading.Event(), threading.Event()

    def long_work() -> None:
        begun.set()
        left.wait(60)
        try:
            over = rules()
            assert over is not None
            over.connect("one:1")
        except CommandError as error:
            seen.append(error)
        ended.set()

    async def work(kafka: Any) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(kafka.run, long_work)
            await trio.to_thread.run_sync(begun.wait, 60)
            nursery.cancel_scope.cancel()
        left.set()
        await trio.to_thread.run_sync(ended.wait, 60)

    run(Brokers(), work)
    assert "has been left" in str(seen[0])


def test_few_connections_are_kept_and_none_of_an_identity_that_has_left() -> None:
    brokers = Brokers()

    async def work(kafka: Any) -> None:
        links: list[Any] = [FakeLink("one:1") for _ in range(KEPT_MAX + 1)]
        for link in links:
            kafka.keep("one:1", link)
        assert [link.closed for link in links] == [False] * KEPT_MAX + [True]
        kafka.close()
        late: Any = FakeLink("one:1")
        kafka.keep("one:1", late)
        assert all(link.closed for link in (*links, late))

    run(brokers, work)


def test_a_search_is_a_job_with_the_way_of_its_identity() -> None:
    jobs: list[Job] = []

    def search(job: Job) -> str:
        jobs.append(job)
        return "found"

    async def main() -> str:
        door = KafkaDoor("one:1", read_only=True, alone=True, search=search)
        kafka = door.enter(PLAIN._replace(user="alice"))
        return await kafka.search(str, "one:1", bounds=bounds)

    bounds = Bounds()
    assert trio.run(main) == "found"
    (job,) = jobs
    assert (job.work, job.args, job.bounds) == (str, ("one:1",), bounds)
    assert (job.way.bootstrap, job.way.security.user) == ("one:1", "alice")
    assert (job.way.read_only, job.way.alone) == (True, True)


def test_without_processes_a_search_is_work_under_the_rules_of_its_page() -> None:
    def work(address: str, bounds: Bounds) -> tuple[str, bool]:
        over = rules()
        assert over is not None
        return over.connect(address).address, bounds.left

    async def searched(kafka: Any) -> Any:
        return await kafka.search(work, "one:1", bounds=Bounds())

    assert run(Brokers(), searched) == ("one:1", False)
