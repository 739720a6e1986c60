"""Refusals of share groups: acknowledgements, epochs, names, places, settings and types of groups.

Apache Kafka answers UNKNOWN_SERVER_ERROR, or not at all, to some of what a client may do wrong: unknown
acquire modes, a place that is named twice, the group "", partition -1 of offsets. Those cases are in tests/.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest

from compat_tests.broker import Broker
from compat_tests.confluent import make_producer, produce
from compat_tests.conftest import MakeTopic
from compat_tests.share_member import RENEWING, Said, ShareMember, acquired, codes, fetch_codes
from compat_tests.test_raw_share import altered, deleted
from compat_tests.test_share_groups import configure, earliest, numbered
from compat_tests.wire import RawClient, raw_client
from protocol.error_codes import ErrorCode
from protocol.messages import consumer_group_heartbeat, join_group, offset_commit
from protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from protocol.messages.delete_groups import DeleteGroupsRequest
from protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from protocol.messages.leave_group import LeaveGroupRequest
from protocol.messages.share_fetch import ForgottenTopic
from protocol.messages.share_group_describe import ShareGroupDescribeRequest

INVALID = ErrorCode.INVALID_REQUEST
WRONG_STATE = ErrorCode.INVALID_RECORD_STATE
NO_SESSION = ErrorCode.SHARE_SESSION_NOT_FOUND
WRONG_EPOCH = ErrorCode.INVALID_SHARE_SESSION_EPOCH
NO_GROUP = ErrorCode.GROUP_ID_NOT_FOUND
UNKNOWN_PLACE = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
UNKNOWN_TOPIC = ErrorCode.UNKNOWN_TOPIC_ID
STRANGER = UUID(int=77)
INT32 = 2**31 - 1
INT64 = 2**63 - 1

RECORDS = 10
ACCEPT, RELEASE, RENEW = [1], [2], [4]

ILLEGAL: dict[str, tuple[list[Said], ErrorCode]] = {
    "the first after the last": ([(3, 2, ACCEPT)], INVALID),
    "below 0": ([(-5, -3, ACCEPT)], INVALID),
    "the smallest": ([(-INT64 - 1, -INT64 - 1, ACCEPT)], INVALID),
    "the largest": ([(INT64, INT64, ACCEPT)], INVALID),
    "far beyond the end": ([(0, 2**62, ACCEPT)], INVALID),
    "one beyond the end": ([(9, 10, ACCEPT)], INVALID),
    "one beyond the end, each by itself": ([(9, 10, [1, 1])], INVALID),
    "all beyond the end": ([(50, 60, ACCEPT)], INVALID),
    "no type": ([(0, 2, [])], INVALID),
    "too few types": ([(0, 2, [1, 1])], INVALID),
    "too many types": ([(0, 2, [1] * 4)], INVALID),
    "a thousand types for one": ([(0, 0, [1] * 1000)], INVALID),
    "type 5": ([(0, 0, [5])], INVALID),
    "type -1": ([(0, 0, [-1])], INVALID),
    "type 127": ([(0, 0, [127])], INVALID),
    "a renewal that the request does not announce": ([(0, 1, [1, 4])], INVALID),
    "descending": ([(5, 6, ACCEPT), (0, 1, ACCEPT)], INVALID),
    "twice": ([(0, 3, ACCEPT), (0, 3, ACCEPT)], INVALID),
    "one within another": ([(0, 9, ACCEPT), (3, 4, RELEASE)], INVALID),
    "the second beyond the end": ([(0, 0, ACCEPT), (50, 50, ACCEPT)], INVALID),
    "the second of an unknown type": ([(0, 0, ACCEPT), (1, 1, [9])], INVALID),
    "one record twice": ([(0, 3, ACCEPT), (3, 5, ACCEPT)], WRONG_STATE),
    "one record twice, and then a range": ([(0, 0, ACCEPT), (0, 5, ACCEPT)], WRONG_STATE),
    "one record twice, with an unknown type": ([(8, 8, ACCEPT), (8, 9, [9])], INVALID),
}

BEATS: dict[str, tuple[dict[str, Any], ErrorCode]] = {
    "no group": ({"group_id": ""}, INVALID),
    "a blank group": ({"group_id": "  "}, INVALID),
    "no member": ({"member_id": ""}, INVALID),
    "a blank member": ({"member_id": "   "}, INVALID),
    "a member of 37 characters": ({"member_id": "x" * 37}, INVALID),
    "epoch -2": ({"epoch": -2}, INVALID),
    "the smallest epoch": ({"epoch": -INT32 - 1}, INVALID),
    "no topics": ({"subscribed_topic_names": None}, INVALID),
    "an empty list of topics": ({"subscribed_topic_names": []}, INVALID),
    "an empty rack": ({"rack_id": ""}, INVALID),
    "epoch 1 without a group": ({"epoch": 1}, NO_GROUP),
    "the largest epoch without a group": ({"epoch": INT32}, NO_GROUP),
    "leaving without a group": ({"epoch": -1}, NO_GROUP),
}


@pytest.fixture(scope="module")
def broker(group_broker: Broker) -> Broker:
    return group_broker


@pytest.fixture
def newcomer(broker: Broker, make_topic: MakeTopic) -> Iterator[ShareMember]:
    """Return one that has not joined its group."""
    topic = make_topic()
    earliest(broker, topic)
    with raw_client(broker) as raw:
        yield ShareMember(raw, topic, topic)


@pytest.fixture
def member(broker: Broker, newcomer: ShareMember) -> ShareMember:
    """Return a member that has ten records."""
    produce(make_producer(broker), newcomer.topic, numbered(RECORDS))
    newcomer.join()
    assert newcomer.take() == [(0, RECORDS - 1, 1)]
    return newcomer


@pytest.mark.parametrize("by_fetch", [False, True], ids=["acknowledge", "fetch"])
def test_an_illegal_acknowledgement_has_its_code_and_changes_nothing(
    member: ShareMember, by_fetch: bool
) -> None:
    for name, (said, code) in ILLEGAL.items():
        found = fetch_codes(member.fetch(*said)) if by_fetch else codes(member.acknowledge(*said))
        assert found == [code], name
    assert codes(member.acknowledge((0, RECORDS - 1, ACCEPT))) == [0]


def test_what_lies_before_the_start_is_ignored_but_for_its_form(member: ShareMember) -> None:
    assert codes(member.acknowledge((-1, 1, ACCEPT))) == [0]
    assert codes(member.acknowledge((0, 1, ACCEPT))) == [0]
    assert codes(member.acknowledge((0, 1, [7]))) == [INVALID]
    assert codes(member.acknowledge((0, 4, ACCEPT))) == [0]
    assert codes(member.acknowledge((5, RECORDS - 1, ACCEPT))) == [0]


def test_only_what_the_member_has_is_acknowledged(broker: Broker, member: ShareMember) -> None:
    with raw_client(broker) as raw:
        other = ShareMember(raw, member.group, member.topic, f"{member.member_id[:-1]}9")
        assert fetch_codes(other.fetch()) == [0]
        assert codes(other.acknowledge((0, 0, ACCEPT))) == [WRONG_STATE]
    assert codes(member.acknowledge((2, 2, RELEASE))) == [0]
    assert codes(member.acknowledge((2, 2, ACCEPT))) == [WRONG_STATE]
    assert codes(member.acknowledge((3, 3, [3]))) == [0]
    assert codes(member.acknowledge((3, 3, RELEASE))) == [WRONG_STATE]
    assert codes(member.acknowledge((0, 4, ACCEPT))) == [WRONG_STATE]
    assert codes(member.acknowledge((0, 1, ACCEPT), (4, 9, ACCEPT))) == [0]


def test_an_acknowledgement_in_a_place_that_does_not_exist_is_refused(member: ShareMember) -> None:
    for index in (7, -1):
        assert codes(member.acknowledge((0, 0, ACCEPT), index=index)) == [UNKNOWN_PLACE]
        assert codes(member.acknowledge((5, 0, ACCEPT), index=index)) == [INVALID]
    for topic_id in (STRANGER, UUID(int=0)):
        assert codes(member.acknowledge((0, 0, ACCEPT), topic_id=topic_id)) == [UNKNOWN_TOPIC]
        assert codes(member.acknowledge((5, 0, ACCEPT), topic_id=topic_id)) == [UNKNOWN_TOPIC]
    # Kafka keeps such places in the session and refuses each of them in every answer.
    assert set(fetch_codes(member.fetch((0, 0, ACCEPT), index=7))) == {UNKNOWN_PLACE}
    for index in (-1, 99, INT32):
        assert set(fetch_codes(member.fetch(names=True, index=index))) == {UNKNOWN_PLACE}
    wrong = ForgottenTopic(topic_id=member.topic_id, partitions=[7, -1, 99, INT32])
    stranger = ForgottenTopic(topic_id=STRANGER, partitions=[0, 9, -4])
    assert fetch_codes(member.fetch(forgotten=[wrong, stranger])) == [0]
    assert codes(member.acknowledge((0, RECORDS - 1, ACCEPT))) == [0]


@pytest.mark.parametrize("wrong", [0, -2, -INT32 - 1, INT32, 500])
def test_an_acknowledgement_of_another_epoch_is_refused(member: ShareMember, wrong: int) -> None:
    assert codes(member.acknowledge((0, 0, ACCEPT), epoch=wrong)) == [WRONG_EPOCH]
    assert codes(member.acknowledge((0, 0, ACCEPT), epoch=member.epoch - 1)) == [WRONG_EPOCH]
    assert codes(member.acknowledge((0, 0, ACCEPT))) == [0]


@pytest.mark.parametrize("wrong", [-2, -INT32 - 1, INT32, 500])
def test_a_fetch_of_another_epoch_is_refused(member: ShareMember, wrong: int) -> None:
    assert fetch_codes(member.fetch(epoch=wrong)) == [WRONG_EPOCH]
    assert fetch_codes(member.fetch()) == [0]


def test_a_session_that_is_closed_with_an_illegal_acknowledgement_is_closed(member: ShareMember) -> None:
    assert codes(member.acknowledge((5, 2, ACCEPT), epoch=-1)) == [INVALID]
    assert codes(member.acknowledge((0, 0, ACCEPT), epoch=1)) == [NO_SESSION]
    assert acquired(member.fetch()) == [(0, RECORDS - 1, 2)]
    assert fetch_codes(member.fetch((5, 2, ACCEPT), epoch=-1)) == [INVALID]
    assert fetch_codes(member.fetch(epoch=3)) == [NO_SESSION]


def test_a_session_needs_names_and_is_opened_by_a_fetch_without_acknowledgements(
    newcomer: ShareMember,
) -> None:
    newcomer.join()
    for fields in ({"member_id": None}, {"member_id": ""}, {"member_id": "x" * 37}, {"group_id": None}):
        assert fetch_codes(newcomer.fetch(**fields)) == [INVALID], fields
        assert codes(newcomer.acknowledge((0, 0, ACCEPT), **fields)) == [INVALID], fields
    for epoch in (1, -1, -2, -INT32 - 1, INT32):
        assert fetch_codes(newcomer.fetch(epoch=epoch)) == [NO_SESSION], epoch
        assert codes(newcomer.acknowledge((0, 0, ACCEPT), epoch=epoch)) == [NO_SESSION], epoch
    assert codes(newcomer.acknowledge((0, 0, ACCEPT), epoch=0)) == [WRONG_EPOCH]
    assert fetch_codes(newcomer.fetch((0, 0, ACCEPT))) == [INVALID]
    assert fetch_codes(newcomer.fetch(member_id="not a uuid")) == [0]


def test_renewals_fetch_nothing_and_are_announced(member: ShareMember) -> None:
    assert fetch_codes(member.fetch((0, 1, [1, 4]), **RENEWING)) == [0]
    assert fetch_codes(member.fetch(names=True, **RENEWING)) == [0]
    for name in ("max_bytes", "min_bytes", "max_records", "max_wait_ms"):
        assert fetch_codes(member.fetch((1, 1, RENEW), **{**RENEWING, name: 1})) == [INVALID], name
    assert fetch_codes(member.fetch((1, 1, RENEW))) == [INVALID]
    assert codes(member.acknowledge((1, 1, RENEW))) == [INVALID]
    assert codes(member.acknowledge((1, 2, RENEW), is_renew_ack=True)) == [0]
    assert codes(member.acknowledge((20, 20, RENEW), is_renew_ack=True)) == [INVALID]
    assert codes(member.acknowledge((1, RECORDS - 1, ACCEPT), is_renew_ack=True)) == [0]


def test_a_group_that_does_not_renew_refuses_it(broker: Broker, member: ShareMember) -> None:
    configure(broker, member.group, share_renew_acknowledge_enable="false")
    assert fetch_codes(member.fetch((0, 3, RENEW), **RENEWING)) == [WRONG_STATE]
    assert codes(member.acknowledge((0, 1, [1, 4]), is_renew_ack=True)) == [WRONG_STATE]
    assert codes(member.acknowledge((0, 1, ACCEPT), is_renew_ack=True)) == [0]


def test_records_deleted_from_under_a_member_are_ignored(member: ShareMember) -> None:
    places = [DeleteRecordsPartition(partition_index=0, offset=5)]
    request = DeleteRecordsRequest(
        topics=[DeleteRecordsTopic(name=member.topic, partitions=places)], timeout_ms=5_000
    )
    assert member.raw.call(request, 2).topics[0].partitions[0].error_code == 0
    assert codes(member.acknowledge((0, 0, ACCEPT))) == [0]
    assert codes(member.acknowledge((1, 6, ACCEPT))) == [0]
    assert codes(member.acknowledge((1, 2, RELEASE))) == [0]
    assert codes(member.acknowledge((7, RECORDS - 1, ACCEPT))) == [0]
    assert acquired(member.fetch()) == []


@pytest.mark.parametrize("case", BEATS)
def test_an_illegal_heartbeat_has_its_code(newcomer: ShareMember, case: str) -> None:
    fields, code = BEATS[case]
    newcomer.find_coordinator()
    assert newcomer.beat(**fields).error_code == code


def test_members_have_their_epoch(newcomer: ShareMember) -> None:
    newcomer.join()
    for epoch in (newcomer.member_epoch + 1, INT32):
        assert newcomer.beat(epoch).error_code == ErrorCode.FENCED_MEMBER_EPOCH
    for epoch in (newcomer.member_epoch, -1):
        assert newcomer.beat(epoch, member_id="other").error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert newcomer.beat(newcomer.member_epoch, rack_id="").error_code == INVALID
    assert newcomer.beat(0, subscribed_topic_names=None).error_code == INVALID
    outcomes = [newcomer.beat(epoch).error_code for epoch in (-1, -1, newcomer.member_epoch)]
    assert outcomes == [0, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.UNKNOWN_MEMBER_ID]


def test_the_progress_of_a_group_with_members_is_neither_set_nor_deleted(member: ShareMember) -> None:
    assert altered(member.raw, member.group, member.topic, 0, 1).error_code == ErrorCode.NON_EMPTY_GROUP
    assert deleted(member.raw, member.group, member.topic)[0] == ErrorCode.NON_EMPTY_GROUP
    (result,) = member.raw.call(DeleteGroupsRequest(groups_names=[member.group]), 2).results
    assert result.error_code == ErrorCode.NON_EMPTY_GROUP
    assert deleted(member.raw, "", member.topic) == [ErrorCode.INVALID_GROUP_ID]
    assert deleted(member.raw, "no-such-group", member.topic) == [NO_GROUP]


def setting(raw: RawClient, group: str, name: str, value: str | None) -> int:
    """Set a setting of a group; return the error."""
    configs = [AlterableConfig(name=name, config_operation=0, value=value)]
    resource = AlterConfigsResource(resource_type=32, resource_name=group, configs=configs)
    request = IncrementalAlterConfigsRequest(resources=[resource], validate_only=False)
    (result,) = raw.call(request, 1).responses
    return int(result.error_code)


@pytest.mark.parametrize(
    ("name", "least", "most"),
    [
        ("share.session.timeout.ms", 45_000, 60_000),
        ("share.heartbeat.interval.ms", 5_000, 15_000),
        ("share.record.lock.duration.ms", 15_000, 60_000),
        ("share.delivery.count.limit", 2, 10),
        ("share.partition.max.record.locks", 100, 4_000),
    ],
)
def test_numbers_out_of_bounds_are_refused(
    raw: RawClient, topic: str, name: str, least: int, most: int
) -> None:
    for value in (least, most, f" {least}"):
        assert setting(raw, topic, name, f"{value}") == 0, value
    for wrong in (least - 1, most + 1, 0, -1, 2**31):
        assert setting(raw, topic, name, f"{wrong}") == ErrorCode.INVALID_CONFIG, wrong
    for text in ("", "x", "1.5"):
        assert setting(raw, topic, name, text) == ErrorCode.INVALID_CONFIG, text


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        (
            "share.auto.offset.reset",
            ("latest", "earliest", "by_duration:PT1H"),
            ("", "none", "by_duration:", "by_duration:-PT1H", "by_duration:P1Y", "by_duration: PT1H"),
        ),
        ("share.isolation.level", ("read_committed", "read_uncommitted"), ("", "serializable")),
        ("share.renew.acknowledge.enable", ("true", "TRUE"), ("yes", "1")),
        ("share.no.such.setting", (), ("1",)),
    ],
)
def test_other_settings_have_their_values(
    raw: RawClient, topic: str, name: str, right: tuple[str, ...], wrong: tuple[str, ...]
) -> None:
    assert [setting(raw, topic, name, value) for value in right] == [0] * len(right)
    assert [setting(raw, topic, name, value) for value in wrong] == [ErrorCode.INVALID_CONFIG] * len(wrong)


def consumer_beat(raw: RawClient, group: str, topic: str) -> int:
    request = consumer_group_heartbeat.ConsumerGroupHeartbeatRequest(
        group_id=group,
        member_id="",
        member_epoch=0,
        rebalance_timeout_ms=1_000,
        subscribed_topic_names=[topic],
        topic_partitions=[],
    )
    return int(raw.call(request, 0).error_code)


def test_a_share_group_is_no_group_of_another_type(newcomer: ShareMember) -> None:
    newcomer.join()
    raw, group, topic = newcomer.raw, newcomer.group, newcomer.topic
    protocol = join_group.JoinGroupRequestProtocol(name="range", metadata=bytes(8))
    joining = join_group.JoinGroupRequest(
        group_id=group,
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        member_id="",
        protocol_type="consumer",
        protocols=[protocol],
    )
    assert raw.call(joining, 3).error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert consumer_beat(raw, group, topic) == NO_GROUP
    offset = offset_commit.OffsetCommitRequestPartition(
        partition_index=0, committed_offset=1, committed_leader_epoch=-1, committed_metadata=""
    )
    committing = offset_commit.OffsetCommitRequest(
        group_id=group,
        generation_id_or_member_epoch=-1,
        member_id="",
        topics=[offset_commit.OffsetCommitRequestTopic(name=topic, partitions=[offset])],
    )
    assert raw.call(committing, 7).topics[0].partitions[0].error_code == NO_GROUP
    describing = ConsumerGroupDescribeRequest(group_ids=[group], include_authorized_operations=False)
    assert raw.call(describing, 0).groups[0].error_code == NO_GROUP
    leaving = LeaveGroupRequest(group_id=group, member_id=newcomer.member_id)
    assert raw.call(leaving, 0).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_consumer_group_is_no_share_group(newcomer: ShareMember) -> None:
    newcomer.find_coordinator()
    raw, group, topic = newcomer.raw, newcomer.group, newcomer.topic
    assert consumer_beat(raw, group, topic) == 0
    assert [newcomer.beat(epoch).error_code for epoch in (0, 1, -1)] == [NO_GROUP] * 3
    describing = ShareGroupDescribeRequest(group_ids=[group, "none", ""], include_authorized_operations=False)
    found = [described.error_code for described in raw.call(describing, 1).groups]
    assert sorted(found) == sorted([NO_GROUP, NO_GROUP, ErrorCode.INVALID_GROUP_ID])
    assert altered(raw, group, topic, 0, 0).error_code == NO_GROUP
    assert deleted(raw, group, topic) == [NO_GROUP]
