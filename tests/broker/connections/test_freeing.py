"""Wide messages are freed part by part, and nothing that others refer to is changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from broker.connections.freeing import FREED_BYTES_MIN, free
from protocol.api_keys import ApiKey
from protocol.messages.delete_topics import DeletableTopicResult, DeleteTopicsResponse
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from tests.broker.connections.links import ANSWER, connection, opened
from tests.broker.wide_requests import Threads


def request(*topics: FetchTopic) -> FetchRequest:
    return FetchRequest(max_wait_ms=0, min_bytes=0, topics=list(topics))


def topic(partitions: int) -> FetchTopic:
    made = [
        FetchPartition(partition=number, fetch_offset=0, partition_max_bytes=1)
        for number in range(partitions)
    ]
    return FetchTopic(topic="t", partitions=made)


def test_all_parts_are_given_up() -> None:
    messages: list[Any] = [request(topic(3), topic(0)), None, "text", request()]
    free(messages)
    assert messages == []


def test_what_others_refer_to_stays_as_it_is() -> None:
    kept = topic(2)
    free([request(kept, topic(2))])
    assert [part.partition for part in kept.partitions] == [0, 1]


@pytest.mark.parametrize("extra_bytes", [0, FREED_BYTES_MIN + 1])
def test_a_thread_frees_a_wide_request_when_it_is_answered_and_no_narrow_one(extra_bytes: int) -> None:
    link = connection()
    threads: list[Callable[[], object]] = []
    link.offload = lambda work, _done: threads.append(work)
    call = opened(link, 1)
    call.request = request(topic(3))
    link.weigh(call, call.weight_bytes + extra_bytes)
    link.answer(call, ANSWER)
    assert call.request is None
    assert len(threads) == bool(extra_bytes)
    for work in threads:
        work()


class Watched(DeletableTopicResult):
    """A part of an answer that notes when it is freed."""

    __slots__ = ("freed",)

    freed: list[str]

    def __del__(self) -> None:
        self.freed.append("freed")


class Looking:
    """The auditor of a server, as far as answers are shown to it."""

    def __init__(self, events: list[str]) -> None:
        self.events = events

    def failed(self, _call: Any, response: Any) -> None:
        self.events.append(f"looked at {len(response.responses)}")


@pytest.mark.parametrize("leaves", [False, True])
def test_a_thread_frees_a_wide_answer_when_an_audited_server_has_looked_at_it(leaves: bool) -> None:
    link = connection()
    events: list[str] = []
    auditor: Any = Looking(events)
    link.stats.audit = auditor
    threads = Threads()
    call = opened(link, 1)
    call.api_key, call.version, call.request = ApiKey.DELETE_TOPICS, 4, None
    part = Watched(name="t", error_code=3)
    part.freed = events
    link.answer_in_thread(call, DeleteTopicsResponse(responses=[part]), threads.offload)
    del part
    (encoded,) = threads.take()
    if leaves:
        link.lost()
    encoded()
    assert events == ([] if leaves else ["looked at 1"])
    threads.take()
    assert events[-1] == "freed"
