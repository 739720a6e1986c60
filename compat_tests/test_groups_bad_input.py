"""The requests that a group coordinator refuses, and with which codes: the same ones go to Kafka."""

from __future__ import annotations

from typing import Any

import pytest

from compat_tests.broker import Broker
from compat_tests.conftest import MakeTopic
from compat_tests.requests import topic_id
from compat_tests.waiting import eventually
from compat_tests.wire import RawClient, raw_client
from protocol.consumer_protocol import ConsumerProtocolSubscription, encode_subscription
from protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from protocol.messages.delete_groups import DeleteGroupsRequest
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.heartbeat import HeartbeatRequest
from protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
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
    OffsetFetchRequestTopics,
)
from protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment

UNKNOWN_TOPIC, METADATA_TOO_LARGE, NOT_COORDINATOR = 3, 12, {14, 15, 16}
ILLEGAL_GENERATION, INCONSISTENT_PROTOCOL, INVALID_GROUP_ID, UNKNOWN_MEMBER, BAD_SESSION = 22, 23, 24, 25, 26
NON_EMPTY, NOT_FOUND, MEMBER_ID_REQUIRED, SUBSCRIBED, UNKNOWN_TOPIC_ID = 68, 69, 79, 86, 100
FENCED_EPOCH, UNSUPPORTED_ASSIGNOR, STALE_EPOCH, BAD_REGEX, INVALID_REQUEST = 110, 112, 113, 128, 42


@pytest.fixture(scope="module")
def broker(group_broker: Broker) -> Broker:
    """Ask for a coordinator first: Kafka makes its internal topic then, and not before."""
    with raw_client(group_broker) as client:
        looking = FindCoordinatorRequest(key_type=0, coordinator_keys=["g"])
        eventually(
            lambda: client.call(looking, 4).coordinators[0].error_code == 0,
            waiting_for="a coordinator",
        )
    return group_broker


@pytest.fixture
def group(raw: RawClient, make_topic: MakeTopic) -> tuple[str, str, int]:
    """Make a stable classic group of one member; return group id (the topic's), member id, generation."""
    topic = make_topic()
    first = eventually(lambda: served(raw.call(joining(topic, topic), 9)), waiting_for="the coordinator")
    assert first.error_code == MEMBER_ID_REQUIRED
    joined = raw.call(joining(topic, topic, member_id=first.member_id), 9)
    assert joined.error_code == 0
    given = [SyncGroupRequestAssignment(member_id=joined.member_id, assignment=b"")]
    assert raw.call(syncing(topic, joined.member_id, joined.generation_id, given), 5).error_code == 0
    return topic, joined.member_id, joined.generation_id


def served(answer: Any) -> Any:
    """Return the answer, unless the coordinator still loads, as Kafka's does after it has made its topic."""
    return None if answer.error_code in NOT_COORDINATOR else answer


def joining(group_id: str, topic: str, *, member_id: str = "", **fields: Any) -> JoinGroupRequest:
    metadata = encode_subscription(ConsumerProtocolSubscription(topics=[topic]))
    return JoinGroupRequest(
        **{
            "group_id": group_id,
            "session_timeout_ms": 30_000,
            "rebalance_timeout_ms": 30_000,
            "member_id": member_id,
            "protocol_type": "consumer",
            "protocols": [JoinGroupRequestProtocol(name="range", metadata=metadata)],
            **fields,
        }
    )


def syncing(
    group_id: str, member_id: str, generation: int, given: list[SyncGroupRequestAssignment], **fields: Any
) -> SyncGroupRequest:
    return SyncGroupRequest(
        **{
            "group_id": group_id,
            "generation_id": generation,
            "member_id": member_id,
            "protocol_type": "consumer",
            "protocol_name": "range",
            "assignments": given,
            **fields,
        }
    )


def commit(
    raw: RawClient, group_id: str, topic: Any, member_id: str, generation: int, *,
    offset: int = 1, partition: int = 0, metadata: str = "", version: int = 8,
) -> int:  # fmt: skip
    named = {"topic_id": topic} if version >= 10 else {"name": topic}
    part = OffsetCommitRequestPartition(
        partition_index=partition, committed_offset=offset, committed_metadata=metadata
    )
    request = OffsetCommitRequest(
        group_id=group_id,
        generation_id_or_member_epoch=generation,
        member_id=member_id,
        topics=[OffsetCommitRequestTopic(partitions=[part], **named)],
    )
    code: int = raw.call(request, version).topics[0].partitions[0].error_code
    return code


