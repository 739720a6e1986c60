"""Errors of classic groups, of KIP-848 groups, and of committed offsets."""

from __future__ import annotations

from typing import Any

from compat_tests.differential.themes.classic_groups import subscription
from compat_tests.error_cases.case import Scene, Told, provokes
from compat_tests.waiting import eventually
from compat_tests.wire import RawClient, raw_client
from protocol.error_codes import ErrorCode
from protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from protocol.messages.delete_groups import DeleteGroupsRequest
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.heartbeat import HeartbeatRequest
from protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment

NOT_READY = {
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
}


def joined(raw: RawClient, group: str, who: str = "", *, version: int = 9, **fields: Any) -> Any:
    """Join, as soon as there is a coordinator."""
    given: dict[str, Any] = {
        "session_timeout_ms": 60_000,
        "rebalance_timeout_ms": 60_000,
        "protocol_type": "consumer",
        "protocols": [JoinGroupRequestProtocol(name="range", metadata=subscription("t"))],
    }
    request = JoinGroupRequest(group_id=group, member_id=who, **(given | fields))

    def answered() -> Any:
        answer = raw.call(request, version)
        return None if answer.error_code in NOT_READY else answer

    raw.call(FindCoordinatorRequest(key=group, key_type=0), 1)
    return eventually(answered, waiting_for="a coordinator")


def member(scene: Scene, **fields: Any) -> str:
    """Make a stable group with one member; return its id."""
    instance = {"group_instance_id": fields["group_instance_id"]} if "group_instance_id" in fields else {}
    who: str = joined(scene.raw, scene.name, **fields).member_id
    if not instance:
        who = joined(scene.raw, scene.name, who, **fields).member_id
    request = SyncGroupRequest(
        group_id=scene.name,
        generation_id=1,
        member_id=who,
        protocol_type="consumer",
        protocol_name="range",
        assignments=[SyncGroupRequestAssignment(member_id=who, assignment=b"")],
        **instance,
    )
    assert scene.call(request, 5).error_code == 0
    return who


def beaten(scene: Scene, who: str, generation: int = 1, **fields: Any) -> Told:
    """Heartbeat to the classic group."""
    request = HeartbeatRequest(group_id=scene.name, generation_id=generation, member_id=who, **fields)
    return Told(scene.call(request, 4).error_code)


def committed(
    scene: Scene,
    topic: str,
    indexes: range = range(1),
    *,
    metadata: str = "",
    version: int = 8,
    **fields: Any,
) -> Told:
    """Commit to partitions of a topic; return what is said of the first."""
    given: dict[str, Any] = {"generation_id_or_member_epoch": -1, "member_id": ""}
    part = OffsetCommitRequestPartition(partition_index=0, committed_offset=1, committed_metadata=metadata)
    request = OffsetCommitRequest(
        group_id=scene.name,
        topics=[OffsetCommitRequestTopic(name=topic, partitions=[part])],
        **(given | fields),
    )

    def answered() -> Any:
        part = scene.call(request, version).topics[0].partitions[0]
        return None if part.error_code in NOT_READY else part

    scene.call(FindCoordinatorRequest(key=scene.name, key_type=0), 1)
    return Told(eventually(answered, waiting_for="a coordinator").error_code)


@provokes(ErrorCode.OFFSET_METADATA_TOO_LARGE)
def metadata_above_the_limit(scene: Scene) -> Told:
    return committed(scene, scene.topic(), metadata="x" * 5_000)


@provokes(ErrorCode.ILLEGAL_GENERATION)
def generation_of_the_future(scene: Scene) -> Told:
    return beaten(scene, member(scene), 7)


