"""Share groups over raw requests: sessions that end, and offsets that are set and deleted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest

from compat_tests.broker import Broker
from compat_tests.confluent import make_producer, produce
from compat_tests.conftest import MakeTopic
from compat_tests.error_cases.groups import NOT_READY
from compat_tests.test_share_groups import configure
from compat_tests.waiting import eventually
from compat_tests.wire import RawClient, raw_client
from protocol.error_codes import ErrorCode
from protocol.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from protocol.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
)
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from protocol.messages.share_fetch import FetchPartition, FetchTopic, ShareFetchRequest, ShareFetchResponse
from protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest

MEMBER = "3d8a2c1e-0000-4000-8000-000000000002"


@pytest.fixture(scope="module")
def broker(group_broker: Broker) -> Broker:
    return group_broker


class Session:
    """A member with a connection, and the epoch of its share session."""

    def __init__(self, raw: RawClient, group: str, topic: str) -> None:
        self.raw = raw
        self.group = group
        request = MetadataRequest(topics=[MetadataRequestTopic(name=topic)])
        self.topic_id: UUID = raw.call(request, 12).topics[0].topic_id
        self.epoch = 0
        raw.call(FindCoordinatorRequest(key=group, key_type=0), 1)
        eventually(lambda: self._joined(topic), waiting_for="the assignment")

    def _joined(self, topic: str) -> bool:
        request = ShareGroupHeartbeatRequest(
            group_id=self.group, member_id=MEMBER, member_epoch=0, subscribed_topic_names=[topic]
        )
        answer = self.raw.call(request, 1)
        return bool(answer.assignment and answer.assignment.topic_partitions)

    def fetch(self, epoch: int | None = None) -> ShareFetchResponse:
        place = FetchPartition(partition_index=0, acknowledgement_batches=[])
        opens = epoch is None and self.epoch == 0
        request = ShareFetchRequest(
            group_id=self.group,
            member_id=MEMBER,
            share_session_epoch=self.epoch if epoch is None else epoch,
            max_wait_ms=500,
            min_bytes=1,
            max_bytes=1 << 20,
            max_records=100,
            batch_size=100,
            topics=[FetchTopic(topic_id=self.topic_id, partitions=[place])] if opens else [],
            forgotten_topics_data=[],
        )
        answer: ShareFetchResponse = self.raw.call(request, 1)
        assert answer.error_code == 0, answer
        self.epoch = 0 if epoch == -1 else self.epoch + 1
        return answer

    def acquired(self) -> list[tuple[int, int, int]]:
        """Fetch until records come."""
        return eventually(
            lambda: [
                (part.first_offset, part.last_offset, part.delivery_count)
                for topic in self.fetch().responses
                for data in topic.partitions
                for part in data.acquired_records
            ],
            waiting_for="records",
            within_seconds=40,  # before the locks end
        )


def altered(raw: RawClient, group: str, topic: str, index: int, start: int) -> Any:
    """Set the offset of a group, as soon as there is a coordinator."""
    partition = AlterShareGroupOffsetsRequestPartition(partition_index=index, start_offset=start)
    topics = [AlterShareGroupOffsetsRequestTopic(topic_name=topic, partitions=[partition])]
    raw.call(FindCoordinatorRequest(key=group, key_type=0), 1)

    def answered() -> Any:
        answer = raw.call(AlterShareGroupOffsetsRequest(group_id=group, topics=topics), 0)
        return None if answer.error_code in NOT_READY else answer

    return eventually(answered, waiting_for="a coordinator")


def deleted(raw: RawClient, group: str, topic: str) -> list[int]:
    """Delete a group's progress in a topic; return the errors."""
    topics = [DeleteShareGroupOffsetsRequestTopic(topic_name=topic)]
    answer = raw.call(DeleteShareGroupOffsetsRequest(group_id=group, topics=topics), 0)
    return [answer.error_code, *(found.error_code for found in answer.responses)]


@pytest.fixture
def session(broker: Broker, make_topic: MakeTopic) -> Iterator[Session]:
    topic = make_topic()
    configure(broker, topic, share_delivery_count_limit="2", share_record_lock_duration_ms="60000")
    configure(broker, topic, share_auto_offset_reset="earliest")
    produce(make_producer(broker), topic, [b"a", b"b"])
    with raw_client(broker) as raw:
        yield Session(raw, topic, topic)


def test_a_session_that_is_closed_gives_back_its_records_and_the_deliveries_count(session: Session) -> None:
    assert session.acquired() == [(0, 1, 1)]
    session.fetch(-1)
    assert session.acquired() == [(0, 1, 2)]
    session.fetch(-1)
    for _ in range(3):
        answer = session.fetch()
        found = [data.acquired_records for topic in answer.responses for data in topic.partitions]
        assert not any(found)


def test_offsets_are_set_and_deleted_in_a_group_without_members(
    make_topic: MakeTopic, raw: RawClient
) -> None:
    topic = make_topic()
    codes = [
        altered(raw, topic, topic, index, start).responses[0].partitions[0].error_code
        for index, start in ((0, 1), (7, 1), (0, -5))
    ]
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert codes == [0, unknown, 0]
    assert altered(raw, "", topic, 0, 1).error_code == ErrorCode.INVALID_GROUP_ID
    assert [deleted(raw, topic, topic) for _ in range(2)] == [[0, 0], [0, unknown]]