def committed(raw: RawClient, group_id: str, topic: str) -> int:
    asked = OffsetFetchRequestTopics(name=topic, partition_indexes=[0])
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=group_id, topics=[asked])])
    offset: int = raw.call(request, 8).groups[0].topics[0].partitions[0].committed_offset
    return offset


def test_an_unknown_member_is_refused_everywhere(raw: RawClient, group: tuple[str, str, int]) -> None:
    name, _, generation = group
    assert raw.call(joining(name, name, member_id="nobody"), 9).error_code == UNKNOWN_MEMBER
    assert raw.call(syncing(name, "nobody", generation, []), 5).error_code == UNKNOWN_MEMBER
    beat = HeartbeatRequest(group_id=name, generation_id=generation, member_id="nobody")
    assert raw.call(beat, 4).error_code == UNKNOWN_MEMBER
    assert commit(raw, name, name, "nobody", generation) == UNKNOWN_MEMBER
    left = raw.call(LeaveGroupRequest(group_id=name, members=[MemberIdentity(member_id="nobody")]), 5)
    assert (left.error_code, left.members[0].error_code) == (0, UNKNOWN_MEMBER)


def test_another_generation_is_refused_before_and_after(raw: RawClient, group: tuple[str, str, int]) -> None:
    name, member_id, generation = group
    assert commit(raw, name, name, member_id, generation, offset=5) == 0
    for other in (generation - 1, generation + 1):
        assert raw.call(syncing(name, member_id, other, []), 5).error_code == ILLEGAL_GENERATION
        beat = HeartbeatRequest(group_id=name, generation_id=other, member_id=member_id)
        assert raw.call(beat, 4).error_code == ILLEGAL_GENERATION
        assert commit(raw, name, name, member_id, other, offset=9) == ILLEGAL_GENERATION
    assert committed(raw, name, name) == 5


def test_an_offset_may_go_back(raw: RawClient, group: tuple[str, str, int]) -> None:
    name, member_id, generation = group
    for offset in (7, 2):
        assert commit(raw, name, name, member_id, generation, offset=offset) == 0
        assert committed(raw, name, name) == offset


def test_another_protocol_type_does_not_fit(raw: RawClient, group: tuple[str, str, int]) -> None:
    name, member_id, generation = group
    assert raw.call(joining(name, name, protocol_type="connect"), 9).error_code == INCONSISTENT_PROTOCOL
    other = [JoinGroupRequestProtocol(name="mine", metadata=b"")]
    assert raw.call(joining(name, name, protocols=other), 9).error_code == INCONSISTENT_PROTOCOL
    assert raw.call(joining(name, name, protocols=[]), 9).error_code == INCONSISTENT_PROTOCOL
    for wrong in ({"protocol_type": "connect"}, {"protocol_name": "mine"}):
        assert (
            raw.call(syncing(name, member_id, generation, [], **wrong), 5).error_code == INCONSISTENT_PROTOCOL
        )


@pytest.mark.parametrize("session_ms", [1, 1_800_001])
def test_a_session_out_of_bounds_is_refused(raw: RawClient, make_topic: MakeTopic, session_ms: int) -> None:
    topic = make_topic()
    answer = raw.call(joining(topic, topic, session_timeout_ms=session_ms), 9)
    assert answer.error_code == BAD_SESSION


def test_too_much_metadata_is_refused_to_the_letter(raw: RawClient, group: tuple[str, str, int]) -> None:
    name, member_id, generation = group
    assert commit(raw, name, name, member_id, generation, metadata="x" * 4_096) == 0
    assert commit(raw, name, name, member_id, generation, metadata="x" * 4_097) == METADATA_TOO_LARGE