@provokes(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
def member_of_another_kind(scene: Scene) -> Told:
    who = member(scene)
    return Told(joined(scene.raw, scene.name, who, protocol_type="connect").error_code)


@provokes(ErrorCode.INVALID_GROUP_ID)
def group_without_a_name(scene: Scene) -> Told:
    return Told(joined(scene.raw, "").error_code)


@provokes(ErrorCode.UNKNOWN_MEMBER_ID)
def member_that_never_joined(scene: Scene) -> Told:
    member(scene)
    return beaten(scene, "nobody")


@provokes(ErrorCode.INVALID_SESSION_TIMEOUT)
def session_of_a_millisecond(scene: Scene) -> Told:
    return Told(joined(scene.raw, scene.name, session_timeout_ms=1).error_code)


@provokes(ErrorCode.REBALANCE_IN_PROGRESS)
def heartbeat_while_another_joins(scene: Scene) -> Told:
    first = member(scene)
    with raw_client(scene.broker) as second:
        who = joined(second, scene.name).member_id
        second.send(
            JoinGroupRequest(
                group_id=scene.name,
                member_id=who,
                session_timeout_ms=60_000,
                rebalance_timeout_ms=60_000,
                protocol_type="consumer",
                protocols=[JoinGroupRequestProtocol(name="range", metadata=subscription("t"))],
            ),
            9,
        )
        return eventually(
            lambda: told if (told := beaten(scene, first)).code else None, waiting_for="the rebalance"
        )


@provokes(ErrorCode.NON_EMPTY_GROUP)
def deletion_of_a_group_with_members(scene: Scene) -> Told:
    member(scene)
    return Told(scene.call(DeleteGroupsRequest(groups_names=[scene.name]), 2).results[0].error_code)


@provokes(ErrorCode.GROUP_ID_NOT_FOUND)
def deletion_of_a_group_that_does_not_exist(scene: Scene) -> Told:
    member(scene)
    return Told(scene.call(DeleteGroupsRequest(groups_names=["never-made"]), 2).results[0].error_code)


@provokes(ErrorCode.MEMBER_ID_REQUIRED)
def first_join_without_an_id(scene: Scene) -> Told:
    return Told(joined(scene.raw, scene.name).error_code)


@provokes(ErrorCode.GROUP_MAX_SIZE_REACHED)
def member_beyond_the_limit(scene: Scene) -> Told:
    broker = scene.start_broker(group_max_size="1", group_initial_rebalance_delay_ms="0")
    with raw_client(broker) as first, raw_client(broker) as second:
        who = joined(first, "g").member_id
        assert joined(first, "g", who).error_code == 0
        other = joined(second, "g")
        return Told(
            joined(second, "g", other.member_id).error_code if other.error_code == 79 else other.error_code
        )


@provokes(ErrorCode.FENCED_INSTANCE_ID)
def instance_that_was_replaced(scene: Scene) -> Told:
    who = member(scene, group_instance_id="i")
    joined(scene.raw, scene.name, group_instance_id="i")
    return beaten(scene, who, group_instance_id="i")


@provokes(ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC)
def deletion_of_offsets_in_use(scene: Scene) -> Told:
    scene.topic()
    protocols = [JoinGroupRequestProtocol(name="range", metadata=subscription(scene.name))]
    member(scene, protocols=protocols)
    topic = OffsetDeleteRequestTopic(
        name=scene.name, partitions=[OffsetDeleteRequestPartition(partition_index=0)]
    )
    answer = scene.call(OffsetDeleteRequest(group_id=scene.name, topics=[topic]), 0)
    return Told(answer.topics[0].partitions[0].error_code)


def beat(scene: Scene, who: str = "m", epoch: int = 0, **fields: Any) -> Any:
    """Heartbeat to the KIP-848 group; an epoch of 0 joins."""
    given: dict[str, Any] = {}
    if not epoch:
        given = {
            "rebalance_timeout_ms": 60_000, "subscribed_topic_names": [scene.name], "topic_partitions": [],
        }  # fmt: skip
    request = ConsumerGroupHeartbeatRequest(
        group_id=scene.name, member_id=who, member_epoch=epoch, **(given | fields)
    )

    def answered() -> Any:
        answer = scene.call(request, 1)
        return None if answer.error_code in NOT_READY else answer

    scene.call(FindCoordinatorRequest(key=scene.name, key_type=0), 1)
    return eventually(answered, waiting_for="a coordinator")


def told_of(answer: Any) -> Told:
    """Return what a heartbeat's answer says."""
    return Told(answer.error_code, answer.error_message)


@provokes(ErrorCode.FENCED_MEMBER_EPOCH, "epoch", "99")
def epoch_of_the_future(scene: Scene) -> Told:
    scene.topic()
    assert beat(scene).error_code == 0
    return told_of(beat(scene, epoch=99))


@provokes(ErrorCode.UNRELEASED_INSTANCE_ID, "i", "first")
def instance_that_another_member_holds(scene: Scene) -> Told:
    scene.topic()
    assert beat(scene, "first", instance_id="i").error_code == 0
    return told_of(beat(scene, "second", instance_id="i"))


@provokes(ErrorCode.UNSUPPORTED_ASSIGNOR, "none-such")
def assignor_that_does_not_exist(scene: Scene) -> Told:
    return told_of(beat(scene, server_assignor="none-such"))


@provokes(ErrorCode.STALE_MEMBER_EPOCH)
def commit_with_an_epoch_of_the_future(scene: Scene) -> Told:
    topic = scene.topic()
    assert beat(scene).error_code == 0
    return committed(scene, topic, version=9, member_id="m", generation_id_or_member_epoch=99)


@provokes(ErrorCode.INVALID_REGULAR_EXPRESSION, "[")
def pattern_that_is_not_closed(scene: Scene) -> Told:
    return told_of(beat(scene, subscribed_topic_names=None, subscribed_topic_regex="["))
