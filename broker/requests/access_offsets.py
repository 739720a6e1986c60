"""The errors of OffsetFetch for what a client may not see, in each of its two forms."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from functools import partial
from typing import Any

from broker.requests.passage import refused_parts_of
from protocol.error_codes import ErrorCode
from protocol.messages import offset_fetch as fetch


def topic_errors(topics: Sequence[Any], code: ErrorCode) -> Generator[None, None, list[Any]]:
    """Return the answers that refuse every partition of topics of a request."""
    if topics and isinstance(topics[0], fetch.OffsetFetchRequestTopic):
        return refused_parts_of(topics, _partitions_of, partial(_part_of_one, code), _topic_of_one)
    return refused_parts_of(topics, _partitions_of, partial(_part, code), _topic)


def _partitions_of(topic: Any) -> list[int]:
    return topic.partition_indexes  # type: ignore[no-any-return]


def _part_of_one(code: ErrorCode, index: int) -> fetch.OffsetFetchResponsePartition:
    return fetch.OffsetFetchResponsePartition(
        partition_index=index, committed_offset=-1, metadata="", error_code=code
    )


def _topic_of_one(topic: Any, parts: list[Any]) -> fetch.OffsetFetchResponseTopic:
    return fetch.OffsetFetchResponseTopic(name=topic.name, partitions=parts)


def _part(code: ErrorCode, index: int) -> fetch.OffsetFetchResponsePartitions:
    return fetch.OffsetFetchResponsePartitions(
        partition_index=index, committed_offset=-1, metadata="", error_code=code
    )


def _topic(topic: Any, parts: list[Any]) -> fetch.OffsetFetchResponseTopics:
    return fetch.OffsetFetchResponseTopics(name=topic.name, topic_id=topic.topic_id, partitions=parts)


def group_error(group: fetch.OffsetFetchRequestGroup, code: ErrorCode) -> fetch.OffsetFetchResponseGroup:
    """Return the answer that refuses a group of a request."""
    return fetch.OffsetFetchResponseGroup(group_id=group.group_id, topics=[], error_code=code)
