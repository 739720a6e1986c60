"""The errors of OffsetFetch for what a client may not see, in each of its two forms."""

from __future__ import annotations

from typing import Any

from protocol.error_codes import ErrorCode
from protocol.messages import offset_fetch as fetch


def topic_error(topic: Any, code: ErrorCode) -> Any:
    """Return the answer that refuses every partition of a topic of a request."""
    if isinstance(topic, fetch.OffsetFetchRequestTopic):
        return fetch.OffsetFetchResponseTopic(
            name=topic.name,
            partitions=[
                fetch.OffsetFetchResponsePartition(
                    partition_index=index, committed_offset=-1, metadata="", error_code=code
                )
                for index in topic.partition_indexes
            ],
        )
    return fetch.OffsetFetchResponseTopics(
        name=topic.name,
        topic_id=topic.topic_id,
        partitions=[
            fetch.OffsetFetchResponsePartitions(
                partition_index=index, committed_offset=-1, metadata="", error_code=code
            )
            for index in topic.partition_indexes
        ],
    )


def group_error(group: fetch.OffsetFetchRequestGroup, code: ErrorCode) -> fetch.OffsetFetchResponseGroup:
    """Return the answer that refuses a group of a request."""
    return fetch.OffsetFetchResponseGroup(group_id=group.group_id, topics=[], error_code=code)
