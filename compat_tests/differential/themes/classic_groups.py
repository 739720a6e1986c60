"""Classic groups: one member after the other, right and wrong, in every version; then static members."""

from __future__ import annotations

from typing import Any

from compat_tests.differential.steps import Step, Steps, member, topic_id
from compat_tests.differential.world import World
from protocol.messages.delete_groups import DeleteGroupsRequest
from protocol.messages.describe_groups import DescribeGroupsRequest
from protocol.messages.heartbeat import HeartbeatRequest
from protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from protocol.messages.list_groups import ListGroupsRequest
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
from protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment

NOBODY = "nobody"
TWO_STEPS_SINCE, STATIC_SINCE, PROTOCOL_SINCE, IDS_SINCE = 4, 5, 5, 10


def steps(world: World) -> Steps:
    """Return the whole theme."""
    yield from world.create()
    members = 0
    for version in range(10):
        group = f"{world.prefix}-group{version}"
        yield from _refused_joins(group, version)
        yield from _joined(group, version, members, world)
        yield from _stable(group, version, members, world)
        if version >= TWO_STEPS_SINCE:
            yield from _pending(group, version, members + 1, world)
        yield from _left(group, version, members, world)
        members += 1 + (version >= TWO_STEPS_SINCE)
    for version in range(STATIC_SINCE, 10):
        yield from _static(f"{world.prefix}-static{version}", version, members, world)
        members += 2
    yield from _without_members(f"{world.prefix}-alone", world)


def subscription(*topics: str) -> bytes:
    """Return the subscription of a consumer to topics: version 0, without user data."""
    names = b"".join(len(topic).to_bytes(2, "big") + topic.encode() for topic in topics)
    return b"\0\0" + len(topics).to_bytes(4, "big") + names + b"\xff\xff\xff\xff"


def join(group: str, version: int, who: str, world: World | None = None, **fields: Any) -> Step:
    """Join as a consumer of the topic `one`."""
    topics = subscription(world.one) if world else b""
    given: dict[str, Any] = {
        "session_timeout_ms": 60_000,
        "rebalance_timeout_ms": 60_000 if version else -1,
        "protocol_type": "consumer",
        "protocols": [JoinGroupRequestProtocol(name="range", metadata=topics)],
    }
    return Step(JoinGroupRequest(group_id=group, member_id=who, **(given | fields)), version)


def commit(group: str, version: int, who: str, epoch: int, world: World, **fields: Any) -> Step:
    """Commit to a partition that exists, to one that does not, to a topic that does not."""
    metadata = fields.pop("metadata", "m")
    topics = [
        OffsetCommitRequestTopic(
            name="" if version >= IDS_SINCE else name,
            topic_id=topic_id(name) if version >= IDS_SINCE else topic_id("none"),
            partitions=[
                OffsetCommitRequestPartition(
                    partition_index=index, committed_offset=5, committed_metadata=metadata
                )
                for index in (0, 1)
            ],
        )
        for name in (world.one, world.never)
    ]
    return Step(
        OffsetCommitRequest(
            group_id=group, generation_id_or_member_epoch=epoch, member_id=who, topics=topics, **fields
        ),
        version,
    )


def committed(group: str, version: int, world: World, **fields: Any) -> Steps:
    """Fetch offsets of some partitions, then all."""
    names = (world.one, world.never)
    for everything in (False, True):
        if version < 8:
            asked = [OffsetFetchRequestTopic(name=name, partition_indexes=[0, 1, 9]) for name in names]
            nothing: list[OffsetFetchRequestTopic] | None = None if version >= 2 else []
            yield Step(OffsetFetchRequest(group_id=group, topics=nothing if everything else asked), version)
            continue
        topics = [
            OffsetFetchRequestTopics(
                name="" if version >= IDS_SINCE else name,
                topic_id=topic_id(name) if version >= IDS_SINCE else topic_id("none"),
                partition_indexes=[0, 1, 9],
            )
            for name in names
        ]
        entry = OffsetFetchRequestGroup(group_id=group, topics=None if everything else topics, **fields)
        other = OffsetFetchRequestGroup(group_id=f"{group}-never", topics=None)
        yield Step(OffsetFetchRequest(groups=[entry, other], require_stable=everything), version)


def _refused_joins(group: str, version: int) -> Steps:
    yield join("", version, "")
    yield join(group, version, "", session_timeout_ms=5)
    yield join(group, version, "", session_timeout_ms=1_900_000)
    yield join(group, version, NOBODY)
    yield join(group, version, "", protocols=[])
    yield join(group, version, "", protocol_type="")


def _joined(group: str, version: int, number: int, world: World) -> Steps:
    yield join(group, version, "", world)
    if version >= TWO_STEPS_SINCE:
        yield join(group, version, member(number), world)
    yield _heartbeat(group, version, 1, member(number))
    yield _sync(group, version, 1, member(number))
    yield _described(group, version)
    yield _listed(version)


