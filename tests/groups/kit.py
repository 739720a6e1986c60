"""Small parts of the driver of these tests: topics, and answers that are given once."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from uuid import UUID

from groups.offload import Work, WorkDone, run_here
from protocol.error_codes import ErrorCode
from protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatResponse

T = TypeVar("T")


@dataclass
class Topic:
    """A topic."""

    name: str
    topic_id: UUID
    partition_count: int
    recorded: bool = True


class Topics:
    """All topics."""

    def __init__(self) -> None:
        self.by_name: dict[str, Topic] = {}
        self.by_id: dict[UUID, Topic] = {}
        self._next = 1

    def create(self, name: str, partitions: int) -> Topic:
        topic = Topic(name, UUID(int=self._next << 64 | 1), partitions)
        self._next += 1
        self.by_name[name] = self.by_id[topic.topic_id] = topic
        return topic

    def delete(self, name: str) -> None:
        del self.by_id[self.by_name.pop(name).topic_id]


class Threads:
    """The threads of the server: they do their work at once, unless `hold` is set."""

    def __init__(self) -> None:
        self.hold = False
        self._work: deque[tuple[Work, WorkDone]] = deque()

    def offload(self, work: Work, done: WorkDone) -> None:
        self._work.append((work, done))
        if not self.hold:
            self.do_work()

    def do_work(self) -> None:
        """Do what is held; its outcome is seen when time passes."""
        while self._work:
            run_here(*self._work.popleft())


class Answer(Generic[T]):
    """The place of an answer to come; giving it twice is an error."""

    def __init__(self) -> None:
        self._given: list[T] = []

    def __call__(self, response: T) -> None:
        assert not self._given, f"answered twice: {self._given[0]} and {response}"
        self._given.append(response)

    @property
    def waits(self) -> bool:
        return not self._given

    @property
    def value(self) -> T:
        assert self._given, "not answered yet"
        return self._given[0]

    @property
    def error(self) -> ErrorCode:
        code: Any = self.value
        return ErrorCode(code.error_code)


def topics_given(answer: Answer[ConsumerGroupHeartbeatResponse]) -> dict[UUID, list[int]]:
    """Return the partitions that a heartbeat gave, by topic id."""
    found = answer.value.assignment
    assert found is not None, "the heartbeat left the assignment as it was"
    return {topic.topic_id: topic.partitions for topic in found.topic_partitions}


def given(answer: Answer[ConsumerGroupHeartbeatResponse]) -> list[int] | None:
    """Return the partitions that a heartbeat gave, of all topics; None if it left them as they were."""
    found = answer.value.assignment
    if found is None:
        return None
    return sorted(index for topic in found.topic_partitions for index in topic.partitions)


def in_one_go(steps: Generator[None, None, T]) -> T:
    """Return the answer that steps make."""
    try:
        while True:
            next(steps)
    except StopIteration as end:
        answer: T = end.value
        return answer


def answered_at_once(
    method: Callable[..., object], request: Any, client: Any, reply: Any, now_ms: int
) -> None:
    """Call a method that begins an answer in steps, and give all of it to `reply`."""

    def begin(steps: Generator[None, None, Any]) -> None:
        reply(in_one_go(steps))

    method(request, client, begin, now_ms)
