"""A member of a share group that sends exactly what a test writes, right or wrong."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from compat_tests.error_cases.groups import NOT_READY
from compat_tests.waiting import eventually
from compat_tests.wire import RawClient
from protocol.messages import share_acknowledge as acknowledging
from protocol.messages import share_fetch as fetching
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse

MEMBER = "3d8a2c1e-0000-4000-8000-000000000003"

Said = tuple[int, int, Sequence[int]]
"""First offset, last offset, types."""

RENEWING: dict[str, Any] = {
    "is_renew_ack": True,
    "max_wait_ms": 0,
    "min_bytes": 0,
    "max_bytes": 0,
    "max_records": 0,
}


class ShareMember:
    """A member, and the epoch of its share session; fields of every request can be set to anything."""

    def __init__(self, raw: RawClient, group: str, topic: str, member_id: str = MEMBER) -> None:
        """Use a connection; the topic exists."""
        self.raw = raw
        self.group = group
        self.topic = topic
        self.member_id = member_id
        request = MetadataRequest(topics=[MetadataRequestTopic(name=topic)])
        self.topic_id: UUID = raw.call(request, 12).topics[0].topic_id
        self.epoch = 0
        self.member_epoch = 0

    # --- membership -----------------------------------------------------------------------------------------

    def find_coordinator(self) -> None:
        """Wait until the group has a coordinator."""
        request = FindCoordinatorRequest(key=self.group, key_type=0)
        eventually(lambda: self.raw.call(request, 1).error_code == 0, waiting_for="a coordinator")

    def beat(self, epoch: int = 0, **fields: Any) -> ShareGroupHeartbeatResponse:
        """Send a heartbeat, again while the coordinator is being loaded."""
        values: dict[str, Any] = {
            "group_id": self.group,
            "member_id": self.member_id,
            "member_epoch": epoch,
            "subscribed_topic_names": [self.topic],
        }
        request = ShareGroupHeartbeatRequest(**{**values, **fields})

        def answered() -> ShareGroupHeartbeatResponse | None:
            answer: ShareGroupHeartbeatResponse = self.raw.call(request, 1)
            return None if answer.error_code in NOT_READY else answer

        return eventually(answered, waiting_for="the coordinator")

    def join(self) -> None:
        """Join until partitions are assigned."""
        self.find_coordinator()

        def assigned() -> bool:
            answer = self.beat()
            assert answer.error_code == 0, answer
            self.member_epoch = answer.member_epoch
            return bool(answer.assignment and answer.assignment.topic_partitions)

        eventually(assigned, waiting_for="the assignment")

    # --- records --------------------------------------------------------------------------------------------

    def fetch(
        self,
        *said: Said,
        epoch: int | None = None,
        index: int = 0,
        topic_id: UUID | None = None,
        names: bool = False,
        forgotten: Iterable[fetching.ForgottenTopic] = (),
        **fields: Any,
    ) -> fetching.ShareFetchResponse:
        """Fetch, acknowledging in one partition; it is named by the first fetch, and with `names`."""
        epoch = self.epoch if epoch is None else epoch
        batches = [
            fetching.AcknowledgementBatch(first_offset=first, last_offset=last, acknowledge_types=list(types))
            for first, last, types in said
        ]
        place = fetching.FetchPartition(partition_index=index, acknowledgement_batches=batches)
        topics = [fetching.FetchTopic(topic_id=topic_id or self.topic_id, partitions=[place])]
        values: dict[str, Any] = {
            "group_id": self.group,
            "member_id": self.member_id,
            "share_session_epoch": epoch,
            "max_wait_ms": 300,
            "min_bytes": 1,
            "max_bytes": 1 << 20,
            "max_records": 100,
            "batch_size": 100,
            "topics": topics if said or names or epoch == 0 else [],
            "forgotten_topics_data": list(forgotten),
        }
        answer: fetching.ShareFetchResponse = self.raw.call(
            fetching.ShareFetchRequest(**{**values, **fields}), 2
        )
        self._count(answer.error_code, epoch)
        return answer

    def acknowledge(
        self,
        *said: Said,
        epoch: int | None = None,
        index: int = 0,
        topic_id: UUID | None = None,
        **fields: Any,
    ) -> acknowledging.ShareAcknowledgeResponse:
        """Acknowledge in one partition."""
        epoch = self.epoch if epoch is None else epoch
        batches = [
            acknowledging.AcknowledgementBatch(
                first_offset=first, last_offset=last, acknowledge_types=list(types)
            )
            for first, last, types in said
        ]
        place = acknowledging.AcknowledgePartition(partition_index=index, acknowledgement_batches=batches)
        values: dict[str, Any] = {
            "group_id": self.group,
            "member_id": self.member_id,
            "share_session_epoch": epoch,
            "topics": [
                acknowledging.AcknowledgeTopic(topic_id=topic_id or self.topic_id, partitions=[place])
            ],
        }
        answer: acknowledging.ShareAcknowledgeResponse = self.raw.call(
            acknowledging.ShareAcknowledgeRequest(**{**values, **fields}), 2
        )
        self._count(answer.error_code, epoch)
        return answer

    def take(self) -> list[tuple[int, int, int]]:
        """Fetch until records come; return the acquired ranges with their counts."""
        return eventually(lambda: acquired(self.fetch()), waiting_for="records", within_seconds=40)

    def _count(self, code: int, epoch: int) -> None:
        if code == 0:
            self.epoch = 0 if epoch == -1 else epoch + 1


def acquired(answer: fetching.ShareFetchResponse) -> list[tuple[int, int, int]]:
    """Return the acquired ranges of an answer: first offset, last offset, count."""
    return [
        (part.first_offset, part.last_offset, part.delivery_count)
        for topic in answer.responses
        for data in topic.partitions
        for part in data.acquired_records
    ]


def fetch_codes(answer: fetching.ShareFetchResponse) -> list[int]:
    """Return the error of an answer, or those of its partitions and of their acknowledgements, if any."""
    if answer.error_code:
        return [answer.error_code]
    found = [
        code
        for topic in answer.responses
        for data in topic.partitions
        for code in (data.error_code, data.acknowledge_error_code)
    ]
    return [code for code in found if code] or [0]


def codes(answer: acknowledging.ShareAcknowledgeResponse) -> list[int]:
    """Return the error of an answer, or those of its partitions, if any."""
    if answer.error_code:
        return [answer.error_code]
    found = [data.error_code for topic in answer.responses for data in topic.partitions]
    return [code for code in found if code] or [0]