def _stable(group: str, version: int, number: int, world: World) -> Steps:
    who = member(number)
    for generation, asked in ((1, who), (0, who), (2, who), (1, NOBODY), (1, "")):
        yield _heartbeat(group, version, generation, asked)
        yield _sync(group, version, generation, asked)
    yield _heartbeat("", version, 1, who)
    yield _heartbeat(f"{group}-never", version, 1, who)
    yield _sync(group, version, 1, who, protocol_type="other", protocol_name="range")
    yield _sync(group, version, 1, who, protocol_type="consumer", protocol_name="other")
    yield join(group, version, who, protocol_type="other")
    yield join(group, version, who, protocols=[])
    yield join(group, version, NOBODY, world)
    for at in (version, 10) if version >= 2 else (2,):
        for epoch, asked in ((1, who), (0, who), (2, who), (1, NOBODY), (-1, ""), (1, "")):
            yield commit(group, at, asked, epoch, world)
        yield commit(group, at, who, 1, world, metadata="x" * 5000)
        yield commit(f"{group}-never", at, who, 1, world)
    for at in (max(1, version), 10):
        yield from committed(group, at, world)
    yield _offsets_deleted(group, world)
    yield Step(DeleteGroupsRequest(groups_names=[group, group, f"{group}-never", ""]), min(version, 2))


def _pending(group: str, version: int, number: int, world: World) -> Steps:
    yield join(group, version, "", world)
    yield _heartbeat(group, version, 1, member(number))
    yield _sync(group, version, 1, member(number))
    yield commit(group, version, member(number), 1, world)
    yield _left_by(group, version, member(number))


def _left(group: str, version: int, number: int, world: World) -> Steps:
    yield _left_by(group, version, NOBODY)
    yield _left_by(f"{group}-never", version, member(number))
    yield _left_by(group, version, member(number))
    yield _left_by(group, version, member(number))
    yield _described(group, version)
    yield _heartbeat(group, version, 1, member(number))
    yield commit(group, max(2, version), "", -1, world)
    yield _offsets_deleted(group, world)
    yield Step(DeleteGroupsRequest(groups_names=[group]), min(version, 2))
    yield _described(group, version)
    yield Step(DeleteGroupsRequest(groups_names=[group]), min(version, 2))


def _static(group: str, version: int, number: int, world: World) -> Steps:
    """Start one instance twice: its first member id is then no longer valid."""
    yield join(group, version, "", world, group_instance_id="i")
    yield _sync(group, version, 1, member(number), group_instance_id="i")
    yield _heartbeat(group, version, 1, member(number), group_instance_id="i")
    yield _heartbeat(group, version, 1, member(number), group_instance_id="other")
    yield join(group, version, "", world, group_instance_id="i")
    for who in (member(number), member(number + 1)):
        yield _heartbeat(group, version, 1, who, group_instance_id="i")
        yield _sync(group, version, 1, who, group_instance_id="i")
        yield commit(group, max(7, version), who, 1, world, group_instance_id="i")
    yield join(group, version, member(number), world, group_instance_id="i")
    yield _described(group, version)
    for instance in ("other", "i", "i"):
        identity = MemberIdentity(member_id="", group_instance_id=instance)
        yield Step(LeaveGroupRequest(group_id=group, members=[identity]), min(version, 5))
    yield _described(group, version)


def _without_members(group: str, world: World) -> Steps:
    """Commit offsets of a group that no member joins."""
    for version in range(2, 11):
        yield commit(group, version, "", -1, world)
        yield commit(group, version, NOBODY, -1, world)
        yield commit(group, version, "", 0, world)
    for version in range(1, 11):
        yield from committed(group, version, world)
    yield _described(group, 6)
    for version in range(6):
        yield _listed(version)
    for states, types in ((["Empty"], []), (["empty", "x"], []), (["Dead"], []), ([], ["classic"])):
        yield Step(ListGroupsRequest(states_filter=states, types_filter=types), 5)
    yield Step(ListGroupsRequest(types_filter=["CONSUMER", "no such type"]), 5)
    yield _offsets_deleted(group, world)
    yield _offsets_deleted(f"{group}-never", world)
    yield _offsets_deleted("", world)


def _sync(group: str, version: int, generation: int, who: str, **fields: Any) -> Step:
    given = [SyncGroupRequestAssignment(member_id=who, assignment=b"assigned")]
    if version >= PROTOCOL_SINCE + 2:
        fields = {"protocol_type": "consumer", "protocol_name": "range"} | fields
    request = SyncGroupRequest(
        group_id=group, generation_id=generation, member_id=who, assignments=given, **fields
    )
    at_least = 5 if "protocol_type" in fields else 3 if "group_instance_id" in fields else 0
    return Step(request, min(5, max(version, at_least)))


def _heartbeat(group: str, version: int, generation: int, who: str, **fields: Any) -> Step:
    request = HeartbeatRequest(group_id=group, generation_id=generation, member_id=who, **fields)
    return Step(request, min(version, 4))


def _described(group: str, version: int) -> Step:
    request = DescribeGroupsRequest(groups=[group], include_authorized_operations=version >= 3)
    return Step(request, min(version, 6))


def _listed(version: int) -> Step:
    return Step(ListGroupsRequest(), min(version, 5))


def _left_by(group: str, version: int, who: str) -> Step:
    if version < 3:
        return Step(LeaveGroupRequest(group_id=group, member_id=who), version)
    members = [MemberIdentity(member_id=who), MemberIdentity(member_id=NOBODY)]
    return Step(LeaveGroupRequest(group_id=group, members=members), min(version, 5))


def _offsets_deleted(group: str, world: World) -> Step:
    topics = [
        OffsetDeleteRequestTopic(
            name=name, partitions=[OffsetDeleteRequestPartition(partition_index=index) for index in (0, 5)]
        )
        for name in (world.one, world.three, world.never)
    ]
    return Step(OffsetDeleteRequest(group_id=group, topics=topics), 0)
