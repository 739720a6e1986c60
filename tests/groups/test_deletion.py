"""Tests of groups/deletion.py."""

from __future__ import annotations

import pytest

from protocol.error_codes import ErrorCode
from protocol.messages.delete_groups import DeleteGroupsRequest
from protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
)
from tests.groups.classic import one_member
from tests.groups.driver import Answer, Driver


@pytest.fixture
def driver() -> Driver:
    return Driver("t", "u")


def delete(driver: Driver, *names: str) -> dict[str, ErrorCode]:
    answer = driver.call(driver.coordinator.delete_groups, DeleteGroupsRequest(groups_names=list(names)))
    return {result.group_id: ErrorCode(result.error_code) for result in answer.value.results}


def delete_offsets(driver: Driver, group_id: str, topic: str, *indexes: int) -> Answer[OffsetDeleteResponse]:
    request = OffsetDeleteRequest(
        group_id=group_id,
        topics=[
            OffsetDeleteRequestTopic(
                name=topic,
                partitions=[OffsetDeleteRequestPartition(partition_index=index) for index in indexes],
            )
        ],
    )
    return driver.call(driver.coordinator.offset_delete, request)


def item_errors(answer: Answer[OffsetDeleteResponse]) -> set[ErrorCode]:
    assert answer.error == ErrorCode.NONE
    return {ErrorCode(item.error_code) for topic in answer.value.topics for item in topic.partitions}


# --- DeleteGroups -------------------------------------------------------------------------------------------


def test_a_group_without_members_goes_with_its_offsets(driver: Driver) -> None:
    driver.leave("classic", (one_member(driver, "classic"), None))
    driver.join_consumer("consumer", "a", "t")
    driver.beat("consumer", "a", -1)
    for name in ("simple", "classic", "consumer", ""):
        driver.commit(name, {("t", 0): 7})
    names = ["simple", "classic", "consumer", ""]
    assert delete(driver, *names) == dict.fromkeys(names, ErrorCode.NONE)
    assert driver.coordinator.counts()["offsets"] == 0
    driver.restart()
    assert delete(driver, *names) == dict.fromkeys(names, ErrorCode.GROUP_ID_NOT_FOUND)


def test_nothing_of_it_is_left_in_the_log(driver: Driver) -> None:
    driver.join_consumer("consumer", "a", "t", regex="x.*")
    driver.beat("consumer", "a", -1)
    driver.commit("consumer", {("t", 0): 7})
    delete(driver, "consumer")
    last = {key: value for records in driver.log.values() for key, value in records}
    assert set(last.values()) == {None}


def test_a_group_with_members_stays(driver: Driver) -> None:
    one_member(driver, "classic")
    driver.join_consumer("consumer", "a", "t")
    assert delete(driver, "classic", "consumer", "nobody") == {
        "classic": ErrorCode.NON_EMPTY_GROUP,
        "consumer": ErrorCode.NON_EMPTY_GROUP,
        "nobody": ErrorCode.GROUP_ID_NOT_FOUND,
    }


def test_each_name_is_answered_once(driver: Driver) -> None:
    driver.commit("g", {("t", 0): 7})
    assert delete(driver, "g", "g") == {"g": ErrorCode.NONE}
    assert delete(driver) == {}


def test_a_commit_on_its_way_does_not_bring_the_group_back(driver: Driver) -> None:
    driver.commit("g", {("t", 0): 7})
    driver.hold = True
    driver.commit("g", {("t", 1): 8})
    request = DeleteGroupsRequest(groups_names=["g"])
    answer = driver.call(driver.coordinator.delete_groups, request)
    assert answer.waits
    driver.sync()
    assert answer.value.results[0].error_code == ErrorCode.NONE
    assert driver.coordinator.counts()["offsets"] == 0


def test_a_deletion_that_is_lost_changes_nothing(driver: Driver) -> None:
    driver.leave("g", (one_member(driver), None))
    driver.commit("g", {("t", 0): 7})
    driver.hold = True
    request = DeleteGroupsRequest(groups_names=["g"])
    answer = driver.call(driver.coordinator.delete_groups, request)
    waiting = driver.join("g", version=3)
    driver.fail()
    driver.hold = False
    assert answer.value.results[0].error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert waiting.error == ErrorCode.NOT_COORDINATOR
    assert driver.committed("g", "t", 0) == 7
    assert delete(driver, "g") == {"g": ErrorCode.NONE}


# --- OffsetDelete -------------------------------------------------------------------------------------------


def test_offsets_are_forgotten_one_by_one(driver: Driver) -> None:
    driver.commit("g", {("t", 0): 5, ("t", 1): 6, ("u", 0): 7})
    assert item_errors(delete_offsets(driver, "g", "t", 0, 3)) == {ErrorCode.NONE}
    driver.restart()
    assert [driver.committed("g", "t", 0), driver.committed("g", "t", 1)] == [None, 6]


def test_topics_that_the_group_subscribes_to_are_kept(driver: Driver) -> None:
    member_id = one_member(driver, "classic")
    driver.commit("classic", {("t", 0): 5, ("u", 0): 5}, member_id=member_id, generation=1)
    driver.join_consumer("consumer", "a", "t")
    driver.commit("consumer", {("t", 0): 5, ("u", 0): 5}, member_id="a", generation=2)
    for name in ("classic", "consumer"):
        refused = delete_offsets(driver, name, "t", 0)
        assert item_errors(refused) == {ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC}
        assert item_errors(delete_offsets(driver, name, "u", 0)) == {ErrorCode.NONE}
        assert (driver.committed(name, "t", 0), driver.committed(name, "u", 0)) == (5, None)


@pytest.mark.parametrize(("topic", "index"), [("nothing", 0), ("t", 4), ("t", -1)])
def test_unknown_partitions_are_refused(driver: Driver, topic: str, index: int) -> None:
    driver.commit("g", {("t", 0): 5})
    refused = delete_offsets(driver, "g", topic, index)
    assert item_errors(refused) == {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}


def test_groups_of_other_protocol_types_must_be_empty(driver: Driver) -> None:
    driver.join("g", version=3, protocol_type="connect", protocols=[("v0", b"")])
    assert delete_offsets(driver, "g", "t", 0).error == ErrorCode.NON_EMPTY_GROUP


def test_the_group_must_exist(driver: Driver) -> None:
    assert delete_offsets(driver, "g", "t", 0).error == ErrorCode.GROUP_ID_NOT_FOUND
    assert delete_offsets(driver, "", "t", 0).error == ErrorCode.INVALID_GROUP_ID


def test_a_lost_deletion_of_offsets_changes_nothing(driver: Driver) -> None:
    driver.commit("g", {("t", 0): 5})
    driver.hold = True
    answer = delete_offsets(driver, "g", "t", 0)
    driver.fail()
    assert answer.error == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert driver.committed("g", "t", 0) == 5
