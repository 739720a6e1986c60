"""Topics that are deleted and made again: no group has an old offset in the new one, whenever it crashes."""

from __future__ import annotations

from uuid import UUID

import pytest

from groups.coordinator import Coordinator
from groups.offset_values import NO_EXPIRY, Committed, committed_bytes
from groups.record_keys import OffsetKey
from groups.records import encode_record
from groups.topic_deletion import HIDDEN_AT_ONCE, RETRY_MS
from protocol.error_codes import ErrorCode
from protocol.wire import ZERO_UUID
from tests.groups.driver import Driver, codes
from tests.groups.memory_check import check_offsets
from tests.groups.test_topic_deletion import WIDE, left_in_log, stage, wide
from tests.groups.test_txn_offset_commit import end
from tests.groups.test_txn_offset_commit import stage as stage_one


def loading(driver: Driver) -> Coordinator:
    """Crash, and return a coordinator that has read the log and does not serve yet."""
    driver.in_flight.clear()
    driver.coordinator = Coordinator(
        config=driver.config,
        topics=driver.topics,
        random=driver.random,
        wall_ms=lambda now_ms: now_ms + driver.wall_offset_ms,
    )
    for partition in driver.log:
        driver.transactions.replay(driver.coordinator, partition)
    return driver.coordinator


@pytest.mark.parametrize("retention_ms", [-1, 10**9], ids=["", "with an expiry time"])
def test_a_start_takes_no_offset_of_a_deleted_topic_for_one_of_a_new_topic_of_its_name(
    retention_ms: int,
) -> None:
    driver = Driver()
    driver.create_topic("t", WIDE)
    driver.commit("g", {("t", index): 5 for index in range(WIDE)}, version=4, retention_ms=retention_ms)
    driver.hold = True
    driver.delete_topic("t")
    driver.create_topic("t", WIDE)
    driver.hold = False
    driver.restart()
    assert {driver.committed("g", "t", index) for index in range(WIDE)} == {None}
    driver.advance(10)
    assert not left_in_log(driver)
    assert driver.coordinator.offset_room.size_bytes == 0


@pytest.mark.parametrize("durable", range(8))
def test_whenever_a_crash_comes_what_is_committed_in_the_new_topic_stays(durable: int) -> None:
    driver = wide()
    driver.delete_topic("t")
    driver.create_topic("t", WIDE)
    driver.hold = True
    driver.commit("g", {("t", index): 5 for index in range(WIDE)})
    driver.sync()
    driver.delete_topic("t")
    driver.create_topic("t", WIDE)
    answers = [driver.commit("g", {("t", index): 9}) for index in (0, WIDE - 1)]
    for _ in range(min(durable, len(driver.in_flight))):
        driver.sync_one()
        driver.advance(1)
    acknowledged = [not answer.waits for answer in answers]
    driver.hold = False
    driver.restart()
    found = [driver.committed("g", "t", index) for index in range(WIDE)]
    assert [found[0], found[-1]] == [9 if known else None for known in acknowledged]
    assert set(found[1:-1]) == {None}


def test_a_topic_that_is_made_again_while_groups_are_loaded_has_none_of_the_old_offsets() -> None:
    driver = wide()
    coordinator = loading(driver)
    driver.delete_topic("t")
    driver.create_topic("t", WIDE)
    assert {driver.committed("g", "t", index) for index in range(WIDE)} == {None}
    coordinator.loaded(list(driver.log), driver.now_ms)
    driver.flush()
    assert {driver.committed("g", "t", index) for index in range(WIDE)} == {None}
    driver.advance(10)
    assert not left_in_log(driver)


def test_old_offsets_of_a_partition_that_is_read_twice_are_counted_once() -> None:
    driver = wide(3)
    driver.hold = True
    driver.delete_topic("t")
    driver.create_topic("t", 3)
    driver.in_flight.clear()
    driver.hold = False
    coordinator = loading(driver)
    for partition in driver.log:
        driver.transactions.replay(coordinator, partition)
    check_offsets(coordinator._context)
    coordinator.unload(list(driver.log), driver.now_ms)
    assert coordinator.offset_room.size_bytes == 0


