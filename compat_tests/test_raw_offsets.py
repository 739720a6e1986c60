"""ListOffsets and OffsetForLeaderEpoch on the wire."""

from __future__ import annotations

from typing import Any

import pytest

from compat_tests.batches import Batch
from compat_tests.conftest import MakeTopic
from compat_tests.requests import list_offset, produce
from compat_tests.times import START_MS
from compat_tests.wire import RawClient
from protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)

LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING = -1, -2, -3, -4, -5, -6
UNKNOWN_TOPIC, UNSUPPORTED_VERSION, FENCED_EPOCH, UNKNOWN_EPOCH = 3, 35, 74, 75


def filled(raw: RawClient, topic: str) -> None:
    """Produce two batches: offsets 0-2 at +5, +2, +9 ms and 3-4 at +3, +9 ms."""
    produce(raw, topic, Batch(values=[b"v"] * 3, timestamp_deltas=[5, 2, 9]))
    produce(raw, topic, Batch(values=[b"v"] * 2, timestamp_deltas=[3, 9]))


def found(raw: RawClient, topic: str, timestamp: int, *, version: int = 11) -> tuple[int, int, int]:
    part = list_offset(raw, topic, timestamp, version=version)
    return part.error_code, part.offset, part.timestamp


@pytest.mark.parametrize("version", range(1, 12))
def test_every_version_knows_the_ends_and_times(raw: RawClient, make_topic: MakeTopic, version: int) -> None:
    topic = make_topic()
    filled(raw, topic)
    assert found(raw, topic, LATEST, version=version) == (0, 5, -1)
    assert found(raw, topic, EARLIEST, version=version) == (0, 0, -1)
    assert found(raw, topic, START_MS + 6, version=version) == (0, 2, START_MS + 9)
    assert found(raw, topic, START_MS + 10, version=version) == (0, -1, -1)


def test_the_first_record_at_or_after_a_time_is_found(raw: RawClient, make_topic: MakeTopic) -> None:
    topic = make_topic()
    filled(raw, topic)
    expected = {0: (0, 5), START_MS: (0, 5), START_MS + 5: (0, 5), START_MS + 6: (2, 9), START_MS + 9: (2, 9)}
    for asked, (offset, after_ms) in expected.items():
        assert found(raw, topic, asked) == (0, offset, START_MS + after_ms), asked - START_MS


@pytest.mark.parametrize(
    ("timestamp", "since", "answer"),
    [
        (MAX_TIMESTAMP, 7, (0, 2, START_MS + 9)),
        (EARLIEST_LOCAL, 8, (0, 0, -1)),
        (LATEST_TIERED, 9, (0, -1, -1)),
        (EARLIEST_PENDING, 11, (0, -1, -1)),
    ],
)
def test_special_timestamps_are_refused_in_versions_before_theirs(
    raw: RawClient, make_topic: MakeTopic, timestamp: int, since: int, answer: tuple[int, int, int]
) -> None:
    topic = make_topic()
    filled(raw, topic)
    assert found(raw, topic, timestamp, version=since) == answer
    assert found(raw, topic, timestamp, version=11) == answer
    error_code, offset, _ = found(raw, topic, timestamp, version=since - 1)
    assert (error_code, offset) == (UNSUPPORTED_VERSION, -1)


def test_an_empty_partition_has_ends_and_nothing_else(raw: RawClient, make_topic: MakeTopic) -> None:
    topic = make_topic()
    assert found(raw, topic, LATEST) == (0, 0, -1)
    assert found(raw, topic, EARLIEST) == (0, 0, -1)
    assert found(raw, topic, START_MS) == (0, -1, -1)
    assert found(raw, topic, MAX_TIMESTAMP) == (0, -1, -1)


def test_leader_epochs_are_answered_and_checked(raw: RawClient, make_topic: MakeTopic) -> None:
    topic = make_topic()
    filled(raw, topic)
    assert list_offset(raw, topic, LATEST).leader_epoch == 0
    assert list_offset(raw, topic, LATEST, current_leader_epoch=0).error_code == 0
    assert list_offset(raw, topic, LATEST, current_leader_epoch=3).error_code == UNKNOWN_EPOCH


def test_unknown_topics_and_partitions_have_their_own_answers(raw: RawClient, make_topic: MakeTopic) -> None:
    topic = make_topic()
    asked = [ListOffsetsPartition(partition_index=i, timestamp=LATEST) for i in (0, 1, -1)]
    topics = [
        ListOffsetsTopic(name=topic, partitions=asked),
        ListOffsetsTopic(name=f"{topic}-unknown", partitions=asked[:1]),
    ]
    answer = raw.call(ListOffsetsRequest(replica_id=-1, topics=topics), 7)
    codes = {
        (topic.name, part.partition_index): part.error_code
        for topic in answer.topics
        for part in topic.partitions
    }
    assert codes == {
        (topic, 0): 0,
        (topic, 1): UNKNOWN_TOPIC,
        (topic, -1): UNKNOWN_TOPIC,
        (f"{topic}-unknown", 0): UNKNOWN_TOPIC,
    }


def epoch_end(raw: RawClient, topic: str, epoch: int, *, version: int = 4, **fields: Any) -> Any:
    asked = OffsetForLeaderPartition(partition=0, leader_epoch=epoch, **fields)
    topics = [OffsetForLeaderTopic(topic=topic, partitions=[asked])]
    request = OffsetForLeaderEpochRequest(replica_id=-1, topics=topics)
    return raw.call(request, version).topics[0].partitions[0]


@pytest.mark.parametrize("version", [2, 3, 4])
def test_the_end_of_the_only_epoch_is_the_end_of_the_log(
    raw: RawClient, make_topic: MakeTopic, version: int
) -> None:
    topic = make_topic()
    filled(raw, topic)
    part = epoch_end(raw, topic, 0, version=version)
    assert (part.error_code, part.leader_epoch, part.end_offset) == (0, 0, 5)


def test_epochs_that_never_were_have_no_end(raw: RawClient, make_topic: MakeTopic) -> None:
    topic = make_topic()
    filled(raw, topic)
    future = epoch_end(raw, topic, 7)
    assert (future.error_code, future.leader_epoch, future.end_offset) == (0, -1, -1)
    assert epoch_end(raw, topic, 0, current_leader_epoch=5).error_code == UNKNOWN_EPOCH
    assert epoch_end(raw, f"{topic}-unknown", 0).error_code == UNKNOWN_TOPIC