def test_a_group_without_a_name_takes_commits_and_no_members(raw: RawClient, make_topic: MakeTopic) -> None:
    topic = make_topic()
    assert raw.call(joining("", topic), 9).error_code == INVALID_GROUP_ID
    assert raw.call(syncing("", "m", 1, []), 5).error_code == INVALID_GROUP_ID
    beat = HeartbeatRequest(group_id="", generation_id=1, member_id="m")
    assert raw.call(beat, 4).error_code == INVALID_GROUP_ID
    eventually(lambda: commit(raw, "", topic, "", -1) == 0, waiting_for="a commit of the nameless group")


def test_topics_and_partitions_that_do_not_exist_take_no_commits(
    raw: RawClient, group: tuple[str, str, int]
) -> None:
    name, member_id, generation = group
    assert commit(raw, name, "no-such-topic", member_id, generation) == UNKNOWN_TOPIC
    assert commit(raw, name, name, member_id, generation, partition=1) == UNKNOWN_TOPIC
    known = topic_id(raw, name)
    assert commit(raw, name, known, member_id, generation, version=10) == 0
    unknown = type(known)(int=1)
    assert commit(raw, name, unknown, member_id, generation, version=10) == UNKNOWN_TOPIC_ID


def test_only_an_empty_group_can_be_deleted(raw: RawClient, group: tuple[str, str, int]) -> None:
    name, member_id, generation = group
    assert commit(raw, name, name, member_id, generation) == 0
    place = OffsetDeleteRequestPartition(partition_index=0)
    topics = [OffsetDeleteRequestTopic(name=name, partitions=[place])]
    refused = raw.call(OffsetDeleteRequest(group_id=name, topics=topics), 0)
    assert refused.topics[0].partitions[0].error_code == SUBSCRIBED
    assert delete(raw, name) == NON_EMPTY
    raw.call(LeaveGroupRequest(group_id=name, members=[MemberIdentity(member_id=member_id)]), 5)
    assert delete(raw, name) == 0
    assert committed(raw, name, name) == -1
    assert delete(raw, name) == NOT_FOUND


def delete(raw: RawClient, group_id: str) -> int:
    code: int = raw.call(DeleteGroupsRequest(groups_names=[group_id]), 2).results[0].error_code
    return code


def test_the_consumer_protocol_refuses_what_makes_no_sense(raw: RawClient, make_topic: MakeTopic) -> None:
    topic = make_topic()
    joined = eventually(lambda: served(raw.call(beating(topic, topic), 1)), waiting_for="the coordinator")
    assert joined.error_code == 0
    epoch = joined.member_epoch
    wrong: list[tuple[dict[str, Any], int]] = [
        ({"member_id": ""}, INVALID_REQUEST),
        ({"group_id": ""}, INVALID_REQUEST),
        ({"rebalance_timeout_ms": -1}, INVALID_REQUEST),
        ({"topic_partitions": None}, INVALID_REQUEST),
        ({"subscribed_topic_names": None}, INVALID_REQUEST),
        ({"server_assignor": "mine"}, UNSUPPORTED_ASSIGNOR),
        ({"subscribed_topic_names": None, "subscribed_topic_regex": "("}, BAD_REGEX),
        ({"member_id": "nobody", "member_epoch": epoch}, UNKNOWN_MEMBER),
        ({"member_epoch": epoch + 1}, FENCED_EPOCH),
        ({"group_id": f"no-{topic}", "member_epoch": 3}, NOT_FOUND),
    ]
    for fields, code in wrong:
        assert raw.call(beating(topic, topic, **fields), 1).error_code == code, fields
    assert commit(raw, topic, topic, "member", epoch, version=9) == 0
    assert commit(raw, topic, topic, "member", epoch + 1, version=9) == STALE_EPOCH
    assert commit(raw, topic, topic, "nobody", epoch, version=9) == UNKNOWN_MEMBER
    assert commit(raw, topic, topic, "", -1, version=9) == UNKNOWN_MEMBER
    assert delete(raw, topic) == NON_EMPTY


def beating(group_id: str, topic: str, /, **fields: Any) -> ConsumerGroupHeartbeatRequest:
    return ConsumerGroupHeartbeatRequest(
        **{
            "group_id": group_id,
            "member_id": "member",
            "member_epoch": 0,
            "rebalance_timeout_ms": 30_000,
            "subscribed_topic_names": [topic],
            "topic_partitions": [],
            **fields,
        }
    )
