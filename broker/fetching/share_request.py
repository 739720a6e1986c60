"""Going through what a share fetch names, and what it is answered, a slice at a time.

A request may name 190,000 partitions, or as many topics without any. Each function here is a generator that
yields after a few hundred of them.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping
from typing import Any, Final
from uuid import UUID

from broker.fetching.share_places import Place
from broker.fetching.share_reader import blank
from broker.loop.slices import PLAIN_ITEMS_PER_STEP, Steps
from groups.errors import GroupError
from protocol.error_codes import ErrorCode
from protocol.messages.share_fetch import (
    PartitionData,
    ShareFetchableTopicResponse,
    ShareFetchRequest,
    ShareFetchResponse,
)

PLACES_PER_STEP: Final = 100
"""The partitions looked up between two looks at the time, in about 0.3 ms."""


def named(topics: Iterable[Any]) -> Iterator[tuple[UUID, Any] | None]:
    """Yield each partition of a request with its topic, and None for each topic: it takes time, too."""
    for topic in topics:
        yield None
        for partition in topic.partitions:
            yield topic.topic_id, partition


def acknowledging(topics: Iterable[Any]) -> Generator[None, None, bool]:
    """Return whether a request has acknowledgements."""
    for number, asked in enumerate(named(topics), start=1):
        if asked is not None and asked[1].acknowledgement_batches:
            return True
        if not number % PLAIN_ITEMS_PER_STEP:
            yield
    return False


def freed(request: ShareFetchRequest) -> Steps:
    """Free what a request names, which is not needed any more."""
    for topics in (request.topics, request.forgotten_topics_data):
        for topic in topics:
            while topic.partitions:
                del topic.partitions[-PLAIN_ITEMS_PER_STEP:]
                yield
        while topics:
            del topics[-PLAIN_ITEMS_PER_STEP:]
            yield


def has_errors(data: Mapping[Place, PartitionData]) -> Generator[None, None, bool]:
    """Return whether any partition of an answer has an error."""
    for number, found in enumerate(data.values(), start=1):
        if found.error_code:
            return True
        if not number % PLAIN_ITEMS_PER_STEP:
            yield
    return False


def response_of(
    data: dict[Place, PartitionData],
    acknowledged: Mapping[Place, tuple[ErrorCode, str | None]],
    *,
    lock_ms: int,
) -> Generator[None, None, ShareFetchResponse]:
    """Return the response with these partitions, and with the outcomes of their acknowledgements."""
    for number, (place, (code, message)) in enumerate(acknowledged.items(), start=1):
        found = data.setdefault(place, blank(place[1]))
        found.acknowledge_error_code, found.acknowledge_error_message = code, message
        if not number % PLAIN_ITEMS_PER_STEP:
            yield
    topics: dict[UUID, ShareFetchableTopicResponse] = {}
    for number, ((topic_id, _), found) in enumerate(data.items(), start=1):
        topic = topics.get(topic_id)
        if topic is None:
            topic = topics[topic_id] = ShareFetchableTopicResponse(topic_id=topic_id, partitions=[])
        topic.partitions.append(found)
        if not number % PLAIN_ITEMS_PER_STEP:
            yield
    return ShareFetchResponse(
        error_code=ErrorCode.NONE,
        acquisition_lock_timeout_ms=lock_ms,
        responses=list(topics.values()),
        node_endpoints=[],
    )


def refused(error: GroupError) -> ShareFetchResponse:
    """Return the answer to a fetch that is refused as a whole."""
    return ShareFetchResponse(
        error_code=error.code,
        error_message=error.message,
        acquisition_lock_timeout_ms=0,
        responses=[],
        node_endpoints=[],
    )
