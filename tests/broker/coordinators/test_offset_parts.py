"""Requests with many partitions are cut into parts, and their answers are joined."""

from __future__ import annotations

from broker.coordinators.offset_parts import (
    PARTITIONS_AT_ONCE,
    PARTITIONS_PER_STEP,
    PartAnswers,
    parts_of,
    takes_parts,
)
from broker.loop.slices import PLAIN_ITEMS_PER_STEP, at_once
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)


def request(*counts: int) -> OffsetCommitRequest:
    topics = [
        OffsetCommitRequestTopic(
            name=f"t{number}",
            partitions=[
                OffsetCommitRequestPartition(
                    partition_index=index, committed_offset=1, committed_metadata=None
                )
                for index in range(count)
            ],
        )
        for number, count in enumerate(counts)
    ]
    return OffsetCommitRequest(group_id="g", member_id="", topics=topics)


def test_parts_have_a_few_partitions_of_one_topic_each() -> None:
    asked = request(PARTITIONS_PER_STEP + 1, 1)
    found = [(number, len(part.topics[0].partitions)) for number, part in filter(None, parts_of(asked))]
    assert found == [(0, PARTITIONS_PER_STEP), (0, 1), (1, 1)]
    assert len(asked.topics[0].partitions) == PARTITIONS_PER_STEP + 1, "the request itself is not changed"


def test_a_request_is_cut_only_if_it_is_large() -> None:
    assert not takes_parts(request(PARTITIONS_AT_ONCE - 1, 1))
    assert takes_parts(request(PARTITIONS_AT_ONCE, 1))


def test_topics_without_partitions_count_too_and_take_pauses() -> None:
    asked = request(*[0] * (2 * PLAIN_ITEMS_PER_STEP + 1))
    assert takes_parts(asked)
    assert list(parts_of(asked)) == [None, None]


def test_answers_are_joined_in_the_order_of_the_request_whenever_they_come() -> None:
    answers, resumed = PartAnswers(), list[bool]()
    first, second = answers.expect_part(0), answers.expect_part(1)
    answers.when_complete(lambda: resumed.append(True))
    for take, index in ((second, 7), (first, 3)):
        assert not resumed
        partition = OffsetCommitResponsePartition(partition_index=index)
        take(OffsetCommitResponse(topics=[OffsetCommitResponseTopic(name="", partitions=[partition])]))
    assert resumed
    topics = [OffsetCommitResponseTopic(name=name, partitions=[]) for name in "ab"]
    at_once(answers.put_into(topics))
    assert [topic.partitions[0].partition_index for topic in topics] == [3, 7]
