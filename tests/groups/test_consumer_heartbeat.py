"""Tests of groups/consumer_heartbeat.py: the contents of heartbeats, and the answers to them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from groups.config import GroupSettings
from groups.consumer_heartbeat import NAMES_MAX
from protocol.error_codes import ErrorCode
from tests.groups.consumers import epoch_of, group_of, held, settle, two_members
from tests.groups.driver import Driver
from tests.groups.kit import given, topics_given


@pytest.fixture
def driver() -> Driver:
    return Driver()


# --- requests that are wrong in themselves ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("member_id", "epoch", "rest"),
    [
        ("", 0, {"topics": ["t"], "owned": {}, "rebalance_ms": 5_000}),
        ("", 1, {"version": 0}),
        ("", -1, {"version": 0}),
        ("m", 0, {"topics": ["t"], "owned": {}}),
        ("m", 0, {"topics": ["t"], "rebalance_ms": 5_000}),
        ("m", 0, {"owned": {}, "rebalance_ms": 5_000}),
        ("m", -2, {}),
        ("m", -3, {}),
        ("m", 1, {"instance_id": ""}),
        ("m", 1, {"rack_id": " "}),
    ],
)
def test_a_beat_that_contradicts_itself_is_refused(
    driver: Driver, member_id: str, epoch: int, rest: dict[str, Any]
) -> None:
    answer = driver.beat("g", member_id, epoch, **rest)
    assert answer.error == ErrorCode.INVALID_REQUEST
    assert answer.value.error_message


def test_a_member_that_joins_has_no_partitions(driver: Driver) -> None:
    topic = driver.create_topic("t")
    answer = driver.beat("g", "m", 0, topics=["t"], owned={topic.topic_id: [0]}, rebalance_ms=5_000)
    assert answer.error == ErrorCode.INVALID_REQUEST


def test_an_empty_group_id_is_refused(driver: Driver) -> None:
    assert driver.join_consumer("", "m", "t").error == ErrorCode.INVALID_REQUEST


def test_an_unknown_assignor_is_refused_with_the_known_ones_named(driver: Driver) -> None:
    answer = driver.join_consumer("g", "m", "t", assignor="sticky")
    assert answer.error == ErrorCode.UNSUPPORTED_ASSIGNOR
    assert "tdengine, uniform, range" in (answer.value.error_message or "")


def test_in_version_0_the_server_makes_the_member_id(driver: Driver) -> None:
    driver.create_topic("t")
    answer = driver.join_consumer("g", "", "t", version=0)
    assert answer.error == ErrorCode.NONE
    assert len(answer.value.member_id or "") == 22
    assert driver.beat("g", answer.value.member_id or "", 2).error == ErrorCode.NONE


# --- joining ------------------------------------------------------------------------------------------------


def test_the_first_member_gets_everything_in_epoch_2(driver: Driver) -> None:
    driver.create_topic("t", 4)
    answer = driver.join_consumer("g", "a", "t")
    assert (answer.value.member_id, answer.value.member_epoch) == ("a", 2)
    assert answer.value.heartbeat_interval_ms == 3_000
    assert given(answer) == [0, 1, 2, 3]


@pytest.mark.parametrize(("topics", "regex", "epoch"), [([], "", 1), ([], "x.*", 1), (["not there"], "", 2)])
def test_without_topics_that_exist_it_gets_nothing(
    driver: Driver, topics: list[str], regex: str, epoch: int
) -> None:
    answer = driver.join_consumer("g", "a", *topics, regex=regex)
    assert (answer.value.member_epoch, given(answer)) == (epoch, [])


def test_a_second_member_gets_its_share_when_the_first_has_let_go(driver: Driver) -> None:
    topic = driver.create_topic("t", 4)
    driver.join_consumer("g", "a", "t")
    assert given(driver.join_consumer("g", "b", "t")) == []
    driver.advance(2_000)
    everything = {topic.topic_id: [0, 1, 2, 3]}
    told = driver.beat("g", "a", 2, owned=everything)
    assert (told.value.member_epoch, given(told)) == (2, [0, 1])
    assert given(driver.beat("g", "b", 2)) is None
    assert driver.beat("g", "a", 2, owned=everything).value.member_epoch == 2
    done = driver.beat("g", "a", 2, owned={topic.topic_id: [0, 1]})
    assert (done.value.member_epoch, given(done)) == (3, None)
    got = driver.beat("g", "b", 3)
    assert (got.value.member_epoch, given(got)) == (3, [2, 3])


def test_the_assignment_is_told_when_it_changes_and_to_those_who_send_everything(driver: Driver) -> None:
    topic = two_members(driver)
    epoch = epoch_of(driver, "a")
    assert given(driver.beat("g", "a", epoch)) is None
    owned = {topic.topic_id: held(driver, "a")}
    assert given(driver.beat("g", "a", epoch, owned=owned)) is None
    full = driver.beat("g", "a", epoch, owned=owned, topics=["t"], rebalance_ms=30_000)
    assert given(full) == held(driver, "a")


def test_a_full_group_takes_nobody_in() -> None:
    driver = Driver("t", group_consumer_max_size=1)
    driver.join_consumer("g", "a", "t")
    assert driver.join_consumer("g", "b", "t").error == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert driver.beat("g", "a", 2).error == ErrorCode.NONE


def test_a_group_that_is_not_there_is_not_made_by_a_beat(driver: Driver) -> None:
    assert driver.beat("g", "m", 1).error == ErrorCode.GROUP_ID_NOT_FOUND
    assert driver.beat("g", "m", -1).error == ErrorCode.GROUP_ID_NOT_FOUND


def test_a_stranger_is_told_that_it_is_unknown(driver: Driver) -> None:
    two_members(driver)
    assert driver.beat("g", "m", 3).error == ErrorCode.UNKNOWN_MEMBER_ID
    assert driver.beat("g", "m", 3, instance_id="i").error == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_refused_join_leaves_nothing_behind(driver: Driver) -> None:
    driver.create_topic("t")
    answer = driver.join_consumer("g", "m", regex="(")
    assert answer.error == ErrorCode.INVALID_REGULAR_EXPRESSION
    assert driver.coordinator.counts()["members"] == 0
    assert "g" not in driver.coordinator._context.groups
    assert not any(driver.log.values())


# --- epochs -------------------------------------------------------------------------------------------------


def test_a_later_epoch_than_the_members_is_fenced(driver: Driver) -> None:
    two_members(driver)
    assert driver.beat("g", "a", epoch_of(driver, "a") + 1).error == ErrorCode.FENCED_MEMBER_EPOCH


def test_an_earlier_epoch_is_accepted_when_the_last_answer_may_be_lost(driver: Driver) -> None:
    topic = two_members(driver)
    current = group_of(driver).assignment("a")
    before = current.previous_epoch
    assert before < current.epoch
    owned = {topic.topic_id: held(driver, "a")[:1]}
    assert driver.beat("g", "a", before, owned=owned).value.member_epoch == current.epoch
    assert driver.beat("g", "a", before).error == ErrorCode.FENCED_MEMBER_EPOCH
    assert driver.beat("g", "a", before - 1, owned=owned).error == ErrorCode.FENCED_MEMBER_EPOCH
    others = {topic.topic_id: [0, 1, 2, 3]}
    assert driver.beat("g", "a", before, owned=others).error == ErrorCode.FENCED_MEMBER_EPOCH


def test_a_fenced_member_joins_again_under_its_id(driver: Driver) -> None:
    two_members(driver)
    answer = driver.join_consumer("g", "a", "t")
    assert answer.value.member_epoch == epoch_of(driver, "a")
    assert given(answer) == held(driver, "a")


# --- changes ------------------------------------------------------------------------------------------------


def test_null_fields_leave_what_is_known(driver: Driver) -> None:
    driver.create_topic("t", 4)
    driver.join_consumer("g", "a", "t", assignor="range", rack_id="r")
    before = group_of(driver).metadata["a"]
    records = sum(map(len, driver.log.values()))
    driver.beat("g", "a", 2)
    assert group_of(driver).metadata["a"] == before
    assert sum(map(len, driver.log.values())) == records


def test_a_new_subscription_brings_its_topics(driver: Driver) -> None:
    driver.create_topic("t", 2)
    other = driver.create_topic("u", 3)
    driver.join_consumer("g", "a", "t")
    driver.advance(2_000)
    answer = driver.beat("g", "a", 2, topics=["t", "u"])
    found = topics_given(answer)
    assert found[other.topic_id] == [0, 1, 2]
    assert len(found) == 2


def test_topics_that_are_not_wanted_any_more_go_before_the_next_assignment(driver: Driver) -> None:
    topic, other = driver.create_topic("t", 2), driver.create_topic("u", 2)
    driver.join_consumer("g", "a", "t", "u")
    answer = driver.beat("g", "a", 2, topics=["u"], owned={topic.topic_id: [0, 1], other.topic_id: [0, 1]})
    assert list(topics_given(answer)) == [other.topic_id]
    assert group_of(driver).epoch > group_of(driver).target_epoch


def test_topics_are_found_by_pattern(driver: Driver) -> None:
    for name in ("logs-a", "logs-b", "other"):
        driver.create_topic(name, 1)
    answer = driver.join_consumer("g", "a", regex="logs-.*")
    assert answer.value.member_epoch == 2
    found = {driver.topics.by_id[topic_id].name for topic_id in topics_given(answer)}
    assert found == {"logs-a", "logs-b"}
    driver.create_topic("logs-c", 1)
    driver.advance(3_000)
    later = driver.beat("g", "a", 2)
    assert len(topics_given(later)) == 3


def test_names_and_a_pattern_go_together_until_the_pattern_is_taken_back(driver: Driver) -> None:
    for name in ("logs-a", "t"):
        driver.create_topic(name, 1)
    driver.join_consumer("g", "a", "t", regex="logs-.*")
    assert group_of(driver).subscribed_names() == {"logs-a", "t"}
    driver.beat("g", "a", 2, regex="")
    assert group_of(driver).subscribed_names() == {"t"}
    assert group_of(driver).regexes == {}


def test_most_members_decide_on_the_assignor(driver: Driver) -> None:
    driver.create_topic("t", 6)
    for name, assignor in (("a", "range"), ("b", "range"), ("c", "uniform")):
        driver.join_consumer("g", name, "t", assignor=assignor)
    settle(driver, "a", "b", "c")
    assert sorted(held(driver, name) for name in "abc") == [[0, 1], [2, 3], [4, 5]]


def test_the_group_may_set_its_own_timeouts(driver: Driver) -> None:
    driver.create_topic("t")
    driver.settings["g"] = GroupSettings(
        consumer_session_timeout_ms=60_000, consumer_heartbeat_interval_ms=9_000
    )
    assert driver.join_consumer("g", "a", "t").value.heartbeat_interval_ms == 9_000
    driver.advance(59_999)
    assert driver.beat("g", "a", 2).error == ErrorCode.NONE


# --- static members -----------------------------------------------------------------------------------------


def test_an_instance_id_belongs_to_one_member(driver: Driver) -> None:
    driver.create_topic("t")
    driver.join_consumer("g", "a", "t", instance_id="i")
    assert driver.join_consumer("g", "b", "t", instance_id="i").error == ErrorCode.UNRELEASED_INSTANCE_ID
    assert driver.beat("g", "b", 2, instance_id="i").error == ErrorCode.FENCED_INSTANCE_ID
    assert driver.beat("g", "b", -1, instance_id="i").error == ErrorCode.FENCED_INSTANCE_ID
    assert driver.beat("g", "a", 2, instance_id="i").error == ErrorCode.NONE
    assert driver.beat("g", "a", 2, instance_id="other").error == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_static_member_that_went_away_is_replaced_without_a_rebalance(driver: Driver) -> None:
    driver.create_topic("t", 4)
    driver.join_consumer("g", "a", "t", instance_id="i")
    away = driver.beat("g", "a", -2, instance_id="i")
    assert (away.error, away.value.member_epoch) == (ErrorCode.NONE, -2)
    epoch = group_of(driver).epoch
    answer = driver.join_consumer("g", "b", "t", instance_id="i")
    assert (answer.value.member_epoch, given(answer)) == (epoch, [0, 1, 2, 3])
    assert list(group_of(driver).metadata) == ["b"]
    assert group_of(driver).epoch == epoch


def test_its_partitions_wait_for_it_until_its_session_ends(driver: Driver) -> None:
    driver.create_topic("t", 4)
    driver.join_consumer("g", "a", "t", instance_id="i")
    driver.join_consumer("g", "b", "t")
    settle(driver, "a", "b")
    driver.beat("g", "a", -2, instance_id="i")
    driver.advance(11_000)
    assert given(driver.beat("g", "b", epoch_of(driver, "b"))) is None
    driver.advance(1_000)
    driver.advance(2_000)
    assert given(driver.beat("g", "b", epoch_of(driver, "b"))) == [0, 1, 2, 3]


def test_a_fenced_static_member_joins_again_under_its_id(driver: Driver) -> None:
    driver.create_topic("t")
    driver.join_consumer("g", "a", "t", instance_id="i")
    assert driver.join_consumer("g", "a", "t", instance_id="i").error == ErrorCode.NONE


# --- answers and the disk -----------------------------------------------------------------------------------


def test_an_answer_waits_for_its_records(driver: Driver) -> None:
    driver.create_topic("t")
    driver.hold = True
    answer = driver.join_consumer("g", "a", "t")
    assert answer.waits
    driver.sync()
    assert answer.error == ErrorCode.NONE


def test_an_answer_without_records_waits_for_those_it_builds_upon(driver: Driver) -> None:
    driver.create_topic("t")
    driver.hold = True
    driver.join_consumer("g", "a", "t")
    beat = driver.beat("g", "a", 2)
    assert beat.waits
    driver.sync()
    assert beat.value.member_epoch == 2


def test_if_the_records_are_lost_everything_is_as_before(driver: Driver) -> None:
    two_members(driver)
    group = group_of(driver)
    before = (group.epoch, dict(group.metadata), dict(group.current), dict(group.target), dict(group.owners))
    driver.hold = True
    answers = [
        driver.join_consumer("g", "c", "t"),
        driver.beat("g", "a", -1),
        driver.beat("g", "b", epoch_of(driver, "b"), topics=["t", "u"]),
        driver.beat("g", "b", epoch_of(driver, "b")),
    ]
    driver.fail()
    assert {answer.error for answer in answers} == {ErrorCode.COORDINATOR_NOT_AVAILABLE}
    group = group_of(driver)
    after = (group.epoch, dict(group.metadata), dict(group.current), dict(group.target), dict(group.owners))
    assert after == before


def test_after_a_lost_removal_the_member_still_has_a_session(driver: Driver) -> None:
    two_members(driver)
    driver.hold = True
    driver.beat("g", "a", -1)
    driver.fail()
    driver.hold = False
    assert "a" in group_of(driver).metadata
    driver.advance(12_000)
    assert "a" not in group_of(driver).metadata


def test_a_group_survives_a_restart(driver: Driver) -> None:
    two_members(driver)
    before = group_of(driver)
    driver.restart()
    after = group_of(driver)
    assert (after.current, after.metadata, after.owners) == (before.current, before.metadata, before.owners)
    assert driver.beat("g", "a", epoch_of(driver, "a")).error == ErrorCode.NONE


class Untouched(dict[int, int]):
    """The partitions of a member at which nothing may look one by one."""

    def __iter__(self) -> Any:
        raise AssertionError("a heartbeat that changes nothing has looked at the partitions")

    keys = values = items = __iter__


def test_a_heartbeat_that_changes_nothing_looks_at_none_of_the_members_partitions(driver: Driver) -> None:
    topic = driver.create_topic("t")
    epoch = driver.join_consumer("g", "m", "t").value.member_epoch
    current = group_of(driver).current
    driver.checks_memory = False
    current["m"] = replace(current["m"], assigned={topic.topic_id: Untouched({0: epoch})})
    answer = driver.beat("g", "m", epoch)
    assert (answer.error, given(answer)) == (ErrorCode.NONE, None)


def test_a_member_may_own_more_partitions_than_it_may_name_topics(driver: Driver) -> None:
    topic = driver.create_topic("wide", 30_000)
    driver.join_consumer("g", "a", "wide")
    driver.advance(2_000)
    answer = driver.beat("g", "a", group_of(driver).epoch, owned={topic.topic_id: list(range(30_000))})
    assert answer.error == ErrorCode.NONE
    refused = driver.join_consumer("h", "b", *(f"t{number}" for number in range(NAMES_MAX + 1)))
    assert refused.error == ErrorCode.INVALID_REQUEST
    assert "at most 20000 names" in (refused.value.error_message or "")
