"""Tests of groups/describe.py."""

from __future__ import annotations

import pytest

from protocol.error_codes import ErrorCode
from protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest, DescribedGroup
from protocol.messages.describe_groups import DescribedGroup as DescribedClassicGroup
from protocol.messages.describe_groups import DescribeGroupsRequest
from protocol.messages.list_groups import ListGroupsRequest
from tests.groups.classic import ALL, join_waiting, one_member
from tests.groups.consumers import settle
from tests.groups.driver import Driver, client
from tests.groups.kit import in_one_go


@pytest.fixture
def driver(driver: Driver) -> Driver:
    one_member(driver, "classic")
    driver.join_consumer("consumer", "a", "t")
    driver.commit("simple", {("t", 0): 5})
    driver.leave("empty", (one_member(driver, "empty"), None))
    return driver


def listed(
    driver: Driver, states: tuple[str, ...] = (), types: tuple[str, ...] = ()
) -> dict[str, tuple[str, str, str]]:
    request = ListGroupsRequest(states_filter=list(states), types_filter=list(types))
    response = in_one_go(driver.coordinator.list_groups(request, driver.now_ms))
    assert response.error_code == ErrorCode.NONE
    return {
        group.group_id: (group.protocol_type, group.group_state, group.group_type)
        for group in response.groups
    }


def describe(driver: Driver, group_id: str, version: int = 6) -> DescribedClassicGroup:
    request = DescribeGroupsRequest(groups=[group_id])
    [found] = in_one_go(driver.coordinator.describe_groups(request, client(version), driver.now_ms)).groups
    return found


def describe_consumer(driver: Driver, group_id: str) -> DescribedGroup:
    request = ConsumerGroupDescribeRequest(group_ids=[group_id], include_authorized_operations=False)
    [found] = in_one_go(driver.coordinator.consumer_group_describe(request, driver.now_ms)).groups
    return found


# --- ListGroups ---------------------------------------------------------------------------------------------


def test_all_groups_are_listed(driver: Driver) -> None:
    assert listed(driver) == {
        "classic": ("consumer", "Stable", "classic"),
        "consumer": ("consumer", "Stable", "consumer"),
        "simple": ("", "Empty", "classic"),
        "empty": ("consumer", "Empty", "classic"),
    }


@pytest.mark.parametrize(
    ("states", "types", "found"),
    [
        (("STABLE",), (), {"classic", "consumer"}),
        (("empty", "Dead"), (), {"simple", "empty"}),
        ((), ("Consumer",), {"consumer"}),
        (("stable",), ("CLASSIC",), {"classic"}),
        (("nonsense",), (), set()),
        ((), ("share",), set()),
    ],
)
def test_filters_ignore_case(
    driver: Driver, states: tuple[str, ...], types: tuple[str, ...], found: set[str]
) -> None:
    assert set(listed(driver, states, types)) == found


def test_while_partitions_load_the_list_would_be_incomplete(driver: Driver) -> None:
    driver.coordinator.unload([2], driver.now_ms)
    response = in_one_go(driver.coordinator.list_groups(ListGroupsRequest(), driver.now_ms))
    assert response.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


# --- DescribeGroups -----------------------------------------------------------------------------------------


def test_a_classic_group_is_described_with_its_members(driver: Driver) -> None:
    found = describe(driver, "classic")
    assert (found.error_code, found.group_state) == (ErrorCode.NONE, "Stable")
    assert (found.protocol_type, found.protocol_data) == ("consumer", "range")
    [member] = found.members
    assert (member.client_id, member.client_host) == ("app", "/127.0.0.1")
    assert member.member_metadata
    assert member.member_assignment == ALL


def test_in_a_rebalance_members_have_what_they_had(driver: Driver) -> None:
    join_waiting(driver, "classic")
    found = describe(driver, "classic")
    assert (found.group_state, found.protocol_data) == ("PreparingRebalance", "")
    assert [member.member_metadata for member in found.members] == [b"", b""]
    assert sorted(member.member_assignment for member in found.members) == [b"", ALL]


