"""Tests of groups/classic_join.py: the ways into a classic group."""

from __future__ import annotations

from typing import Any

import pytest

from groups.classic_member import ClassicMember
from groups.config import NEW_MEMBER_JOIN_TIMEOUT_MS
from groups.states import GroupState
from protocol.error_codes import ErrorCode
from tests.groups.classic import ALL, group_of, join_waiting, new_id, one_member, two_members
from tests.groups.driver import Driver, assigned, subscription

BLOB = subscription("t")


# --- member ids ---------------------------------------------------------------------------------------------


def test_a_dynamic_member_is_first_given_its_id(driver: Driver) -> None:
    answer = driver.join(client_id="app")
    assert answer.error == ErrorCode.MEMBER_ID_REQUIRED
    assert answer.value.member_id.startswith("app-")
    assert answer.value.generation_id == -1


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_before_version_4_it_joins_at_once(driver: Driver, version: int) -> None:
    answer = driver.join(version=version)
    assert answer.waits
    driver.advance(3_000)
    assert answer.error == ErrorCode.NONE
    assert answer.value.member_id


def test_a_static_member_joins_at_once(driver: Driver) -> None:
    answer = driver.join(instance_id="i")
    driver.advance(3_000)
    assert answer.value.member_id.startswith("i-")


def test_an_id_that_is_not_used_is_forgotten_after_its_session(driver: Driver) -> None:
    member_id = new_id(driver)
    driver.advance(10_000)
    assert driver.join("g", member_id).error == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_rebalance_waits_for_ids_that_were_given_out(driver: Driver) -> None:
    first = one_member(driver)
    pending = new_id(driver)
    _, second = join_waiting(driver)
    rejoined = driver.join("g", first)
    assert second.waits
    driver.join("g", pending)
    assert second.value.generation_id == rejoined.value.generation_id == 2


def test_a_pending_member_may_not_beat(driver: Driver) -> None:
    assert driver.heartbeat("g", new_id(driver), -1) == ErrorCode.UNKNOWN_MEMBER_ID


def test_an_unknown_member_is_told_so(driver: Driver) -> None:
    assert driver.join("g", "nobody").error == ErrorCode.UNKNOWN_MEMBER_ID
    one_member(driver)
    answer = driver.join("g", "nobody")
    assert answer.error == ErrorCode.UNKNOWN_MEMBER_ID
    assert answer.value.member_id == "nobody"


