"""Tests of groups/classic_in_consumer.py: members of both protocols in one group."""

from __future__ import annotations

from typing import Any

import pytest

from groups.states import MemberState
from protocol.consumer_protocol import TopicPartition
from protocol.error_codes import ErrorCode
from tests.groups.classic import ALL, one_member
from tests.groups.consumers import epoch_of, group_of, held, settle
from tests.groups.driver import Driver, assigned, codes, subscription
from tests.groups.kit import given


@pytest.fixture
def driver(driver: Driver) -> Driver:
    """Return a driver of a group with one member of the consumer protocol, which has everything."""
    driver.join_consumer("g", "new", "t")
    driver.advance(2_000)
    return driver


def join_old(driver: Driver, **rest: object) -> str:
    """Let a classic member join the consumer group."""
    answer = driver.join("g", "", version=3, **rest)  # type: ignore[arg-type]
    assert answer.error == ErrorCode.NONE, answer.error
    return answer.value.member_id


def sync_old(driver: Driver, member_id: str) -> list[int]:
    answer = driver.sync_group("g", member_id, epoch_of(driver, member_id))
    return assigned(answer).get("t", [])


def let_go(driver: Driver) -> None:
    """Let the member of the consumer protocol give up what it must."""
    topic_id = driver.topics.by_name["t"].topic_id
    driver.beat("g", "new", epoch_of(driver, "new"))
    driver.beat("g", "new", epoch_of(driver, "new"), owned={topic_id: held(driver, "new")})


# --- JoinGroup ----------------------------------------------------------------------------------------------


def test_a_dynamic_member_is_first_given_its_id(driver: Driver) -> None:
    answer = driver.join("g")
    assert answer.error == ErrorCode.MEMBER_ID_REQUIRED
    joined = driver.join("g", answer.value.member_id)
    assert joined.error == ErrorCode.NONE
    assert joined.value.member_id == answer.value.member_id


def test_it_is_told_its_epoch_as_generation_and_never_leads(driver: Driver) -> None:
    answer = driver.join("g", version=3)
    value = answer.value
    assert (value.generation_id, value.leader, value.members) == (3, "", [])
    assert (value.protocol_type, value.protocol_name) == ("consumer", "range")


def test_it_gets_its_share_step_by_step(driver: Driver) -> None:
    old = join_old(driver)
    assert sync_old(driver, old) == []
    assert driver.heartbeat("g", old, 3) == ErrorCode.NONE
    let_go(driver)
    assert driver.heartbeat("g", old, 3) == ErrorCode.REBALANCE_IN_PROGRESS
    assert driver.join("g", old).value.generation_id == 3
    assert sync_old(driver, old) == [2, 3]
    assert driver.heartbeat("g", old, 3) == ErrorCode.NONE


def test_an_eager_member_gives_up_everything_when_it_joins(driver: Driver) -> None:
    old = join_old(driver)
    let_go(driver)
    driver.join("g", old)
    driver.advance(2_000)
    driver.join_consumer("g", "newer", "t")
    driver.join_consumer("g", "newest", "t")
    driver.advance(2_000)
    assert driver.heartbeat("g", old, 3) == ErrorCode.REBALANCE_IN_PROGRESS
    generation = driver.join("g", old).value.generation_id
    assert generation == group_of(driver).target_epoch
    assert len(sync_old(driver, old)) == 1


def test_a_cooperative_member_is_first_told_what_to_keep(driver: Driver) -> None:
    old = join_old(driver)
    let_go(driver)
    driver.join("g", old)
    assert sync_old(driver, old) == [2, 3]
    driver.advance(2_000)
    for name in ("newer", "newest"):
        driver.join_consumer("g", name, "t")
    driver.advance(2_000)
    epoch = epoch_of(driver, old)
    still = driver.join("g", old, owned=[TopicPartition(topic="t", partitions=[2, 3])])
    assert still.value.generation_id == epoch
    assert group_of(driver).assignment(old).state == MemberState.UNREVOKED_PARTITIONS
    [kept] = sync_old(driver, old)
    assert driver.heartbeat("g", old, epoch) == ErrorCode.REBALANCE_IN_PROGRESS
    moved = driver.join("g", old, owned=[TopicPartition(topic="t", partitions=[kept])])
    assert moved.value.generation_id == group_of(driver).target_epoch
    assert sync_old(driver, old) == [kept]


@pytest.mark.parametrize(
    ("protocol_type", "protocols"),
    [("connect", [("range", b"\0\0")]), ("consumer", []), ("consumer", [("range", b"\xff")])],
)
def test_members_whose_subscription_cannot_be_read_are_refused(
    driver: Driver, protocol_type: str, protocols: list[tuple[str, bytes]]
) -> None:
    answer = driver.join("g", version=3, protocol_type=protocol_type, protocols=protocols)
    assert answer.error == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_classic_members_must_share_a_protocol(driver: Driver) -> None:
    join_old(driver)
    blob = subscription("t")
    refused = driver.join("g", version=3, protocols=[("sticky", blob)])
    assert refused.error == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert driver.join("g", version=3, protocols=[("sticky", blob), ("range", blob)]).error == ErrorCode.NONE


def test_a_full_group_takes_nobody_in() -> None:
    driver = Driver("t", group_consumer_max_size=1)
    driver.join_consumer("g", "new", "t")
    assert driver.join("g", version=3).error == ErrorCode.GROUP_MAX_SIZE_REACHED