def test_offsets_without_the_id_of_a_topic_are_those_of_the_topic_that_there_is() -> None:
    driver = Driver("t")
    partition = driver.coordinator.partition_of("g")
    value = committed_bytes(Committed(7, -1, "", 0, NO_EXPIRY), ZERO_UUID)
    driver.log[partition] = [encode_record(OffsetKey("g", "t", 0), value)]
    driver.restart()
    assert driver.committed("g", "t", 0) == 7
    driver.delete_topic("t")
    driver.create_topic("t")
    assert driver.committed("g", "t", 0) is None
    assert not left_in_log(driver)


def test_what_was_committed_before_an_old_offset_does_not_come_back_in_its_place() -> None:
    driver = Driver("t")
    partition = driver.coordinator.partition_of("g")
    old = [
        committed_bytes(Committed(offset, -1, "", 0, NO_EXPIRY), topic_id)
        for offset, topic_id in ((5, ZERO_UUID), (6, UUID(int=99)))
    ]
    driver.log[partition] = [encode_record(OffsetKey("g", "t", 0), value) for value in old]
    driver.restart()
    assert driver.committed("g", "t", 0) is None


def test_an_offset_is_deleted_when_a_commit_after_it_and_its_deletion_were_lost() -> None:
    driver = wide(3)
    driver.hold = True
    driver.commit("g", {("t", index): 9 for index in range(3)})
    driver.delete_topic("t")
    driver.fail()
    driver.hold = False
    driver.advance(RETRY_MS)
    assert not left_in_log(driver)


def test_nothing_is_committed_in_a_topic_whose_creation_may_still_be_lost() -> None:
    driver = Driver("t")
    driver.topics.by_name["t"].recorded = False
    assert codes(driver.commit("g", {("t", 0): 1})) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert stage_one(driver, 5) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    driver.topics.by_name["t"].recorded = True
    assert codes(driver.commit("g", {("t", 0): 1})) == [ErrorCode.NONE]


# --- what others see meanwhile ------------------------------------------------------------------------------


@pytest.mark.parametrize("topic", ["t", None], ids=["by name", "all topics"])
def test_of_very_many_groups_none_reads_its_offset_in_a_new_topic_of_the_name(topic: str | None) -> None:
    driver = Driver("t")
    groups = [f"g{number}" for number in range(3 * HIDDEN_AT_ONCE)]
    for group in groups:
        driver.commit(group, {("t", 0): 5})
    driver.hold = True
    driver.delete_topic("t")
    driver.create_topic("t")
    partitions = () if topic is None else (0,)
    found = [driver.fetch(group, topic, *partitions).value.groups[0].topics for group in groups]
    offsets = {part.committed_offset for topics in found for each in topics for part in each.partitions}
    assert offsets <= {-1}


def test_commits_that_were_on_their_way_are_not_seen_between_their_disk_write_and_their_deletion() -> None:
    driver = wide()
    driver.hold = True
    for offset in (8, 9):
        driver.commit("g", {("t", index): offset for index in range(WIDE)})
    driver.delete_topic("t")
    driver.create_topic("t", WIDE)
    driver.sync_one()
    driver.sync_one()
    assert {driver.committed("g", "t", index) for index in range(WIDE)} == {None}
    driver.hold = False
    driver.sync()
    driver.advance(20)
    assert {driver.committed("g", "t", index) for index in range(WIDE)} == {None}
    assert not left_in_log(driver)
    assert driver.coordinator.offset_room.size_bytes == 0


# --- transactions -------------------------------------------------------------------------------------------


def test_the_deletion_of_old_offsets_leaves_what_a_transaction_stages_in_the_new_topic() -> None:
    driver = wide()
    driver.hold = True
    driver.delete_topic("t")
    driver.create_topic("t", WIDE)
    driver.hold = False
    stage(driver, WIDE, offset=1)
    driver.sync()
    driver.advance(RETRY_MS)
    assert end(driver) == [None]
    driver.advance(10)
    for _ in range(2):
        assert {driver.committed("g", "t", index) for index in range(WIDE)} == {1}
        driver.restart()


