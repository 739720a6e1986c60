"""The errors of OffsetFetch have the form of its versions."""

from __future__ import annotations

from broker.requests.access_offsets import group_error, topic_error
from protocol.error_codes import ErrorCode
from protocol.messages.offset_fetch import (
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)
from protocol.wire import encode

CODE = ErrorCode.TOPIC_AUTHORIZATION_FAILED


def test_each_partition_of_a_topic_is_refused() -> None:
    old = topic_error(OffsetFetchRequestTopic(name="t", partition_indexes=[0, 1]), CODE)
    assert [part.error_code for part in old.partitions] == [CODE, CODE]
    encode(OffsetFetchResponse(topics=[old]), 5)
    new = topic_error(OffsetFetchRequestTopics(name="t", partition_indexes=[3]), CODE)
    assert [(part.partition_index, part.committed_offset) for part in new.partitions] == [(3, -1)]


def test_a_group_is_refused_without_topics() -> None:
    refused = group_error(OffsetFetchRequestGroup(group_id="g", topics=None), CODE)
    assert (refused.group_id, refused.topics, refused.error_code) == ("g", [], CODE)
    encode(OffsetFetchResponse(groups=[refused]), 8)
