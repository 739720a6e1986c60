"""Tests of groups/offset_commit.py: the members that may commit, and the offsets they may commit."""

from __future__ import annotations

from uuid import UUID

import pytest

from groups.offset_commit import java_length
from groups.offset_values import Committed
from protocol.error_codes import ErrorCode
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tests.broker.wide_requests import Lines
from tests.groups.classic import join_waiting, one_member, two_members
from tests.groups.consumers import epoch_of, held
from tests.groups.consumers import two_members as two_consumers
from tests.groups.driver import WALL_MS, Driver, client, codes

NONE = ErrorCode.NONE


# --- stored offsets -----------------------------------------------------------------------------------------


def test_everything_about_an_offset_is_kept(driver: Driver) -> None:
    driver.advance(5)
    driver.commit("g", {("t", 0): 7}, metadata="méta", leader_epoch=3)
    stored = Committed(7, 3, "méta", WALL_MS + 5, -1)
    assert driver.coordinator.committed("g", "t", 0) == stored
    driver.restart()
    assert driver.coordinator.committed("g", "t", 0) == stored


def test_no_metadata_are_stored_as_empty_ones(driver: Driver) -> None:
    driver.commit("g", {("t", 0): 7}, metadata=None)
    found = driver.coordinator.committed("g", "t", 0)
    assert found is not None
    assert found.metadata == ""


def test_a_retention_time_of_the_client_is_kept(driver: Driver) -> None:
    driver.commit("g", {("t", 0): 7}, retention_ms=60_000, version=4)
    found = driver.coordinator.committed("g", "t", 0)
    assert found is not None
    assert found.expire_ms == WALL_MS + 60_000


def test_a_retention_time_beyond_all_time_is_kept_to_the_end_of_time(driver: Driver) -> None:
    driver.commit("g", {("t", 0): 7}, retention_ms=2**63 - 1, version=4)
    found = driver.coordinator.committed("g", "t", 0)
    assert found is not None
    assert found.expire_ms == 2**63 - 1


def test_a_commit_from_the_past_counts_as_any_other(driver: Driver) -> None:
    for offset in (100, 5):
        driver.commit("g", {("t", 0): offset})
    assert driver.committed("g", "t", 0) == 5


def test_the_partitions_of_a_request_are_stored_together(driver: Driver) -> None:
    driver.hold = True
    driver.commit("g", {("t", index): index for index in range(4)})
    assert len(driver.in_flight) == 1
    assert len(driver.in_flight[0].records) == 4


# --- refusals, item by item ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metadata", "error"),
    [
        ("x" * 4096, NONE),
        ("x" * 4097, ErrorCode.OFFSET_METADATA_TOO_LARGE),
        # Java counts a character beyond the 16-bit plane twice.
        ("😀" * 2048, NONE),
        ("😀" * 2048 + "x", ErrorCode.OFFSET_METADATA_TOO_LARGE),
    ],
)
def test_metadata_have_a_limit(driver: Driver, metadata: str, error: ErrorCode) -> None:
    assert codes(driver.commit("g", {("t", 0): 7}, metadata=metadata)) == [error]
    assert driver.committed("g", "t", 0) == (None if error else 7)


