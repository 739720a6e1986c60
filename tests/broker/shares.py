"""Members of share groups in tests of the broker, each on a connection of its own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from protocol.messages.share_acknowledge import AcknowledgementBatch as Said
from protocol.messages.share_acknowledge import (
    AcknowledgePartition,
    AcknowledgeTopic,
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
)
from protocol.messages.share_fetch import (
    AcknowledgementBatch,
    FetchPartition,
    FetchTopic,
    ForgottenTopic,
    ShareFetchRequest,
    ShareFetchResponse,
)
from protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from protocol.record_reader import iter_records
from protocol.records import iter_batches
from tests.broker.gateway import Client, Gateway

GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)

Spoken = tuple[int, int, list[int]]
"""First offset, last offset, types."""


class Member:
    """A member of the share group `g` on a connection of its own."""

    def __init__(
        self, gateway: Gateway, name: str, *topics: str, group: str = "g", client: Client | None = None
    ) -> None:
        self.gateway = gateway
        self.client: Client = client or gateway.client()
        self.name = name
        self.group = group
        self.epoch = 0
        self.session = 0
        if topics:
            self.beat(*topics)

    def beat(self, *topics: str, epoch: int | None = None) -> ShareGroupHeartbeatResponse:
        """Send a heartbeat and follow its answer."""
        request = ShareGroupHeartbeatRequest(
            group_id=self.group,
            member_id=self.name,
            member_epoch=self.epoch if epoch is None else epoch,
            subscribed_topic_names=list(topics) or None,
        )
        answer: ShareGroupHeartbeatResponse = self.client.call(request, 1)
        if answer.error_code == 0:
            self.epoch = answer.member_epoch
        return answer

    def fetching(
        self,
        *places: tuple[UUID, int],
        said: dict[tuple[UUID, int], list[Spoken]] | None = None,
        forgotten: Iterable[tuple[UUID, int]] = (),
        epoch: int | None = None,
        **values: Any,
    ) -> ShareFetchRequest:
        """Return a fetch of the session's next epoch."""
        topics = [
            FetchTopic(
                topic_id=topic_id,
                partitions=[
                    FetchPartition(
                        partition_index=index,
                        acknowledgement_batches=[
                            AcknowledgementBatch(
                                first_offset=first, last_offset=last, acknowledge_types=types
                            )
                            for first, last, types in (said or {}).get((topic_id, index), ())
                        ],
                    )
                ],
            )
            for topic_id, index in dict.fromkeys((*places, *(said or {})))
        ]
        gone = [ForgottenTopic(topic_id=topic_id, partitions=[index]) for topic_id, index in forgotten]
        wanted = {
            "max_wait_ms": 0,
            "min_bytes": 1,
            "max_bytes": 1 << 20,
            "max_records": 500,
            "batch_size": 500,
        }
        return ShareFetchRequest(
            group_id=self.group,
            member_id=self.name,
            share_session_epoch=self.session if epoch is None else epoch,
            topics=topics,
            forgotten_topics_data=gone,
            **{**wanted, **values},
        )

    def fetch(self, *places: tuple[UUID, int], **values: Any) -> ShareFetchResponse:
        """Fetch, and count the epoch of the session."""
        answer: ShareFetchResponse = self.client.call(self.fetching(*places, **values), 2)
        if answer.error_code == 0:
            self.session += 1
        return answer

    def send_fetch(self, *places: tuple[UUID, int], **values: Any) -> None:
        """Send a fetch whose answer may wait; it is read with `client.answers()`."""
        self.client.send(self.fetching(*places, **values), 2)
        self.session += 1

    def acknowledge(
        self, place: tuple[UUID, int], *said: Spoken, epoch: int | None = None, renews: bool = False
    ) -> ShareAcknowledgeResponse:
        """Acknowledge, and count the epoch of the session."""
        batches = [
            Said(first_offset=first, last_offset=last, acknowledge_types=list(types))
            for first, last, types in said
        ]
        partitions = [AcknowledgePartition(partition_index=place[1], acknowledgement_batches=batches)]
        request = ShareAcknowledgeRequest(
            group_id=self.group,
            member_id=self.name,
            share_session_epoch=self.session if epoch is None else epoch,
            is_renew_ack=renews,
            topics=[AcknowledgeTopic(topic_id=place[0], partitions=partitions)] if said else [],
        )
        answer: ShareAcknowledgeResponse = self.client.call(request, 2)
        if answer.error_code == 0:
            self.session += 1
        return answer


def acquired(answer: ShareFetchResponse) -> list[tuple[int, int, int]]:
    """Return the acquired ranges of all partitions of an answer, with their counts."""
    return [
        (part.first_offset, part.last_offset, part.delivery_count)
        for topic in answer.responses
        for data in topic.partitions
        for part in data.acquired_records
    ]


def values(answer: ShareFetchResponse) -> list[bytes | None]:
    """Return the values of all records in an answer."""
    return [
        record.value
        for topic in answer.responses
        for data in topic.partitions
        for batch in iter_batches(bytes(data.records or b""))  # type: ignore[arg-type]
        for record in iter_records(batch)
    ]


def codes(answer: ShareFetchResponse) -> list[tuple[int, int, int]]:
    """Return index, error and acknowledgement's error of all partitions of an answer."""
    return [
        (data.partition_index, data.error_code, data.acknowledge_error_code)
        for topic in answer.responses
        for data in topic.partitions
    ]


def outcome(answer: ShareAcknowledgeResponse) -> list[int]:
    """Return the errors of all partitions of an answer."""
    return [data.error_code for topic in answer.responses for data in topic.partitions]


def configuring(group: str = "g", **settings: str) -> IncrementalAlterConfigsRequest:
    """Return a request that gives a group settings; underscores in their names stand for dots."""
    configs = [
        AlterableConfig(name=name.replace("_", "."), config_operation=0, value=value)
        for name, value in settings.items()
    ]
    resource = AlterConfigsResource(resource_type=32, resource_name=group, configs=configs)
    return IncrementalAlterConfigsRequest(resources=[resource], validate_only=False)


def configure(gateway: Gateway, group: str = "g", **settings: str) -> None:
    """Give a group settings, as in `configuring`."""
    (result,) = gateway.client().call(configuring(group, **settings), 1).responses
    assert result.error_code == 0, result
