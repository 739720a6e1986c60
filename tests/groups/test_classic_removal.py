"""Members that leave or vanish: their calls are answered, their silence means nothing, and they are shown."""

from __future__ import annotations

from groups.classic_removal import end_session, note_lost, remove_member
from groups.timers import TimerKey
from protocol.error_codes import ErrorCode
from tests.groups.classic import group_of, join_waiting, two_members
from tests.groups.driver import Driver


def test_a_removed_member_that_waits_is_told_that_it_is_unknown(driver: Driver) -> None:
    member_id, answer = join_waiting(driver)
    group = group_of(driver)
    remove_member(driver.coordinator._context, group, group.members[member_id])
    assert answer.error == ErrorCode.UNKNOWN_MEMBER_ID
    assert TimerKey("heartbeat", "g", member_id) not in driver.coordinator._context.timers


def test_the_silence_of_a_member_that_has_left_means_nothing(driver: Driver) -> None:
    leader, follower = two_members(driver)
    end_session(driver.coordinator._context, group_of(driver), follower)
    for _ in range(10):
        driver.advance(5_000)
        driver.heartbeat("g", leader, 1)
    assert follower in group_of(driver).members


def test_a_member_that_vanished_is_remembered_with_the_reason(driver: Driver) -> None:
    _, follower = two_members(driver)
    group = group_of(driver)
    note_lost(driver.coordinator._context, group, group.members[follower], "its cable was cut")
    (lost,) = driver.coordinator._context.lost
    assert (lost.member_id, lost.reason) == (follower, "its cable was cut")
