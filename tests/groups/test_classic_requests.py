"""Tests of groups/classic_requests.py: checks before a group is looked up, and forms of old versions."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType

import pytest

from groups.classic_member import protocols_of
from groups.coordinator import Coordinator
from protocol.error_codes import ErrorCode
from tests.groups.classic import one_member
from tests.groups.driver import Driver, subscription


@pytest.mark.parametrize("group_id", ["", " "])
def test_members_need_a_group_id(driver: Driver, group_id: str) -> None:
    assert driver.join(group_id).error == ErrorCode.INVALID_GROUP_ID
    assert driver.sync_group(group_id, "m", 1).error == ErrorCode.INVALID_GROUP_ID
    assert driver.heartbeat(group_id, "m", 1) == ErrorCode.INVALID_GROUP_ID
    assert driver.leave(group_id, ("m", None)).error == ErrorCode.INVALID_GROUP_ID


@pytest.mark.parametrize(
    ("session_ms", "error"),
    [
        (5_999, ErrorCode.INVALID_SESSION_TIMEOUT),
        (6_000, ErrorCode.MEMBER_ID_REQUIRED),
        (1_800_000, ErrorCode.MEMBER_ID_REQUIRED),
        (1_800_001, ErrorCode.INVALID_SESSION_TIMEOUT),
    ],
)
def test_the_session_timeout_must_be_within_the_brokers_limits(
    driver: Driver, session_ms: int, error: ErrorCode
) -> None:
    assert driver.join(session_ms=session_ms).error == error


def test_before_version_7_errors_have_an_empty_protocol_name(driver: Driver) -> None:
    assert driver.join("g", "m", version=6).value.protocol_name == ""
    assert driver.join("g", "m", version=7).value.protocol_name is None


@pytest.mark.parametrize("version", [0, 1, 2])
def test_before_version_3_one_member_leaves_and_its_error_is_the_answers(
    driver: Driver, version: int
) -> None:
    member_id = one_member(driver)
    answer = driver.leave("g", ("nobody", None), version=version)
    assert (answer.error, answer.value.members) == (ErrorCode.UNKNOWN_MEMBER_ID, [])
    assert driver.leave("g", (member_id, None), version=version).error == ErrorCode.NONE
    assert driver.heartbeat("g", member_id, 1) == ErrorCode.UNKNOWN_MEMBER_ID


def test_while_its_partition_is_read_a_group_answers_that_it_loads(driver: Driver) -> None:
    member_id = one_member(driver)
    driver.coordinator = Coordinator(
        config=driver.config, topics=driver.topics, random=driver.random, wall_ms=lambda now_ms: now_ms
    )
    assert driver.join("g").error == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert driver.sync_group("g", member_id, 1).error == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert driver.leave("g", (member_id, None)).error == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert driver.beat("g", "m", 1).error == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert driver.fetch("g", "t", 0).value.groups[0].error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


def test_a_member_that_beats_while_the_group_loads_is_left_in_peace(driver: Driver) -> None:
    member_id = one_member(driver)
    driver.coordinator = Coordinator(
        config=driver.config, topics=driver.topics, random=driver.random, wall_ms=lambda now_ms: now_ms
    )
    assert driver.heartbeat("g", member_id, 1) == ErrorCode.NONE


def looks_at_protocols(join: Callable[[], object]) -> int:
    """Return how often a join makes its member's protocols out of the request."""
    looks = 0

    def count(frame: FrameType, event: str, _arg: object) -> None:
        nonlocal looks
        looks += event == "call" and frame.f_code is protocols_of.__code__

    sys.setprofile(count)
    try:
        join()
    finally:
        sys.setprofile(None)
    return looks


def test_the_protocols_of_a_join_are_looked_at_once(driver: Driver) -> None:
    """A member may have 20,000 of them, and each look took 2 ms."""
    protocols = [(str(number), subscription("t")) for number in range(100)]
    member_id = one_member(driver)
    assert looks_at_protocols(lambda: driver.join("wide", version=3, protocols=protocols)) == 1
    assert looks_at_protocols(lambda: driver.join("g", member_id, protocols=[("range", b"other")])) == 1
    joined = driver.join("static", instance_id="i", protocols=protocols)
    driver.advance(10_000)
    assert not joined.waits
    again = looks_at_protocols(lambda: driver.join("static", instance_id="i", protocols=protocols[1:]))
    assert again == 1