@pytest.mark.parametrize("missing", [("nothing", 0), ("t", 4), ("t", -1)])
def test_a_partition_that_does_not_exist_is_refused_and_others_are_not(
    driver: Driver, missing: tuple[str, int]
) -> None:
    answer = driver.commit("g", {("t", 0): 7, missing: 7})
    assert sorted(codes(answer)) == [NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert driver.committed("g", "t", 0) == 7
    assert driver.committed("g", *missing) is None


def commit_by_id(driver: Driver, *topic_ids: UUID) -> list[ErrorCode]:
    request = OffsetCommitRequest(
        group_id="g",
        member_id="",
        topics=[
            OffsetCommitRequestTopic(
                topic_id=topic_id,
                partitions=[
                    OffsetCommitRequestPartition(partition_index=1, committed_offset=9, committed_metadata="")
                ],
            )
            for topic_id in topic_ids
        ],
    )
    answer = driver.call(driver.coordinator.offset_commit, request, client(10))
    assert [topic.topic_id for topic in answer.value.topics] == list(topic_ids)
    return codes(answer)


def test_version_10_names_topics_by_id(driver: Driver) -> None:
    unknown = UUID(int=99)
    found = commit_by_id(driver, driver.topics.by_name["t"].topic_id, unknown)
    assert found == [NONE, ErrorCode.UNKNOWN_TOPIC_ID]
    assert driver.committed("g", "t", 1) == 9


def test_a_request_for_unknown_topics_only_needs_no_group(driver: Driver) -> None:
    answer = driver.commit("g", {("nothing", 0): 7}, member_id="m", generation=5)
    assert codes(answer) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


# --- groups without members ---------------------------------------------------------------------------------


@pytest.mark.parametrize("group_id", ["g", ""])
def test_anybody_may_commit_to_a_group_without_members(driver: Driver, group_id: str) -> None:
    assert codes(driver.commit(group_id, {("t", 0): 7})) == [NONE]
    assert driver.committed(group_id, "t", 0) == 7


@pytest.mark.parametrize(
    ("version", "error"),
    [(2, ErrorCode.ILLEGAL_GENERATION), (8, ErrorCode.ILLEGAL_GENERATION), (9, ErrorCode.GROUP_ID_NOT_FOUND)],
)
def test_a_generation_of_a_group_that_is_not_there_is_refused(
    driver: Driver, version: int, error: ErrorCode
) -> None:
    assert codes(driver.commit("g", {("t", 0): 7}, generation=1, member_id="m", version=version)) == [error]


def test_a_member_of_a_group_that_only_has_offsets_is_unknown(driver: Driver) -> None:
    driver.commit("g", {("t", 0): 7})
    refused = driver.commit("g", {("t", 0): 8}, generation=1, member_id="m")
    assert codes(refused) == [ErrorCode.UNKNOWN_MEMBER_ID]


def test_a_tool_may_reset_the_offsets_of_an_empty_group(driver: Driver) -> None:
    driver.leave("g", (one_member(driver), None))
    assert codes(driver.commit("g", {("t", 0): 7})) == [NONE]
    assert codes(driver.commit("g", {("t", 0): 7}, member_id="m")) == [NONE]


# --- classic groups -----------------------------------------------------------------------------------------


def test_members_commit_in_their_generation(driver: Driver) -> None:
    member_id = one_member(driver)
    assert codes(driver.commit("g", {("t", 0): 7}, member_id=member_id, generation=1)) == [NONE]
    for generation in (0, 2):
        refused = driver.commit("g", {("t", 0): 9}, member_id=member_id, generation=generation)
        assert codes(refused) == [ErrorCode.ILLEGAL_GENERATION]
    assert driver.committed("g", "t", 0) == 7


@pytest.mark.parametrize(("member_id", "generation"), [("", -1), ("nobody", 1), ("nobody", -1)])
def test_others_may_not(driver: Driver, member_id: str, generation: int) -> None:
    one_member(driver)
    refused = driver.commit("g", {("t", 0): 9}, member_id=member_id, generation=generation)
    assert codes(refused) == [ErrorCode.UNKNOWN_MEMBER_ID]


def test_the_former_self_of_a_static_member_is_fenced(driver: Driver) -> None:
    old = driver.join(instance_id="i")
    driver.advance(3_000)
    driver.sync_group("g", old.value.member_id, 1, {}, instance_id="i")
    driver.join(instance_id="i")
    refused = driver.commit("g", {("t", 0): 9}, member_id=old.value.member_id, generation=1, instance_id="i")
    assert codes(refused) == [ErrorCode.FENCED_INSTANCE_ID]


def test_while_others_gather_the_last_generation_may_commit(driver: Driver) -> None:
    leader, _ = two_members(driver)
    join_waiting(driver)
    assert codes(driver.commit("g", {("t", 0): 7}, member_id=leader, generation=1)) == [NONE]


def test_before_the_assignment_nobody_has_anything_to_commit(driver: Driver) -> None:
    member_id, _ = join_waiting(driver)
    driver.advance(3_000)
    refused = driver.commit("g", {("t", 0): 7}, member_id=member_id, generation=1)
    assert codes(refused) == [ErrorCode.REBALANCE_IN_PROGRESS]


def test_a_commit_is_as_good_as_a_heartbeat(driver: Driver) -> None:
    member_id = one_member(driver)
    for offset in range(4):
        driver.advance(9_000)
        driver.commit("g", {("t", 0): offset}, member_id=member_id, generation=1)
    assert driver.heartbeat("g", member_id, 1) == NONE


# --- consumer groups ----------------------------------------------------------------------------------------


@pytest.fixture
def consumers(driver: Driver) -> Driver:
    two_consumers(driver)
    return driver


def test_members_commit_in_their_epoch(consumers: Driver) -> None:
    epoch = epoch_of(consumers, "a")
    assert codes(consumers.commit("g", {("t", 0): 7}, member_id="a", generation=epoch)) == [NONE]
    later = consumers.commit("g", {("t", 0): 9}, member_id="a", generation=epoch + 1)
    assert codes(later) == [ErrorCode.STALE_MEMBER_EPOCH]


def test_they_may_be_an_epoch_behind_for_what_has_been_theirs_since(consumers: Driver) -> None:
    """A heartbeat that moved the member on may overtake its commit (KIP-1251)."""
    epoch = epoch_of(consumers, "a")
    [kept, *_] = held(consumers, "a")
    consumers.join_consumer("g", "c", "t", "t")
    consumers.advance(2_000)
    topic_id = consumers.topics.by_name["t"].topic_id
    for _ in range(2):
        consumers.beat("g", "a", epoch_of(consumers, "a"), owned={topic_id: held(consumers, "a")})
    assert epoch_of(consumers, "a") > epoch
    assert codes(consumers.commit("g", {("t", kept): 7}, member_id="a", generation=epoch)) == [NONE]
    theirs = next(index for index in range(4) if index not in held(consumers, "a"))
    refused = consumers.commit("g", {("t", theirs): 9}, member_id="a", generation=epoch)
    assert codes(refused) == [ErrorCode.STALE_MEMBER_EPOCH]


def test_what_is_being_given_up_may_still_be_committed(consumers: Driver) -> None:
    consumers.join_consumer("g", "c", "t")
    consumers.advance(2_000)
    losers: list[tuple[str, int]] = []
    for name in ("a", "b"):
        before = set(held(consumers, name))
        consumers.beat("g", name, epoch_of(consumers, name))
        losers.extend((name, index) for index in before - set(held(consumers, name)))
    [(name, lost)] = losers
    epoch = epoch_of(consumers, name)
    assert codes(consumers.commit("g", {("t", lost): 7}, member_id=name, generation=epoch)) == [NONE]


def test_others_may_not_commit_to_a_consumer_group(consumers: Driver) -> None:
    for member_id, epoch in (("", -1), ("nobody", 3)):
        refused = consumers.commit("g", {("t", 0): 9}, member_id=member_id, generation=epoch)
        assert codes(refused) == [ErrorCode.UNKNOWN_MEMBER_ID]


def test_a_removed_member_may_not_either(consumers: Driver) -> None:
    epoch = epoch_of(consumers, "a")
    consumers.advance(11_000)
    consumers.beat("g", "b", epoch_of(consumers, "b"))
    consumers.advance(1_000)
    refused = consumers.commit("g", {("t", 0): 9}, member_id="a", generation=epoch)
    assert codes(refused) == [ErrorCode.UNKNOWN_MEMBER_ID]


def test_an_old_request_cannot_carry_an_epoch(consumers: Driver) -> None:
    epoch = epoch_of(consumers, "a")
    refused = consumers.commit("g", {("t", 0): 9}, member_id="a", generation=epoch, version=8)
    assert codes(refused) == [ErrorCode.UNSUPPORTED_VERSION]


def test_a_tool_may_reset_the_offsets_of_an_empty_consumer_group(consumers: Driver) -> None:
    for name in ("a", "b"):
        consumers.beat("g", name, -1)
    assert codes(consumers.commit("g", {("t", 0): 7})) == [NONE]


# --- the disk -----------------------------------------------------------------------------------------------


def test_a_commit_is_answered_and_seen_when_it_is_durable(driver: Driver) -> None:
    driver.hold = True
    answer = driver.commit("g", {("t", 0): 7})
    assert answer.waits
    assert driver.committed("g", "t", 0) is None
    driver.sync()
    assert codes(answer) == [NONE]
    assert driver.committed("g", "t", 0) == 7


@pytest.mark.parametrize(
    ("failure", "error"),
    [
        (ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.INVALID_COMMIT_OFFSET_SIZE),
    ],
)
def test_a_commit_that_is_lost_changes_nothing(driver: Driver, failure: ErrorCode, error: ErrorCode) -> None:
    driver.commit("g", {("t", 0): 7})
    driver.hold = True
    answer = driver.commit("g", {("t", 0): 9, ("nothing", 0): 1})
    driver.fail(failure)
    assert codes(answer) == [error, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert driver.committed("g", "t", 0) == 7


@pytest.mark.parametrize(
    ("text", "length"),
    [("", 0), ("ascii", 5), ("ü\uffff", 2), ("😀", 2), ("\ud800x", 2), ("a\U0010ffffb", 4)],
)
def test_lengths_are_javas(text: str, length: int) -> None:
    assert java_length(text) == length


def test_the_length_of_metadata_takes_no_line_for_each_character() -> None:
    lines = [Lines(), Lines()]
    for text, measure in zip(("ü", "ü" * 30_000), lines, strict=True):
        measure.run("length", java_length, text)
    assert lines[0].longest.size == lines[1].longest.size
