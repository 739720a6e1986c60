"""Share groups among the other groups of a coordinator: one space of ids, one log."""

from __future__ import annotations

from groups.topics import Client
from protocol.error_codes import ErrorCode
from protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from protocol.messages.describe_groups import DescribeGroupsRequest
from protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from protocol.messages.list_groups import ListGroupsRequest
from protocol.messages.share_group_describe import ShareGroupDescribeRequest
from tests.groups.driver import Answer, codes
from tests.groups.kit import in_one_go
from tests.groups.share.coordinated import Coordinated

CLIENT = Client(9, "client", "/127.0.0.1")


def test_a_share_group_is_listed_with_its_type_and_found_by_it() -> None:
    driver = Coordinated("t")
    driver.beat_share("g", "m1", 0, "t")
    for types in ([], ["Share"]):
        request = ListGroupsRequest(states_filter=[], types_filter=types)
        (listed,) = in_one_go(driver.coordinator.list_groups(request, driver.now_ms)).groups
        assert (listed.group_id, listed.group_type, listed.group_state) == ("g", "share", "Stable")
    request = ListGroupsRequest(states_filter=[], types_filter=["consumer"])
    assert in_one_go(driver.coordinator.list_groups(request, driver.now_ms)).groups == []
    assert driver.coordinator.counts()["share:Stable"] == 1


def test_a_share_group_is_none_of_the_other_types() -> None:
    driver = Coordinated("t")
    driver.beat_share("g", "m1", 0, "t")
    request = DescribeGroupsRequest(groups=["g"])
    steps = driver.coordinator.describe_groups(request, Client(6, "client", "/"), driver.now_ms)
    (classic,) = in_one_go(steps).groups
    assert (classic.error_code, classic.error_message) == (
        ErrorCode.GROUP_ID_NOT_FOUND,
        "Group g is not a classic group.",
    )
    asked = ConsumerGroupDescribeRequest(group_ids=["g"], include_authorized_operations=False)
    (consumer,) = in_one_go(driver.coordinator.consumer_group_describe(asked, driver.now_ms)).groups
    assert (consumer.error_code, consumer.error_message) == (
        ErrorCode.GROUP_ID_NOT_FOUND,
        "Group g is not a consumer group.",
    )


def test_members_of_other_types_cannot_join_a_share_group() -> None:
    driver = Coordinated("t")
    driver.beat_share("g", "m1", 0, "t")
    joined: Answer[JoinGroupResponse] = Answer()
    join = JoinGroupRequest(
        group_id="g",
        session_timeout_ms=30_000,
        rebalance_timeout_ms=30_000,
        member_id="",
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=b"")],
    )
    driver.coordinator.join_group(join, CLIENT, joined, driver.now_ms)
    assert joined.value.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    beat: Answer[ConsumerGroupHeartbeatResponse] = Answer()
    request = ConsumerGroupHeartbeatRequest(
        group_id="g",
        member_id="m2",
        member_epoch=0,
        rebalance_timeout_ms=30_000,
        subscribed_topic_names=["t"],
        topic_partitions=[],
    )
    driver.coordinator.consumer_group_heartbeat(request, CLIENT, beat, driver.now_ms)
    assert beat.value.error_code == ErrorCode.GROUP_ID_NOT_FOUND


def test_a_member_of_a_share_group_cannot_join_a_group_of_another_type() -> None:
    driver = Coordinated("t")
    driver.commit("g", {("t", 0): 5})
    assert driver.beat_share("g", "m1", 0, "t").value.error_code == ErrorCode.GROUP_ID_NOT_FOUND


def test_offsets_cannot_be_committed_in_a_share_group() -> None:
    driver = Coordinated("t")
    driver.beat_share("g", "m1", 0, "t")
    assert codes(driver.commit("g", {("t", 0): 5})) == [ErrorCode.GROUP_ID_NOT_FOUND]


def test_a_share_group_survives_a_restart_and_a_snapshot() -> None:
    driver = Coordinated("t")
    epoch = driver.beat_share("g", "m1", 0, "t").value.member_epoch
    lists = [part for index in driver.log for part in driver.coordinator.snapshot(index)]
    partition = driver.coordinator.partition_of("g")
    driver.log = {index: [] for index in driver.log}
    driver.log[partition] = [record for part in lists for record in part]
    driver.restart()
    request = ShareGroupDescribeRequest(group_ids=["g"], include_authorized_operations=False)
    (group,) = in_one_go(driver.coordinator.share(driver.now_ms).describe(request)).groups
    assert [(member.member_id, member.member_epoch) for member in group.members] == [("m1", epoch)]


def test_the_sessions_of_members_go_on_after_a_restart() -> None:
    driver = Coordinated("t")
    driver.beat_share("g", "m1", 0, "t")
    driver.restart()
    driver.advance(45_000)
    assert driver.coordinator.share(driver.now_ms).groups["g"].members == {}


def test_a_topic_that_grows_gives_members_more_with_their_next_heartbeat() -> None:
    driver = Coordinated("t")
    joined = driver.beat_share("g", "m1", 0, "t").value
    topic = driver.topics.by_name["t"]
    topic.partition_count = 6
    driver.coordinator.topics_changed(driver.now_ms, grown=["t"])
    assignment = driver.beat_share("g", "m1", joined.member_epoch).value.assignment
    assert assignment is not None
    assert assignment.topic_partitions[0].partitions == [0, 1, 2, 3, 4, 5]


def test_a_partition_that_is_unloaded_forgets_its_share_groups() -> None:
    driver = Coordinated("t")
    driver.beat_share("g", "m1", 0, "t")
    driver.coordinator.unload(list(driver.log), driver.now_ms)
    assert driver.coordinator.share(driver.now_ms).groups == {}
    answer = driver.beat_share("g", "m1", 1)
    assert answer.value.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
