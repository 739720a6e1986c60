"""Committing the offsets of many partitions in parts, and the answers to the parts as one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from typing import Any, Final, TypeVar

from broker.loop.answers import Awaited
from broker.loop.slices import PLAIN_ITEMS_PER_STEP, Steps, chunks, emptied, size_of

PARTITIONS_AT_ONCE: Final = 200
"""The topics and partitions that are committed as one batch and in one go: about 4 ms."""

PARTITIONS_PER_STEP: Final = 40
"""The partitions of one batch when there are more: about 1 ms."""

Request = TypeVar("Request", bound=Any)


def takes_parts(request: Any) -> bool:
    """Whether a request has too many topics and partitions for one turn."""
    count = size_of(request.topics, lambda topic: topic.partitions, enough=PARTITIONS_AT_ONCE)
    return count > PARTITIONS_AT_ONCE


def parts_of(request: Request) -> Iterator[tuple[int, Request] | None]:
    """Yield requests with a few partitions of one topic each, and the topic's number.

    Now and then it yields None, as topics may have no partitions: a moment for others.
    """
    for number, topic in enumerate(request.topics):
        if number and not number % PLAIN_ITEMS_PER_STEP:
            yield None
        for partitions in chunks(topic.partitions, per_step=PARTITIONS_PER_STEP):
            part_of_topic, part = copy(topic), copy(request)
            part_of_topic.partitions = list(partitions)
            part.topics = [part_of_topic]
            yield number, part


class PartAnswers(Awaited):
    """The answers to the parts of a request; they come in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.error_code = 0
        """The first error of a part as a whole."""
        self._parts: list[tuple[int, list[Any]]] = []

    def expect_part(self, number: int) -> Callable[[Any], None]:
        """Return the function that takes the answer to the next part, of the topic of this number."""
        partitions: list[Any] = []
        self._parts.append((number, partitions))

        def take(response: Any) -> None:
            if response.topics:
                partitions.extend(response.topics[0].partitions)
            else:
                self.error_code = self.error_code or response.error_code

        return self.expect(take)

    def put_into(self, topics: list[Any]) -> Steps:
        """Put the answers into the topics of the whole answer, in the order of the request."""
        for place, (number, partitions) in enumerate(self._parts):
            topics[number].partitions.extend(partitions)
            if place and not place % PLAIN_ITEMS_PER_STEP:
                yield
        yield from emptied(self._parts)
