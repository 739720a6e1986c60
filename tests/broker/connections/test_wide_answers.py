"""Wide answers are encoded as far as there is room for their bytes, and a few at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from broker.config.config import Config
from broker.connections.connection import Connection
from broker.connections.memory_limits import MemoryLimits
from broker.connections.wide_answers import ENCODED_AT_ONCE, LOOKED_AT_MAX
from broker.loop.call import Call
from broker.loop.slices import WaitingSteps
from broker.loop.stats import Stats
from protocol.api_keys import ApiKey
from protocol.framing import BufferPool
from protocol.messages.delete_topics import DeletableTopicResult, DeleteTopicsResponse
from tests.broker.connections.links import opened
from tests.broker.gateway import take_outgoing

ANSWER_BYTES = 100_000


class Threads:
    """Work for threads: it is done when the test says so."""

    def __init__(self) -> None:
        self.waiting: list[tuple[Callable[[], object], Callable[[Exception | None], None]]] = []

    def offload(self, work: Callable[[], object], done: Callable[[Exception | None], None]) -> None:
        self.waiting.append((work, done))

    def work(self) -> int:
        """Do what there is to do; return how much it was."""
        waiting, self.waiting = self.waiting, []
        for work, done in waiting:
            work()
            done(None)
        return len(waiting)


class Clients:
    """Connections with one memory, each of which has been asked for something."""

    def __init__(self, **config: Any) -> None:
        self.memory: MemoryLimits[Connection] = MemoryLimits(
            Config(
                **{
                    "kawal_queued_max_response_bytes": 3 * ANSWER_BYTES,
                    "kawal_memory_share_per_ip": 1,
                    **config,
                }
            )
        )
        self.threads = Threads()
        self.complaints = 0
        self.memory.wide.make_room = self._complain

    def _complain(self) -> None:
        self.complaints += 1

    def ask(self, host: str = "10.0.0.1") -> tuple[Connection, Call[Any]]:
        link = Connection(
            identity=1,
            peer=f"{host}:5000",
            request_bytes_max=1 << 20,
            pool=BufferPool(),
            unsent=[],
            memory=self.memory,
            stats=Stats(),
            offload=self.threads.offload,
        )
        call = opened(link, 1)
        call.api_key, call.version, call.request = ApiKey.DELETE_TOPICS, 4, None
        return link, call

    def answer(self, host: str = "10.0.0.1") -> Connection:
        """Answer a call of a new client."""
        link, call = self.ask(host)
        part = DeletableTopicResult(name="x" * 1_000, error_code=3)
        response = DeleteTopicsResponse(responses=[part] * (ANSWER_BYTES // 1_000))
        link.answer_in_thread(call, response, self.threads.offload)
        return link


def encoded(links: list[Connection]) -> list[int]:
    """Return the numbers of those that have their answers."""
    return [number for number, link in enumerate(links) if link.outgoing]


def test_a_few_are_encoded_at_a_time() -> None:
    clients = Clients(kawal_queued_max_response_bytes=-1)
    links = [clients.answer() for _ in range(2 * ENCODED_AT_ONCE + 1)]
    assert len(clients.threads.waiting) == ENCODED_AT_ONCE
    while clients.threads.work():
        assert len(clients.threads.waiting) <= ENCODED_AT_ONCE
    assert encoded(links) == list(range(len(links)))
    assert not clients.memory.wide


def test_they_take_no_more_than_the_memory_for_answers_and_what_is_being_encoded() -> None:
    clients = Clients()
    links = [clients.answer() for _ in range(20)]
    while clients.threads.work():
        pass
    assert clients.memory.answers_bytes <= (3 + ENCODED_AT_ONCE) * (ANSWER_BYTES + 2_000)
    assert len(encoded(links)) == len(links) - len(clients.memory.wide) < 6
    assert clients.complaints > 0, "the reaper is asked to make room"


def test_they_go_on_in_their_order_as_readers_take_others() -> None:
    clients = Clients()
    links = [clients.answer() for _ in range(9)]
    order: list[int] = []
    while len(order) < len(links):
        while clients.threads.work():
            pass
        found = [number for number in encoded(links) if number not in order]
        assert found, "room was made"
        order += found
        for number in found:
            take_outgoing(links[number])
    assert order == sorted(order)


def test_an_answer_for_which_no_thread_can_be_started_does_not_keep_the_others_waiting() -> None:
    clients = Clients(kawal_queued_max_response_bytes=-1)
    offload = clients.threads.offload

    def refuse(_work: object, _done: object) -> None:
        raise RuntimeError("can't start new thread")

    for _ in range(ENCODED_AT_ONCE):
        clients.threads.offload = refuse  # type: ignore[method-assign, assignment]
        with pytest.raises(RuntimeError):
            clients.answer()
    clients.threads.offload = offload  # type: ignore[method-assign]
    link = clients.answer()
    clients.threads.work()
    assert link.outgoing


def test_an_address_with_its_share_does_not_keep_others_waiting() -> None:
    clients = Clients(kawal_queued_max_response_bytes=100 * ANSWER_BYTES, kawal_memory_share_per_ip=0.02)
    greedy = [clients.answer("10.0.0.1") for _ in range(LOOKED_AT_MAX)]
    while clients.threads.work():
        pass
    assert 0 < len(encoded(greedy)) < len(greedy)
    other = clients.answer("10.0.0.2")
    clients.threads.work()
    assert other.outgoing


def test_more_room_by_a_changed_configuration_is_used() -> None:
    clients = Clients()
    links = [clients.answer() for _ in range(9)]
    while clients.threads.work():
        pass
    assert len(encoded(links)) < 9
    clients.memory.configure(Config(kawal_queued_max_response_bytes=-1))
    while clients.threads.work():
        pass
    assert len(encoded(links)) == 9


def test_no_long_answer_is_made_while_one_waits_for_room() -> None:
    clients = Clients()
    wide = clients.memory.wide
    links = [clients.answer() for _ in range(9)]
    resumed: list[str] = []
    making = wide.made(ApiKey.LIST_GROUPS, iter_of("made"))
    waits = next(making)
    assert waits is not None
    waits.start(lambda: resumed.append("resumed"))
    while clients.threads.work() or wide:
        assert bool(resumed) == (not wide)
        for link in links:
            take_outgoing(link)
    assert resumed == ["resumed"]
    with pytest.raises(StopIteration) as end:
        next(making)
    assert end.value.value == "made"


def test_answers_of_different_apis_are_made_beside_each_other() -> None:
    wide = Clients().memory.wide
    first, second, third = (wide.made(key, iter_of("made", None)) for key in (1, 1, 2))
    assert next(first) is None
    assert next(second) is not None
    assert next(third) is None


def iter_of(result: str, *steps: None) -> WaitingSteps:
    yield from steps
    return result


@pytest.mark.parametrize("audited", [False, True])
def test_what_waits_for_a_client_that_has_left_is_freed_in_a_thread_and_not_encoded(*, audited: bool) -> None:
    clients = Clients(kawal_queued_max_response_bytes=1)
    for _ in range(ENCODED_AT_ONCE):
        clients.answer()
    link, call = clients.ask()
    if audited:
        link.stats.audit = object()  # type: ignore[assignment]
    freed: list[str] = []
    part = Watched(name="t", error_code=3)
    part.freed = freed
    link.answer_in_thread(call, DeleteTopicsResponse(responses=[part]), clients.threads.offload)
    del part
    assert len(clients.memory.wide) == 1
    link.lost()
    assert not clients.memory.wide
    assert not freed, "not on the loop"
    while clients.threads.work():
        pass
    assert freed == ["freed"]
    assert call.output == []


class Watched(DeletableTopicResult):
    """A part of an answer that notes its end."""

    __slots__ = ("freed",)

    freed: list[str]

    def __del__(self) -> None:
        self.freed.append("freed")
