"""Share groups that are deleted, and their progress in single topics."""

from __future__ import annotations

import pytest

from groups.errors import GroupNotFound, NonEmptyGroup
from protocol.error_codes import ErrorCode
from tests.groups.share.coordinated import Coordinated


def an_empty_group() -> Coordinated:
    driver = Coordinated("t")
    joined = driver.beat_share("g", "m1", 0, "t").value
    assert joined.error_code == 0
    driver.beat_share("g", "m1", -1)
    return driver


def test_a_group_is_deleted_with_its_states_and_does_not_come_back() -> None:
    driver = an_empty_group()
    (result,) = driver.delete("g").value.results
    assert result.error_code == 0
    assert [(order.group_id, order.topic_ids) for order in driver.deleted] == [("g", None)]
    driver.restart()
    assert driver.coordinator.share(driver.now_ms).groups == {}


def test_a_group_with_members_is_not_deleted() -> None:
    driver = Coordinated("t")
    driver.beat_share("g", "m1", 0, "t")
    (result,) = driver.delete("g").value.results
    assert result.error_code == ErrorCode.NON_EMPTY_GROUP
    assert driver.deleted == []


def test_a_group_whose_states_cannot_be_deleted_stays() -> None:
    driver = an_empty_group()
    driver.outcome = ErrorCode.COORDINATOR_NOT_AVAILABLE
    (result,) = driver.delete("g").value.results
    assert result.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert "g" in driver.coordinator.share(driver.now_ms).groups


def test_a_group_that_a_member_joins_meanwhile_stays_and_gets_new_states() -> None:
    driver = an_empty_group()
    driver.hold_orders = True
    answer = driver.delete("g")
    joined = driver.beat_share("g", "m2", 0, "t")
    driver.hold_orders = False
    driver.carry_out()
    assert answer.value.results[0].error_code == ErrorCode.NON_EMPTY_GROUP
    driver.beat_share("g", "m2", joined.value.member_epoch)
    group = driver.coordinator.share(driver.now_ms).groups["g"]
    assert [sorted(topic.partitions) for topic in group.initialized.values()] == [[0, 1, 2, 3]]


def test_a_group_names_no_states_while_they_are_deleted_so_that_a_crash_leaves_none_named() -> None:
    driver = an_empty_group()
    driver.hold_orders = True
    driver.delete("g")
    # The power fails when only some of the states are deleted.
    driver.held.clear()
    driver.restart()
    driver.hold_orders = False
    assert driver.coordinator.share(driver.now_ms).groups["g"].initialized == {}
    joined = driver.beat_share("g", "m2", 0, "t").value
    assert joined.error_code == 0
    group = driver.coordinator.share(driver.now_ms).groups["g"]
    assert [sorted(topic.partitions) for topic in group.initialized.values()] == [[0, 1, 2, 3]]


def test_states_that_cannot_be_deleted_are_named_no_more_and_made_anew_for_the_next_member() -> None:
    driver = an_empty_group()
    driver.outcome = ErrorCode.KAFKA_STORAGE_ERROR
    driver.delete("g")
    assert driver.coordinator.share(driver.now_ms).groups["g"].initialized == {}
    driver.outcome = ErrorCode.NONE
    driver.beat_share("g", "m2", 0, "t")
    assert driver.coordinator.share(driver.now_ms).groups["g"].initialized


def test_states_that_are_being_made_for_a_member_that_left_are_not_deleted() -> None:
    driver = Coordinated("t")
    driver.hold_orders = True
    driver.beat_share("g", "m1", 0, "t")
    driver.beat_share("g", "m1", -1)
    (result,) = driver.delete("g").value.results
    assert result.error_code == ErrorCode.NON_EMPTY_GROUP
    driver.hold_orders = False
    driver.carry_out()
    assert driver.coordinator.share(driver.now_ms).groups["g"].initialized


def test_progress_in_a_topic_is_deleted_and_the_group_stays() -> None:
    driver = an_empty_group()
    topic_id = driver.topics.by_name["t"].topic_id
    outcomes: list[ErrorCode] = []
    driver.coordinator.share(driver.now_ms).delete_progress("g", [topic_id], outcomes.append)
    driver.carry_out()
    assert outcomes == [ErrorCode.NONE]
    assert driver.coordinator.share(driver.now_ms).groups["g"].initialized == {}


def test_only_an_empty_share_group_can_be_changed() -> None:
    driver = Coordinated("t")
    driver.beat_share("g", "m1", 0, "t")
    share = driver.coordinator.share(driver.now_ms)
    with pytest.raises(NonEmptyGroup):
        share.empty_group("g")
    with pytest.raises(GroupNotFound):
        share.empty_group("other")


def a_damaged_group(kind: bytes = b"\x00\x0b") -> Coordinated:
    """Return a group of two members with a record, of this type of key, that cannot be read."""
    driver = Coordinated("t")
    driver.beat_share("g", "m1", 0, "t")
    driver.beat_share("g", "m2", 0, "t")
    log = driver.log[driver.coordinator.partition_of("g")]
    log.append((next(key for key, _ in log if key[:2] == kind), b"\x00\x63junk"))
    driver.restart()
    return driver


@pytest.mark.parametrize("kind", [b"\x00\x0b", b"\x00\x0a", b"\x00\x0f"])
def test_a_damaged_group_is_deleted_with_its_members_its_states_and_the_record_that_cannot_be_read(
    kind: bytes,
) -> None:
    driver = a_damaged_group(kind)
    assert driver.beat_share("g", "m1", 2).value.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    answer = driver.delete("g")
    driver.advance(5)
    assert [result.error_code for result in answer.value.results] == [0]
    assert [order.group_id for order in driver.deleted] == ["g"]
    assert driver.beat_share("g", "m1", 0, "t").value.error_code == 0
    driver.restart()
    assert driver.coordinator.is_whole(driver.coordinator.partition_of("g"))
    assert list(driver.coordinator.share(driver.now_ms).groups["g"].members) == ["m1"]


def test_a_damaged_group_whose_states_cannot_be_deleted_stays_refused_and_can_be_deleted_again() -> None:
    driver = a_damaged_group()
    driver.outcome = ErrorCode.KAFKA_STORAGE_ERROR
    answer = driver.delete("g")
    assert [result.error_code for result in answer.value.results] == [ErrorCode.KAFKA_STORAGE_ERROR]
    assert driver.beat_share("g", "m1", 0, "t").value.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    driver.outcome = ErrorCode.NONE
    again = driver.delete("g")
    driver.advance(5)
    assert [result.error_code for result in again.value.results] == [0]


def test_a_damaged_group_keeps_its_members_as_their_sessions_do_not_run() -> None:
    driver = a_damaged_group()
    driver.advance(3_600_000)
    assert list(driver.coordinator.share(driver.now_ms).groups["g"].members) == ["m1", "m2"]