def test_a_new_member_whose_client_gave_up_is_dropped_in_the_end() -> None:
    driver = Driver(group_initial_rebalance_delay_ms=0)
    first = driver.join(version=3, rebalance_ms=400_000)
    member_id = first.value.member_id
    second = driver.join(version=3, rebalance_ms=400_000)
    for _ in range(NEW_MEMBER_JOIN_TIMEOUT_MS // 5_000):
        driver.heartbeat("g", member_id, 1)
        driver.advance(5_000)
    assert second.error == ErrorCode.UNKNOWN_MEMBER_ID


# --- protocols ----------------------------------------------------------------------------------------------


def test_the_protocol_most_members_prefer_is_chosen(driver: Driver) -> None:
    wishes = [["b", "a"], ["a", "b"], ["c", "a", "b"]]
    answers = [
        driver.join(version=3, protocols=[(name, b"") for name in names], protocol_type="x")
        for names in wishes
    ]
    driver.advance(10_000)
    assert {answer.value.protocol_name for answer in answers} == {"a"}


def test_a_member_without_a_common_protocol_is_refused(driver: Driver) -> None:
    one_member(driver)
    answer = driver.join(protocols=[("roundrobin", BLOB)])
    assert answer.error == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_a_member_of_another_protocol_type_is_refused(driver: Driver) -> None:
    one_member(driver)
    assert driver.join(protocol_type="connect").error == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


@pytest.mark.parametrize(("protocol_type", "protocols"), [("", [("range", BLOB)]), ("consumer", [])])
def test_a_first_member_must_name_a_type_and_a_protocol(
    driver: Driver, protocol_type: str, protocols: list[tuple[str, bytes]]
) -> None:
    answer = driver.join(protocol_type=protocol_type, protocols=protocols)
    assert answer.error == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert driver.coordinator.counts()["classic:Empty"] == 0


@pytest.mark.parametrize("protocol_type", ["sr", "connect", "consumer"])
def test_any_protocol_type_is_coordinated_with_its_bytes_untouched(
    driver: Driver, protocol_type: str
) -> None:
    answer = driver.join(version=3, protocol_type=protocol_type, protocols=[("v0", b"\xff\0opaque")])
    driver.advance(3_000)
    assert answer.value.protocol_type == protocol_type
    assert [member.metadata for member in answer.value.members] == [b"\xff\0opaque"]
    member_id = answer.value.member_id
    synced = driver.sync_group(
        "g", member_id, 1, {member_id: b"\xfe\1"}, protocol_type=protocol_type, protocol_name="v0"
    )
    assert synced.value.assignment == b"\xfe\1"


def test_an_empty_group_may_change_its_protocol_type(driver: Driver) -> None:
    driver.leave("g", (one_member(driver), None))
    answer = driver.join(version=3, protocol_type="connect", protocols=[("v1", b"")])
    driver.advance(3_000)
    assert answer.value.protocol_type == "connect"


def test_of_two_protocols_with_one_name_the_last_counts(driver: Driver) -> None:
    answer = driver.join(version=3, protocol_type="x", protocols=[("p", b"1"), ("p", b"2")])
    driver.advance(3_000)
    assert [member.metadata for member in answer.value.members] == [b"2"]


# --- joining again ------------------------------------------------------------------------------------------


def test_a_follower_that_asks_again_is_told_the_current_generation(driver: Driver) -> None:
    leader, follower = two_members(driver)
    answer = driver.join("g", follower)
    assert (answer.value.generation_id, answer.value.leader, answer.value.members) == (1, leader, [])
    assert driver.heartbeat("g", leader, 1) == ErrorCode.NONE


def test_a_follower_that_changes_its_subscription_makes_everybody_join(driver: Driver) -> None:
    leader, follower = two_members(driver)
    answer = driver.join("g", follower, topics=["t", "u"])
    assert answer.waits
    assert driver.heartbeat("g", leader, 1) == ErrorCode.REBALANCE_IN_PROGRESS


def test_a_leader_that_asks_again_makes_everybody_join(driver: Driver) -> None:
    leader, follower = two_members(driver)
    assert driver.join("g", leader).waits
    assert driver.heartbeat("g", follower, 1) == ErrorCode.REBALANCE_IN_PROGRESS


def test_a_leader_that_missed_the_answer_is_told_the_members_again(driver: Driver) -> None:
    member_id, answer = join_waiting(driver)
    driver.advance(3_000)
    again = driver.join("g", member_id)
    assert again.value.generation_id == answer.value.generation_id == 1
    assert [member.member_id for member in again.value.members] == [member_id]


def test_a_request_that_is_sent_again_takes_the_place_of_the_first(driver: Driver) -> None:
    leader, follower = two_members(driver)
    first = driver.join("g", follower, topics=["t", "u"])
    second = driver.join("g", follower, topics=["t", "u"])
    assert first.error == ErrorCode.REBALANCE_IN_PROGRESS
    driver.join("g", leader)
    assert second.value.generation_id == 2


def test_the_answer_carries_what_version_7_members_check(driver: Driver) -> None:
    _, answer = join_waiting(driver)
    driver.advance(3_000)
    assert (answer.value.protocol_type, answer.value.protocol_name) == ("consumer", "range")


# --- size ---------------------------------------------------------------------------------------------------


def test_a_full_group_takes_nobody_in() -> None:
    driver = Driver("t", group_max_size=1)
    member_id = one_member(driver)
    answer = driver.join()
    assert answer.error == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert answer.value.member_id == ""
    assert driver.heartbeat("g", member_id, 1) == ErrorCode.NONE


def test_while_members_gather_the_first_that_come_stay() -> None:
    driver = Driver("t", group_max_size=2)
    ids = [new_id(driver) for _ in range(3)]
    answers = [driver.join("g", member_id) for member_id in ids]
    assert answers[2].error == ErrorCode.GROUP_MAX_SIZE_REACHED
    driver.advance(10_000)
    assert [answer.error for answer in answers[:2]] == [ErrorCode.NONE, ErrorCode.NONE]


def test_a_loaded_group_that_is_too_large_keeps_those_that_join_first(driver: Driver) -> None:
    leader, follower = two_members(driver)
    driver.config = type(driver.config)(offsets_topic_num_partitions=5, group_max_size=1)
    driver.restart()
    assert group_of(driver).state == GroupState.PREPARING_REBALANCE
    kept = driver.join("g", follower)
    assert driver.join("g", leader).error == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert kept.value.generation_id > 1


# --- static members -----------------------------------------------------------------------------------------


def static_member(driver: Driver, instance_id: str = "i", **rest: Any) -> str:
    """Return the only member, static, of a stable group in generation 1."""
    answer = driver.join(instance_id=instance_id, **rest)
    driver.advance(3_000)
    member_id = answer.value.member_id
    driver.sync_group("g", member_id, 1, {member_id: ALL}, instance_id=instance_id)
    return member_id


def test_a_static_member_that_starts_again_gets_its_place_without_a_rebalance(driver: Driver) -> None:
    old = static_member(driver)
    answer = driver.join(instance_id="i")
    new = answer.value.member_id
    assert new not in ("", old)
    assert answer.value.generation_id == 1
    assert group_of(driver).state == GroupState.STABLE
    assert assigned(driver.sync_group("g", new, 1, instance_id="i")) == {"t": [0, 1, 2, 3]}


def test_its_former_self_is_fenced(driver: Driver) -> None:
    old = static_member(driver)
    driver.join(instance_id="i")
    assert driver.heartbeat("g", old, 1, instance_id="i") == ErrorCode.FENCED_INSTANCE_ID
    assert driver.join("g", old, instance_id="i").error == ErrorCode.FENCED_INSTANCE_ID
    assert driver.heartbeat("g", old, 1) == ErrorCode.UNKNOWN_MEMBER_ID


def test_from_version_9_a_leader_that_starts_again_is_told_not_to_assign(driver: Driver) -> None:
    static_member(driver)
    answer = driver.join(instance_id="i", version=9)
    assert answer.value.skip_assignment
    assert answer.value.leader == answer.value.member_id
    assert [member.member_id for member in answer.value.members] == [answer.value.member_id]


def test_before_version_9_it_is_told_that_its_former_self_leads(driver: Driver) -> None:
    old = static_member(driver)
    answer = driver.join(instance_id="i", version=8)
    assert not answer.value.skip_assignment
    assert answer.value.leader == old
    assert answer.value.members == []


def test_the_new_id_is_told_when_it_is_stored(driver: Driver) -> None:
    static_member(driver)
    driver.hold = True
    answer = driver.join(instance_id="i")
    assert answer.waits
    driver.sync()
    new = answer.value.member_id
    driver.restart()
    assert driver.heartbeat("g", new, 1, instance_id="i") == ErrorCode.NONE


def test_if_it_cannot_be_stored_the_former_self_stays(driver: Driver) -> None:
    old = static_member(driver)
    driver.hold = True
    answer = driver.join(instance_id="i")
    driver.fail()
    assert answer.error == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert driver.heartbeat("g", old, 1, instance_id="i") == ErrorCode.NONE


def test_a_return_with_another_subscription_keeps_the_generation_unless_the_protocol_changes(
    driver: Driver,
) -> None:
    static_member(driver)
    assert driver.join(instance_id="i", topics=["t", "u"]).value.generation_id == 1
    answer = driver.join(instance_id="i", protocols=[("sticky", BLOB)])
    assert answer.error == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_a_return_while_the_leader_assigns_makes_everybody_join(driver: Driver) -> None:
    first, second = driver.join(instance_id="i"), driver.join(instance_id="j")
    driver.advance(10_000)
    leader = first.value.member_id
    waiting = driver.sync_group("g", second.value.member_id, 1, instance_id="j")
    again = driver.join(instance_id="j")
    assert waiting.error == ErrorCode.FENCED_INSTANCE_ID
    assert driver.heartbeat("g", leader, 1, instance_id="i") == ErrorCode.REBALANCE_IN_PROGRESS
    rejoined = driver.join("g", leader, instance_id="i")
    assert again.value.generation_id == rejoined.value.generation_id == 2
    assert second.value.member_id != again.value.member_id


def test_a_call_of_the_former_self_that_waits_is_fenced(driver: Driver) -> None:
    first = driver.join(instance_id="i")
    second = driver.join(instance_id="i")
    assert first.error == ErrorCode.FENCED_INSTANCE_ID
    driver.advance(10_000)
    assert second.error == ErrorCode.NONE


def test_a_static_member_that_is_late_keeps_its_place_until_its_session_ends(driver: Driver) -> None:
    member_id = static_member(driver, session_ms=30_000, rebalance_ms=5_000)
    other = driver.join(instance_id="j", rebalance_ms=5_000)
    driver.advance(5_000)
    assert other.value.generation_id == 2
    assert member_id in {member.member_id for member in other.value.members}
    driver.sync_group("g", other.value.member_id, 2, {other.value.member_id: ALL}, instance_id="j")
    driver.advance(5_000)
    assert list(group_of(driver).members) == [other.value.member_id]


def test_an_instance_id_that_nobody_has_is_unknown(driver: Driver) -> None:
    one_member(driver)
    assert driver.join("g", "m", instance_id="nobody").error == ErrorCode.UNKNOWN_MEMBER_ID


# --- after a restart ----------------------------------------------------------------------------------------


def test_a_member_that_joins_again_after_a_restart_begins_a_later_generation(driver: Driver) -> None:
    """It may have been told of a generation that was never stored."""
    leader, follower = two_members(driver)
    driver.join("g", follower, topics=["t", "u"])
    told = driver.join("g", leader).value.generation_id
    driver.restart()
    again = driver.join("g", follower)
    assert again.waits
    driver.join("g", leader)
    assert again.value.generation_id > told


def test_an_id_made_of_the_longest_name_there_can_be_still_fits_a_string(driver: Driver) -> None:
    """client.id and group.instance.id may have 32,767 bytes; a member id made of them must not have more."""
    for name in ("x" * 32_750, "ä" * 16_383):
        answer = driver.join(name[:4], version=3, client_id=name)
        driver.advance(3_000)
        assert answer.error == 0
        assert len(answer.value.member_id.encode()) <= 32_767
        assert answer.value.member_id.startswith(name[:16_000])
    static = driver.join("static", instance_id="i" * 32_767, version=5)
    driver.advance(3_000)
    assert len(static.value.member_id) == 32_767


class WatchedMembers(dict[str, ClassicMember]):
    """Members of a group that count how often something walks over them all."""

    walks = 0

    def values(self):  # type: ignore[no-untyped-def]
        self.walks += 1
        return super().values()

    def items(self):  # type: ignore[no-untyped-def]
        self.walks += 1
        return super().items()


def test_a_join_a_heartbeat_and_a_lost_member_look_at_no_other_member() -> None:
    driver = Driver("t", group_initial_rebalance_delay_ms=3_000)
    driver.checks_memory = False
    first = new_id(driver)
    answer = driver.join("g", first)
    group = group_of(driver)
    group.members = watched = WatchedMembers(group.members)
    others = [join_waiting(driver)[0] for _ in range(150)]
    assert watched.walks == 0
    while answer.waits:
        driver.advance(3_000)
    generation = answer.value.generation_id
    for member_id in others:
        driver.sync_group("g", member_id, generation)
    driver.sync_group("g", first, generation, {})
    per_generation = watched.walks
    for member_id in others:
        driver.heartbeat("g", member_id, generation)
    assert watched.walks == per_generation <= 12
    driver.advance(400_000)
    assert not group.members
    assert watched.walks <= 3 * per_generation
