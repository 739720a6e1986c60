"""Tests of groups/classic_assignment.py: classic groups with assignments from the server."""

from __future__ import annotations

import pytest

from groups.config import GroupSettings
from groups.states import GroupState
from protocol.error_codes import ErrorCode
from tests.groups.classic import group_of
from tests.groups.driver import Driver, assigned, subscription

BLOB = subscription("t")


@pytest.fixture
def driver() -> Driver:
    return Driver("t", kawal_group_assignor="server", group_initial_rebalance_delay_ms=1_000)


def members(driver: Driver, count: int) -> list[str]:
    """Return the ids of members that have joined a group together."""
    answers = [driver.join(version=3) for _ in range(count)]
    driver.advance(10_000)
    assert {answer.value.leader for answer in answers} == {""}
    assert all(answer.value.members == [] for answer in answers)
    return [answer.value.member_id for answer in answers]


@pytest.mark.parametrize(("count", "shares"), [(2, [2, 2]), (3, [1, 1, 2]), (5, [0, 1, 1, 1, 1])])
def test_the_server_divides_by_tdengines_rule(driver: Driver, count: int, shares: list[int]) -> None:
    found = [assigned(driver.sync_group("g", name, 1)) for name in members(driver, count)]
    assert sorted(len(share.get("t", [])) for share in found) == shares


def test_members_keep_what_they_had(driver: Driver) -> None:
    ids = members(driver, 2)
    before = {name: assigned(driver.sync_group("g", name, 1))["t"] for name in ids}
    newcomer = driver.join(version=3)
    for name in ids:
        driver.join("g", name, version=3)
    generation = newcomer.value.generation_id
    after = {name: assigned(driver.sync_group("g", name, generation)).get("t", []) for name in ids}
    assert all(set(after[name]) <= set(before[name]) for name in ids)


def test_a_sync_waits_until_the_assignment_is_stored(driver: Driver) -> None:
    first = driver.join(version=3)
    driver.hold = True
    driver.advance(1_000)
    name = first.value.member_id
    answer = driver.sync_group("g", name, 1)
    assert answer.waits
    driver.sync()
    assert assigned(answer) == {"t": [0, 1, 2, 3]}
    assert assigned(driver.sync_group("g", name, 1)) == {"t": [0, 1, 2, 3]}


def test_what_a_member_sends_as_an_assignment_is_ignored(driver: Driver) -> None:
    [name] = members(driver, 1)
    assert assigned(driver.sync_group("g", name, 1, {name: b""})) == {"t": [0, 1, 2, 3]}


def test_members_join_again_when_a_topic_grows(driver: Driver) -> None:
    [name] = members(driver, 1)
    driver.sync_group("g", name, 1)
    driver.grow_topic("t", 6)
    driver.advance(200)
    assert driver.heartbeat("g", name, 1) == ErrorCode.REBALANCE_IN_PROGRESS
    again = driver.join("g", name, version=3)
    assert assigned(driver.sync_group("g", name, again.value.generation_id)) == {"t": [0, 1, 2, 3, 4, 5]}


def test_topics_nobody_subscribes_to_change_nothing(driver: Driver) -> None:
    [name] = members(driver, 1)
    driver.sync_group("g", name, 1)
    driver.create_topic("other")
    driver.advance(200)
    assert group_of(driver).state == GroupState.STABLE


@pytest.mark.parametrize(
    ("protocol_type", "protocols"),
    [
        ("consumer", [("cooperative-sticky", BLOB)]),
        ("consumer", [("homemade", BLOB)]),
        ("consumer", [("range", b"\xff")]),
        ("connect", [("range", BLOB)]),
    ],
)
def test_other_groups_are_assigned_by_their_leader(
    driver: Driver, protocol_type: str, protocols: list[tuple[str, bytes]]
) -> None:
    answer = driver.join(version=3, protocol_type=protocol_type, protocols=protocols)
    driver.advance(1_000)
    assert answer.value.leader == answer.value.member_id


def test_a_group_may_be_set_otherwise_than_the_broker(driver: Driver) -> None:
    driver.settings["g"] = GroupSettings(kawal_group_assignor="client")
    answer = driver.join(version=3)
    driver.advance(1_000)
    assert answer.value.leader == answer.value.member_id


def test_a_large_assignment_is_made_in_a_thread_while_its_members_wait() -> None:
    driver = Driver("t", kawal_group_assignor="server", group_initial_rebalance_delay_ms=1_000, weight_max=0)
    driver.threads.hold = True
    [name] = members(driver, 1)
    answer = driver.sync_group("g", name, 1)
    assert answer.waits
    driver.threads.do_work()
    driver.advance(1)
    assert assigned(answer) == {"t": [0, 1, 2, 3]}


def test_a_large_assignment_that_comes_too_late_is_not_used() -> None:
    driver = Driver("t", kawal_group_assignor="server", group_initial_rebalance_delay_ms=1_000, weight_max=0)
    driver.threads.hold = True
    [name] = members(driver, 1)
    first = driver.sync_group("g", name, 1)
    newcomer = driver.join(version=3)
    assert first.value.error_code == ErrorCode.REBALANCE_IN_PROGRESS
    driver.threads.do_work()
    driver.advance(1)
    assert group_of(driver).state == GroupState.PREPARING_REBALANCE
    driver.join("g", name, version=3)
    driver.threads.do_work()
    driver.advance(1)
    assert len(assigned(driver.sync_group("g", newcomer.value.member_id, 2))["t"]) == 2


def test_an_error_in_the_thread_is_an_error_of_the_group(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = Driver("t", kawal_group_assignor="server", group_initial_rebalance_delay_ms=1_000, weight_max=0)
    driver.threads.hold = True
    members(driver, 1)
    monkeypatch.setattr("groups.classic_assignment.assign", lambda *_: 1 // 0)
    driver.threads.do_work()
    driver.coordinator.tick(driver.now_ms)
    [failed] = driver.coordinator.take_internal_errors()
    assert isinstance(failed.error, ZeroDivisionError)
