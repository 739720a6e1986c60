"""The errors of OffsetFetch have the form of its versions."""

from __future__ import annotations

from broker.loop.slices import at_once
from broker.requests.access_offsets import group_error, topic_errors
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
    (old,) = at_once(topic_errors([OffsetFetchRequestTopic(name="t", partition_indexes=[0, 1])], CODE))
    assert [part.error_code for part in old.partitions] == [CODE, CODE]
    encode(OffsetFetchResponse(topics=[old]), 5)
    (new,) = at_once(topic_errors([OffsetFetchRequestTopics(name="t", partition_indexes=[3])], CODE))
    assert [(part.partition_index, part.committed_offset) for part in new.partitions] == [(3, -1)]


def test_topics_without_partitions_are_refused_in_steps_as_others_are() -> None:
    topics = [OffsetFetchRequestTopics(name=f"t{number}", partition_indexes=[]) for number in range(250)]
    assert sum(1 for _ in topic_errors(topics, CODE)) == 2
    assert at_once(topic_errors([], CODE)) == []


def test_a_group_is_refused_without_topics() -> None:
    refused = group_error(OffsetFetchRequestGroup(group_id="g", topics=None), CODE)
    assert (refused.group_id, refused.topics, refused.error_code) == ("g", [], CODE)
    encode(OffsetFetchResponse(groups=[refused]), 8)
