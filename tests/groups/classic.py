"""Classic groups in the state in which a test begins."""

from __future__ import annotations

from groups.classic_group import ClassicGroup
from protocol.error_codes import ErrorCode
from protocol.messages.join_group import JoinGroupResponse
from tests.groups.driver import Answer, Driver, assignment

ALL = assignment(("t", [0, 1, 2, 3]))
FIRST_HALF = assignment(("t", [0, 1]))
SECOND_HALF = assignment(("t", [2, 3]))


def new_id(driver: Driver, group_id: str = "g") -> str:
    """Return the id that a dynamic member is given at its first JoinGroup."""
    answer = driver.join(group_id)
    assert answer.error == ErrorCode.MEMBER_ID_REQUIRED
    return answer.value.member_id


def join_waiting(driver: Driver, group_id: str = "g") -> tuple[str, Answer[JoinGroupResponse]]:
    """Join as a new dynamic member; return its id and the answer to come."""
    member_id = new_id(driver, group_id)
    return member_id, driver.join(group_id, member_id)


def one_member(driver: Driver, group_id: str = "g") -> str:
    """Return the only member of a stable group in generation 1."""
    member_id, answer = join_waiting(driver, group_id)
    driver.advance(driver.config.group_initial_rebalance_delay_ms)
    assert answer.value.generation_id == 1
    driver.sync_group(group_id, member_id, 1, {member_id: ALL})
    return member_id


def two_members(driver: Driver, group_id: str = "g") -> tuple[str, str]:
    """Return leader and follower of a stable group in generation 1."""
    (first, answer), (second, _) = join_waiting(driver, group_id), join_waiting(driver, group_id)
    while answer.waits:
        driver.advance(driver.config.group_initial_rebalance_delay_ms)
    driver.sync_group(group_id, second, 1)
    driver.sync_group(group_id, first, 1, {first: FIRST_HALF, second: SECOND_HALF})
    return first, second


def group_of(driver: Driver, group_id: str = "g") -> ClassicGroup:
    """Return the coordinator's own object, for facts that no request shows."""
    group = driver.coordinator._context.groups[group_id]
    assert isinstance(group, ClassicGroup)
    return group
