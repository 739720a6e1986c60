"""Members take no more memory than there is for a group, for the clients of an address, and in all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from groups.errors import CoordinatorNotAvailable, GroupFull
from groups.memory import MEMBER_BYTES, GroupMemory
from protocol.error_codes import ErrorCode
from tests.groups.classic import new_id, one_member, two_members
from tests.groups.driver import Driver, subscription


@dataclass(frozen=True)
class Limits:
    """Room for 100 bytes in a group and 200 in all."""

    kawal_group_max_bytes: int = 100
    kawal_groups_max_bytes: int = 200
    kawal_memory_share_per_ip: float = 0.75


LARGE = [("range", subscription("t") + bytes(20_000))]
"""The protocols of a member that says 20,000 bytes about itself."""


def small_groups(**limits: int) -> Driver:
    """Return a coordinator with room for 50,000 bytes in a group and 100,000 in all."""
    settings: dict[str, Any] = {
        "kawal_group_max_bytes": 50_000,
        "kawal_groups_max_bytes": 100_000,
        "kawal_memory_share_per_ip": 1.0,
    }
    return Driver("t", **(settings | limits))


# --- the table ----------------------------------------------------------------------------------------------


def test_an_entry_replaces_the_one_in_its_slot() -> None:
    memory = GroupMemory()
    memory.count("g", "m", "h", 10)
    memory.count("g", "m", "other", 30)
    memory.count("g", "n", "h", 5)
    assert (memory.size_bytes, memory.group_bytes("g")) == (35, 35)
    memory.count("g", "m", "h", 0)
    memory.count("g", "nobody", "h", 0)
    assert memory.entries("g") == {"n": 5}
    memory.forget("g")
    memory.forget("g")
    assert (memory.size_bytes, memory.group_bytes("g")) == (0, 0)


def test_a_group_has_room_up_to_its_limit() -> None:
    memory = GroupMemory()
    memory.count("g", "m", "h", 60)
    memory.check(Limits(), "g", "n", "h", 40)
    with pytest.raises(GroupFull, match=r"kawal\.group\.max\.bytes"):
        memory.check(Limits(), "g", "n", "h", 41)
    assert memory.refused == 1


def test_a_member_may_always_say_as_much_as_before() -> None:
    memory = GroupMemory()
    memory.count("g", "m", "h", 300)
    memory.check(Limits(), "g", "m", "h", 300)
    with pytest.raises(GroupFull):
        memory.check(Limits(), "g", "m", "h", 301)


def test_all_groups_together_have_room_up_to_their_limit() -> None:
    memory = GroupMemory()
    memory.count("g", "m", "h", 100)
    memory.count("other", "m", "i", 90)
    memory.check(Limits(), "new", "m", "j", 10)
    with pytest.raises(CoordinatorNotAvailable, match=r"kawal\.groups\.max\.bytes"):
        memory.check(Limits(), "new", "m", "j", 11)


def test_the_clients_of_an_address_have_room_up_to_their_share() -> None:
    memory = GroupMemory()
    memory.count("g", "m", "h", 100)
    with pytest.raises(CoordinatorNotAvailable, match=r"from h .*kawal\.memory\.share\.per\.ip"):
        memory.check(Limits(), "new", "m", "h", 51)
    memory.check(Limits(), "new", "m", "i", 51)
    memory.forget("g")
    memory.check(Limits(), "new", "m", "h", 51)


# --- classic groups -----------------------------------------------------------------------------------------


def test_a_member_for_which_its_group_has_no_room_is_refused_as_if_the_group_were_full() -> None:
    driver = small_groups()
    assert [driver.join(version=3, protocols=LARGE).waits for _ in range(3)] == [True, True, False]
    assert driver.join(version=3, protocols=LARGE).error == ErrorCode.GROUP_MAX_SIZE_REACHED
    driver.advance(20_000)
    driver.advance(600_000)
    assert driver.coordinator.memory.size_bytes == 0


def test_a_member_for_which_there_is_no_room_in_all_is_told_to_try_again() -> None:
    driver = small_groups()
    for number in range(4):
        driver.join(f"g{number}", version=3, protocols=LARGE)
    refused = driver.join("new", version=3, protocols=LARGE)
    assert refused.error == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert "new" not in driver.coordinator._context.groups, "a refusal leaves no group behind"


def test_ids_that_are_given_out_are_counted() -> None:
    driver = small_groups()
    answers = [driver.join(client_id="x" * 20_000).error for _ in range(4)]
    assert answers[:2] == [ErrorCode.MEMBER_ID_REQUIRED] * 2
    assert answers[2:] == [ErrorCode.GROUP_MAX_SIZE_REACHED] * 2
    driver.advance(10_000)
    assert driver.coordinator.memory.size_bytes == 0


def test_a_member_that_grows_beyond_its_groups_room_is_refused_and_stays_as_it_was() -> None:
    driver = small_groups(kawal_group_max_bytes=10_000)
    member_id = one_member(driver)
    before = driver.coordinator.memory.size_bytes
    assert driver.join("g", member_id, protocols=LARGE).error == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert driver.heartbeat("g", member_id, 1) == ErrorCode.NONE
    assert driver.coordinator.memory.size_bytes == before


def test_assignments_without_room_are_answered_as_by_kafka_and_the_group_joins_again() -> None:
    driver = small_groups(kawal_group_max_bytes=10_000)
    leader, follower = two_members(driver)
    joins = [driver.join("g", leader), driver.join("g", follower)]
    generation = joins[0].value.generation_id
    waiting = driver.sync_group("g", follower, generation)
    answer = driver.sync_group("g", leader, generation, {follower: bytes(20_000)})
    assert answer.error == waiting.error == ErrorCode.UNKNOWN_SERVER_ERROR
    assert driver.heartbeat("g", leader, generation) == ErrorCode.REBALANCE_IN_PROGRESS


def test_members_are_counted_again_after_a_restart() -> None:
    driver = small_groups()
    two_members(driver)
    before = driver.coordinator.memory.size_bytes
    driver.restart()
    assert driver.coordinator.memory.size_bytes == before


def test_what_leaves_is_counted_no_more() -> None:
    driver = small_groups()
    leader, follower = two_members(driver)
    pending = new_id(driver)
    driver.leave("g", (leader, None), (follower, None), (pending, None))
    assert driver.coordinator.memory.size_bytes == 0


# --- consumer groups ----------------------------------------------------------------------------------------


def test_subscriptions_without_room_are_refused_and_leave_nothing_behind() -> None:
    driver = small_groups()
    names = [f"topic-{number}".ljust(200, "x") for number in range(100)]
    assert driver.join_consumer("g", "a", *names).error == ErrorCode.NONE
    refused = driver.join_consumer("g", "b", *names)
    assert refused.error == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert "kawal.group.max.bytes" in (refused.value.error_message or "")
    driver.join_consumer("other", "c", *names)
    driver.join_consumer("third", "c", *names)
    assert driver.join_consumer("new", "d", *names).error == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert "new" not in driver.coordinator._context.groups


def test_expressions_count_with_their_programs() -> None:
    driver = small_groups(kawal_group_max_bytes=80_000)
    assert driver.join_consumer("g", "a", regex="x" * 1_000).error == ErrorCode.NONE
    before = driver.coordinator.memory.size_bytes
    assert before > 30_000 + 2 * MEMBER_BYTES
    regexes = driver.coordinator._context.regexes
    assert driver.join_consumer("g", "b", regex="y" * 2_000).error == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert "y" * 2_000 not in regexes
    assert driver.coordinator.memory.size_bytes == before


def test_assignments_of_consumer_groups_are_counted() -> None:
    driver = small_groups(kawal_group_max_bytes=1 << 20, kawal_groups_max_bytes=1 << 20)
    driver.create_topic("wide", 100)
    driver.join_consumer("g", "a", "wide")
    driver.advance(10_000)
    assert driver.coordinator.memory.size_bytes > MEMBER_BYTES + 100 * 150
    driver.beat("g", "a", -1)
    assert driver.coordinator.memory.size_bytes == 0