def test_a_static_classic_member_that_starts_again_takes_its_place(driver: Driver) -> None:
    old = join_old(driver, instance_id="i")
    let_go(driver)
    driver.join("g", old, instance_id="i")
    epoch = group_of(driver).epoch
    answer = driver.join("g", instance_id="i")
    again = answer.value.member_id
    assert again != old
    assert held(driver, again) == [2, 3]
    assert group_of(driver).epoch == epoch
    assert driver.heartbeat("g", old, epoch, instance_id="i") == ErrorCode.FENCED_INSTANCE_ID
    assert driver.join("g", old, instance_id="i").error == ErrorCode.FENCED_INSTANCE_ID
    assert driver.join("g", "x", instance_id="j").error == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_classic_member_is_replaced_by_its_new_version(driver: Driver) -> None:
    old = join_old(driver, instance_id="i")
    let_go(driver)
    driver.join("g", old, instance_id="i")
    answer = driver.join_consumer("g", "newer", "t", instance_id="i")
    assert answer.error == ErrorCode.NONE
    assert given(answer) == [2, 3]
    assert group_of(driver).classic_members() == []


def test_the_answer_waits_for_its_records(driver: Driver) -> None:
    driver.hold = True
    answer = driver.join("g", version=3)
    assert answer.waits
    driver.sync()
    assert answer.error == ErrorCode.NONE
    lost = driver.join("g", version=3)
    driver.fail()
    assert lost.error == ErrorCode.COORDINATOR_NOT_AVAILABLE


# --- SyncGroup, Heartbeat, OffsetCommit ---------------------------------------------------------------------


def test_members_of_the_consumer_protocol_are_unknown_to_classic_requests(driver: Driver) -> None:
    assert driver.heartbeat("g", "new", 2) == ErrorCode.UNKNOWN_MEMBER_ID
    assert driver.sync_group("g", "new", 2).error == ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(
    ("generation", "rest", "error"),
    [
        (2, {}, ErrorCode.ILLEGAL_GENERATION),
        (4, {}, ErrorCode.ILLEGAL_GENERATION),
        (3, {"protocol_type": "connect"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        (3, {"protocol_name": "sticky"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        (3, {"instance_id": "i"}, ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_a_sync_that_does_not_fit_is_refused(
    driver: Driver, generation: int, rest: dict[str, Any], error: ErrorCode
) -> None:
    old = join_old(driver)
    assert driver.sync_group("g", old, generation, None, **rest).error == error


def test_a_member_behind_the_target_must_join_before_it_syncs(driver: Driver) -> None:
    old = join_old(driver)
    driver.advance(2_000)
    driver.join_consumer("g", "newer", "t")
    assert driver.sync_group("g", old, 3).error == ErrorCode.REBALANCE_IN_PROGRESS


def test_while_changes_are_gathered_nobody_is_told_to_join(driver: Driver) -> None:
    old = join_old(driver)
    driver.join_consumer("g", "newer", "t")
    assert group_of(driver).epoch > group_of(driver).target_epoch
    assert driver.heartbeat("g", old, 3) == ErrorCode.NONE
    driver.advance(2_000)
    assert driver.heartbeat("g", old, 3) == ErrorCode.REBALANCE_IN_PROGRESS


def test_classic_members_commit_in_their_generation(driver: Driver) -> None:
    old = join_old(driver)
    let_go(driver)
    driver.join("g", old)
    for version in (2, 8, 9):
        answer = driver.commit("g", {("t", 2): 5}, member_id=old, generation=3, version=version)
        assert codes(answer) == [ErrorCode.NONE]
    stale = driver.commit("g", {("t", 0): 5}, member_id=old, generation=2)
    assert codes(stale) == [ErrorCode.ILLEGAL_GENERATION]


# --- members that do not keep up ----------------------------------------------------------------------------


def test_a_silent_member_is_removed_after_its_own_session(driver: Driver) -> None:
    old = join_old(driver, session_ms=30_000)
    sync_old(driver, old)
    for _ in range(5):
        driver.advance(5_999)
        driver.beat("g", "new", epoch_of(driver, "new"))
    assert old in group_of(driver).metadata
    driver.advance(100)
    assert old not in group_of(driver).metadata


def test_a_member_that_does_not_sync_is_removed(driver: Driver) -> None:
    old = join_old(driver, rebalance_ms=7_000)
    driver.advance(5_000)
    driver.heartbeat("g", old, 3)
    driver.advance(2_000)
    assert old not in group_of(driver).metadata


def test_a_member_that_does_not_join_again_is_removed(driver: Driver) -> None:
    old = join_old(driver, rebalance_ms=7_000)
    sync_old(driver, old)
    let_go(driver)
    for _ in range(7):
        assert driver.heartbeat("g", old, 3) == ErrorCode.REBALANCE_IN_PROGRESS
        driver.advance(999)
    assert old in group_of(driver).metadata
    driver.advance(10)
    assert old not in group_of(driver).metadata


def test_it_leaves_with_leave_group(driver: Driver) -> None:
    old = join_old(driver)
    driver.leave("g", (old, None))
    assert list(group_of(driver).metadata) == ["new"]
    settle(driver, "new")
    assert held(driver, "new") == [0, 1, 2, 3]


def test_a_rolling_upgrade_moves_everything_over_while_members_run() -> None:
    driver = Driver("t")
    old = one_member(driver)
    assert assigned(driver.sync_group("g", old, 1, {old: ALL})) == {"t": [0, 1, 2, 3]}
    driver.join_consumer("g", "new", "t")
    assert driver.heartbeat("g", old, 1) == ErrorCode.REBALANCE_IN_PROGRESS
    generation = driver.join("g", old).value.generation_id
    kept = sync_old(driver, old)
    driver.beat("g", "new", generation)
    assert sorted([*kept, *held(driver, "new")]) == [0, 1, 2, 3]
    driver.leave("g", (old, None))
    settle(driver, "new")
    assert held(driver, "new") == [0, 1, 2, 3]
