"""Committing the offsets of many partitions in parts, and the answers to the parts as one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from typing import Any, Final, TypeVar

from broker.loop.slices import chunks

PARTITIONS_AT_ONCE: Final = 200
"""The partitions that are committed as one batch and in one go: about 4 ms."""

PARTITIONS_PER_STEP: Final = 40
"""The partitions of one batch when there are more: about 1 ms."""

Request = TypeVar("Request", bound=Any)


def takes_parts(request: Any) -> bool:
    """Whether a request has too many partitions for one turn."""
    return sum(len(topic.partitions) for topic in request.topics) > PARTITIONS_AT_ONCE


def parts_of(request: Request) -> Iterator[tuple[int, Request]]:
    """Yield requests with a few partitions of one topic each, and the topic's number."""
    for number, topic in enumerate(request.topics):
        for partitions in chunks(topic.partitions, per_step=PARTITIONS_PER_STEP):
            part_of_topic, part = copy(topic), copy(request)
            part_of_topic.partitions = list(partitions)
            part.topics = [part_of_topic]
            yield number, part


class PartAnswers:
    """The answers to the parts of a request; they come in any order."""

    def __init__(self) -> None:
        self._parts: list[tuple[int, list[Any]]] = []
        self._open = 0
        self._complete: Callable[[], None] | None = None

    def expect(self, number: int) -> Callable[[Any], None]:
        """Return the function that takes the answer to the next part, of the topic of this number."""
        partitions: list[Any] = []
        self._parts.append((number, partitions))
        self._open += 1

        def answered(response: Any) -> None:
            partitions.extend(response.topics[0].partitions)
            self._open -= 1
            if not self._open and self._complete is not None:
                self._complete()

        return answered

    def when_complete(self, resume: Callable[[], None]) -> None:
        """Call `resume` when every part is answered."""
        self._complete = resume
        if not self._open:
            resume()

    def put_into(self, topics: list[Any]) -> None:
        """Put the answers into the topics of the whole answer, in the order of the request."""
        for number, partitions in self._parts:
            topics[number].partitions.extend(partitions)