def test_a_group_that_only_has_offsets_is_empty(driver: Driver) -> None:
    found = describe(driver, "simple")
    assert (found.error_code, found.group_state, found.protocol_type) == (ErrorCode.NONE, "Empty", "")


@pytest.mark.parametrize("group_id", ["nobody", "consumer", ""])
def test_a_group_that_is_no_classic_group_is_not_found(driver: Driver, group_id: str) -> None:
    found = describe(driver, group_id)
    assert (found.error_code, found.group_state) == (ErrorCode.GROUP_ID_NOT_FOUND, "Dead")
    assert found.error_message
    before = describe(driver, group_id, version=5)
    assert (before.error_code, before.group_state, before.error_message) == (ErrorCode.NONE, "Dead", None)


def test_a_partition_that_loads_is_an_error_in_every_version(driver: Driver) -> None:
    driver.coordinator.unload(range(5), driver.now_ms)
    for version in (0, 6):
        assert describe(driver, "classic", version).error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


# --- ConsumerGroupDescribe ----------------------------------------------------------------------------------


def test_a_consumer_group_is_described_with_its_epochs_and_members(driver: Driver) -> None:
    driver.advance(2_000)
    driver.join_consumer("consumer", "b", "t", instance_id="i", rack_id="r")
    found = describe_consumer(driver, "consumer")
    assert (found.group_state, found.group_epoch, found.assignment_epoch) == ("Reconciling", 3, 3)
    assert found.assignor_name == "tdengine"
    first, second = found.members
    assert (first.member_id, first.member_epoch, first.member_type) == ("a", 2, 1)
    assert first.assignment.topic_partitions[0].partitions == [0, 1, 2, 3]
    assert first.target_assignment.topic_partitions[0].partitions == [0, 1]
    driver.beat("consumer", "a", 2)  # It is told to revoke two, and still owns them.
    first = describe_consumer(driver, "consumer").members[0]
    assert first.assignment.topic_partitions[0].partitions == [0, 1, 2, 3]
    assert first.assignment.topic_partitions[0].topic_name == "t"
    assert (second.instance_id, second.rack_id) == ("i", "r")
    assert (second.subscribed_topic_names, second.subscribed_topic_regex) == (["t"], "")


def test_members_of_the_classic_protocol_are_told_apart(driver: Driver) -> None:
    old = driver.join("consumer", version=3).value.member_id
    types = {member.member_id: member.member_type for member in describe_consumer(driver, "consumer").members}
    assert types == {"a": 1, old: 0}


def test_topics_that_are_gone_are_left_out(driver: Driver) -> None:
    driver.topics.delete("t")
    [member] = describe_consumer(driver, "consumer").members
    assert member.assignment.topic_partitions == []


@pytest.mark.parametrize(
    ("group_id", "why"), [("nobody", "not found"), ("classic", "not a consumer"), ("simple", "not a")]
)
def test_a_group_that_is_no_consumer_group_is_not_found(driver: Driver, group_id: str, why: str) -> None:
    found = describe_consumer(driver, group_id)
    assert found.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert why in (found.error_message or "")


def test_an_empty_name_is_refused(driver: Driver) -> None:
    assert describe_consumer(driver, "").error_code == ErrorCode.INVALID_GROUP_ID


def test_an_empty_consumer_group_is_described(driver: Driver) -> None:
    driver.beat("consumer", "a", -1)
    found = describe_consumer(driver, "consumer")
    assert (found.error_code, found.group_state, found.members) == (ErrorCode.NONE, "Empty", [])


def test_a_settled_group_is_stable(driver: Driver) -> None:
    driver.join_consumer("consumer", "b", "t")
    settle(driver, "a", "b", group_id="consumer")
    assert describe_consumer(driver, "consumer").group_state == "Stable"
