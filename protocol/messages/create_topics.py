"""CreateTopics (19): create topics."""

from __future__ import annotations

from uuid import UUID

from protocol.api_keys import ApiKey
from protocol.wire import ZERO_UUID, ArrayOf, Bool, Int8, Int16, Int32, String, Uuid, message, struct, wire


@struct
class CreatableReplicaAssignment:
    """The brokers for the replicas of one partition."""

    partition_index: int = wire(Int32)
    broker_ids: list[int] = wire(ArrayOf(Int32))


@struct
class CreatableTopicConfig:
    """A configuration of the new topic."""

    name: str = wire(String)
    value: str | None = wire(String, nullable="0+")


@struct
class CreatableTopic:
    """A topic to create."""

    name: str = wire(String)
    num_partitions: int = wire(Int32)  # -1: the default, or as in `assignments`
    replication_factor: int = wire(Int16)  # -1: the default, or as in `assignments`
    assignments: list[CreatableReplicaAssignment] = wire(ArrayOf(CreatableReplicaAssignment))
    configs: list[CreatableTopicConfig] = wire(ArrayOf(CreatableTopicConfig))


@message(api=ApiKey.CREATE_TOPICS, versions="2-7", flexible="5+", hot=True, elements_max=50_000)
class CreateTopicsRequest:
    """A request to create topics, or only to check whether that would work.

    Source: KIP-4, KIP-464 (v4 defaults: -1 partitions, -1 replicas), KIP-516 (v7).
    """

    topics: list[CreatableTopic] = wire(ArrayOf(CreatableTopic))
    timeout_ms: int = wire(Int32, default=60000)
    validate_only: bool = wire(Bool, default=False)


@struct
class CreatableTopicConfigs:
    """An effective configuration of the new topic."""

    name: str = wire(String)
    value: str | None = wire(String, nullable="0+", default=None)
    read_only: bool = wire(Bool)
    config_source: int = wire(Int8, default=-1)
    is_sensitive: bool = wire(Bool)


@struct
class CreatableTopicResult:
    """The outcome for one topic."""

    name: str = wire(String)
    topic_id: UUID = wire(Uuid, "7+", default=ZERO_UUID, ignorable=True)
    error_code: int = wire(Int16, default=0)
    error_message: str | None = wire(String, nullable="0+", default=None)
    # why `configs` is null
    topic_config_error_code: int = wire(Int16, "5+", tag=0, default=0, ignorable=True)
    num_partitions: int = wire(Int32, "5+", default=-1, ignorable=True)  # -1: not shown
    replication_factor: int = wire(Int16, "5+", default=-1, ignorable=True)
    configs: list[CreatableTopicConfigs] | None = wire(
        ArrayOf(CreatableTopicConfigs), "5+", nullable="5+", default=None, ignorable=True
    )


@message(api=ApiKey.CREATE_TOPICS, versions="2-7", flexible="5+", hot=True)
class CreateTopicsResponse:
    """The topics as created, or why they were not.

    Source: KIP-525 (v5 partitions, replicas and configs in the answer), KIP-516 (v7 topic id),
    KIP-599 (v6 quota).
    """

    throttle_time_ms: int = wire(Int32, default=0)
    topics: list[CreatableTopicResult] = wire(ArrayOf(CreatableTopicResult))