def test_an_old_offset_does_not_come_back_when_what_was_staged_after_it_is_aborted() -> None:
    driver = wide()
    driver.hold = True
    driver.delete_topic("t")
    driver.create_topic("t", WIDE)
    driver.restart()
    assert stage_one(driver, 1) == []
    driver.hold = False
    driver.sync()
    driver.advance(RETRY_MS)
    assert len(left_in_log(driver)) == 1, "its deletion would have dropped what is staged"
    end(driver, commit=False)
    assert driver.committed("g", "t", 0) is None
    driver.restart()
    assert driver.committed("g", "t", 0) is None
    assert not left_in_log(driver)


@pytest.mark.parametrize("crashes", [False, True])
def test_an_offset_that_was_staged_in_a_deleted_topic_does_not_count_in_a_new_one(crashes: bool) -> None:
    driver = Driver("t")
    stage_one(driver, 5)
    driver.hold = True
    driver.delete_topic("t")
    driver.create_topic("t")
    driver.in_flight.clear()
    if crashes:
        driver.restart()
    driver.hold = False
    assert end(driver) == [None]
    assert driver.committed("g", "t", 0) is None
    driver.restart()
    assert driver.committed("g", "t", 0) is None
    driver.advance(10)
    assert driver.coordinator.offset_room.size_bytes == 0


def test_an_offset_that_counts_while_its_topic_does_not_exist_is_not_one_of_the_next_topic() -> None:
    driver = Driver("t")
    stage_one(driver, 5)
    driver.hold = True
    driver.delete_topic("t")
    driver.in_flight.clear()
    driver.hold = False
    driver.restart()
    assert end(driver) == [None]
    driver.create_topic("t")
    assert driver.committed("g", "t", 0) is None
    driver.restart()
    assert driver.committed("g", "t", 0) is None


def test_of_what_is_staged_in_both_topics_only_the_new_offset_counts() -> None:
    driver = Driver("t")
    stage_one(driver, 5)
    driver.hold = True
    driver.delete_topic("t")
    driver.create_topic("t")
    driver.in_flight.clear()
    driver.restart()
    driver.hold = False
    stage_one(driver, 1, producer=8)
    assert end(driver) == [None]
    driver.advance(10)
    assert driver.committed("g", "t", 0) is None
    assert end(driver, producer=8) == [None]
    for _ in range(2):
        assert driver.committed("g", "t", 0) == 1
        driver.restart()


def test_an_old_offset_is_forgotten_where_a_transaction_has_committed_a_new_one_before_a_start() -> None:
    driver = Driver("t")
    driver.commit("g", {("t", 0): 5})
    driver.topics.delete("t")
    driver.topics.create("t", 1)
    stage_one(driver, 1)
    assert end(driver) == [None]
    coordinator = loading(driver)
    assert driver.committed("g", "t", 0) == 1
    assert len(coordinator._context.offsets) == 1


def test_a_deletion_that_is_lost_costs_no_offset_that_has_come_to_count_meanwhile() -> None:
    driver = Driver("t")
    topic = driver.topics.by_name["t"]
    stage_one(driver, 5)
    driver.topics.delete("t")
    driver.topics.create("t", 1).recorded = False
    assert end(driver) == [None]
    driver.topics.delete("t")
    driver.topics.by_name["t"] = driver.topics.by_id[topic.topic_id] = topic
    assert driver.committed("g", "t", 0) == 5


def test_a_clock_that_jumps_back_costs_no_offset_of_the_new_topic() -> None:
    driver = Driver("t")
    stage_one(driver, 5)
    driver.hold = True
    driver.delete_topic("t")
    driver.fail()
    driver.hold = False
    driver.create_topic("t")
    driver.wall_offset_ms -= 10**9
    assert end(driver) == [None]
    assert codes(driver.commit("g", {("t", 0): 1})) == [ErrorCode.NONE]
    driver.advance(2 * RETRY_MS)
    assert driver.committed("g", "t", 0) == 1
