"""Groups with records that cannot be read are deleted some at a time, and are refused until all are gone."""

from __future__ import annotations

from typing import Any

import pytest

from groups.effects import EncodedRecord
from groups.record_keys import MemberKey
from groups.records import encode_record
from groups.wide_deletion import DELETED_PER_STEP
from protocol.error_codes import ErrorCode
from protocol.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from tests.groups.classic import one_member
from tests.groups.consumers import group_of, settle
from tests.groups.driver import Answer, Driver
from tests.groups.test_topic_deletion import left_in_log, stage

OFFSETS, MEMBERS, MISREAD = 3 * DELETED_PER_STEP + 7, DELETED_PER_STEP, 2 * DELETED_PER_STEP + 3


def misread(group_id: str, number: int) -> EncodedRecord:
    """Return the record of a member whose value cannot be read."""
    return encode_record(MemberKey(group_id, f"misread {number}"), None)[0], b"\0\0junk"


def damaged(group_id: str) -> Driver:
    """Return a driver with a group of very many records, of which some cannot be read."""
    driver = Driver("u", partitions=1)
    driver.create_topic("t", OFFSETS)
    for number in range(MEMBERS):
        driver.join_consumer("members", f"m{number}", "t", "u")
    settle(driver, *(f"m{number}" for number in range(MEMBERS)), group_id="members")
    driver.commit("simple", {("t", index): 5 for index in range(OFFSETS)})
    one_member(driver, "classic")
    driver.commit("h", {("t", 0): 5})
    driver.log[0] += [misread(group_id, number) for number in range(MISREAD)]
    driver.restart()
    return driver


def delete(driver: Driver, *names: str) -> Answer[DeleteGroupsResponse]:
    return driver.call(driver.coordinator.delete_groups, DeleteGroupsRequest(groups_names=list(names)))


def codes(answer: Answer[DeleteGroupsResponse]) -> list[int]:
    return [result.error_code for result in answer.value.results]


def is_refused(driver: Driver, group_id: str) -> bool:
    answer: Any = driver.fetch(group_id, "t", 0).value.groups[0]
    return bool(answer.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE)


@pytest.mark.parametrize("group_id", ["members", "simple", "classic"])
def test_it_goes_with_all_its_records_some_at_a_time_and_is_refused_until_all_are_durable(
    group_id: str,
) -> None:
    driver = damaged(group_id)
    driver.hold = True
    answer, sizes, left = delete(driver, group_id, "h"), list[int](), left_in_log(driver)
    while driver.in_flight:
        sizes += [len(effects.records) for effects in driver.in_flight]
        assert answer.waits
        assert is_refused(driver, group_id)
        driver.sync()
        driver.advance(1)
    assert codes(answer) == [ErrorCode.NONE, ErrorCode.NONE]
    assert max(sizes) == DELETED_PER_STEP
    records = {"members": 3 * MEMBERS + 2, "simple": OFFSETS, "classic": 1}[group_id]
    assert sum(sizes) == records + MISREAD + 1, "and the offset of h"
    gone = left - left_in_log(driver)
    assert len(gone) == sum(sizes)
    assert not is_refused(driver, group_id)
    for _ in range(2):
        assert codes(delete(driver, group_id)) == [ErrorCode.GROUP_ID_NOT_FOUND]
        driver.restart()


@pytest.mark.parametrize("group_id", ["members", "simple", "classic"])
def test_after_a_crash_in_between_what_is_left_of_it_is_refused_and_can_be_deleted(group_id: str) -> None:
    for synced in range(20):
        driver = damaged(group_id)
        driver.hold = True
        answer = delete(driver, group_id)
        for _ in range(synced):
            driver.sync()
            driver.advance(1)
        answered = not answer.waits
        driver.hold = False
        driver.restart()
        left = [key for key in left_in_log(driver) if group_id.encode() in key]
        assert is_refused(driver, group_id) == bool(left)
        again = delete(driver, group_id)
        driver.advance(1_000)
        assert codes(again) == [ErrorCode.NONE if left else ErrorCode.GROUP_ID_NOT_FOUND]
        assert not [key for key in left_in_log(driver) if group_id.encode() in key]
        if answered:
            assert not left
            return
    raise AssertionError("it is never deleted")


def test_what_transactions_have_staged_goes_with_it() -> None:
    driver = Driver("t", partitions=1)
    stage(driver, 3)
    context = driver.coordinator._context
    context.misread.note(0, "g", misread("g", 0)[0])
    context.quarantined["g"] = "a record of it cannot be read"
    assert codes(delete(driver, "g")) == [ErrorCode.NONE]
    assert not context.staged.holds("g")


@pytest.mark.parametrize("is_used_again", [False, True])
def test_two_requests_for_it_are_both_answered_and_what_comes_after_the_first_is_kept(
    is_used_again: bool,
) -> None:
    driver = damaged("simple")
    driver.hold = True
    first = delete(driver, "simple")
    for _ in range(4):
        driver.sync()
        driver.advance(1)
    second = delete(driver, "simple")
    while first.waits:
        driver.sync_one()
        driver.advance(1)
    driver.hold = False
    assert second.waits
    member_id = f"misread {MISREAD - 1}"
    if is_used_again:
        driver.join_consumer("simple", member_id, "t")
    driver.sync()
    driver.advance(1_000)
    assert codes(first) == [ErrorCode.NONE]
    assert codes(second) == [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS if is_used_again else ErrorCode.NONE]
    driver.restart()
    if is_used_again:
        assert list(group_of(driver, "simple").metadata) == [member_id]


def test_it_stays_refused_when_its_records_cannot_be_deleted_and_another_request_tries_again() -> None:
    driver = damaged("members")
    driver.hold = True
    answer = delete(driver, "members")
    driver.sync()
    driver.advance(1)
    driver.fail()
    assert codes(answer) == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
    assert is_refused(driver, "members")
    driver.hold = False
    again = delete(driver, "members")
    driver.advance(1_000)
    assert codes(again) == [ErrorCode.NONE]
    assert not any(b"misread" in key for key in left_in_log(driver))


@pytest.mark.parametrize("replayed", [0, 1])
def test_a_partition_that_is_unloaded_meanwhile_refuses_and_is_left_alone(replayed: int) -> None:
    driver = damaged("members")
    driver.hold = True
    answer = delete(driver, "members")
    driver.sync()
    driver.coordinator.unload([0], driver.now_ms)
    for number in range(replayed):
        driver.coordinator.replay(0, *misread("members", number))
    driver.advance(10)
    assert codes(answer) == [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS]
    assert not driver.in_flight


def test_the_partitions_of_its_members_are_not_taken_away_one_by_one() -> None:
    driver = damaged("members")
    group = group_of(driver, "members")
    owners = group.owners
    assert len(owners[driver.topics.by_name["t"].topic_id]) == OFFSETS
    driver.hold = True
    waiting: list[Any] = []
    driver.coordinator._context.background = waiting.append
    delete(driver, "members")
    assert group.owners == {}
    assert owners, "it is freed in the background"
    (steps,) = waiting
    for _ in steps:
        pass
    assert owners == {}
