"""Tests of groups/topic_deletion.py: the offsets in deleted topics, many of them and few."""

from __future__ import annotations

from groups.effects import Effects
from groups.topic_deletion import GROUPS_PER_STEP, HIDDEN_AT_ONCE, OFFSETS_PER_STEP, RETRY_MS
from protocol.error_codes import ErrorCode
from protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from tests.groups.driver import Driver, codes
from tests.groups.test_txn_offset_commit import end

WIDE = 3 * OFFSETS_PER_STEP + 7


def wide(partitions: int = WIDE) -> Driver:
    """Return a driver with a group that has an offset in each partition of `t`."""
    driver = Driver()
    driver.create_topic("t", partitions)
    driver.commit("g", {("t", index): 5 for index in range(partitions)})
    return driver


def stage(driver: Driver, count: int, *, offset: int = 5) -> None:
    """Commit an offset of each partition of `t` in a transaction."""
    partitions = [
        TxnOffsetCommitRequestPartition(partition_index=index, committed_offset=offset, committed_metadata="")
        for index in range(count)
    ]
    request = TxnOffsetCommitRequest(
        transactional_id="tx",
        group_id="g",
        producer_id=7,
        producer_epoch=0,
        topics=[TxnOffsetCommitRequestTopic(name="t", partitions=partitions)],
    )
    driver.coordinator.txn_offset_commit(request, lambda _: None, driver.now_ms)
    driver.flush()


def written(driver: Driver) -> list[Effects]:
    return list(driver.in_flight)


def left_in_log(driver: Driver) -> set[bytes]:
    """Return the keys of the records that a start would find."""
    last = {key: value for records in driver.log.values() for key, value in records}
    return {key for key, value in last.items() if value is not None}


def test_few_offsets_are_deleted_at_once() -> None:
    driver = wide(20)
    driver.delete_topic("t")
    assert driver.coordinator.counts()["offsets"] == 0
    assert not left_in_log(driver)


def test_many_are_out_of_sight_at_once_and_deleted_some_at_a_time() -> None:
    driver = wide()
    driver.hold = True
    driver.delete_topic("t")
    assert [len(effects.records) for effects in written(driver)] == [OFFSETS_PER_STEP]
    assert {driver.committed("g", "t", index) for index in range(WIDE)} == {None}
    driver.hold = False
    driver.sync()
    driver.advance(10)
    assert driver.coordinator.counts()["offsets"] == 0
    assert not left_in_log(driver)


def test_the_next_step_waits_until_the_last_one_is_durable() -> None:
    driver = wide()
    driver.hold = True
    driver.delete_topic("t")
    driver.advance(10_000)
    assert len(driver.in_flight) == 1
    driver.hold = False
    driver.sync()
    driver.hold = True
    driver.advance(1)
    assert len(driver.in_flight) == 1


def test_a_new_topic_of_the_same_name_begins_at_0_and_keeps_what_is_committed_in_it() -> None:
    driver = wide()
    driver.hold = True
    driver.delete_topic("t")
    driver.create_topic("t", WIDE)
    assert driver.committed("g", "t", 0) is None
    driver.commit("g", {("t", 0): 1})
    driver.hold = False
    driver.sync()
    driver.advance(10)
    assert [driver.committed("g", "t", index) for index in (0, 1, WIDE - 1)] == [1, None, None]
    driver.restart()
    assert [driver.committed("g", "t", index) for index in (0, 1, WIDE - 1)] == [1, None, None]
    assert driver.coordinator.counts()["offsets"] == 1


def test_a_crash_between_the_steps_leaves_nothing_that_a_start_does_not_delete() -> None:
    driver = wide()
    driver.hold = True
    driver.delete_topic("t")
    driver.sync_one()
    driver.hold = False
    driver.restart()
    assert {driver.committed("g", "t", index) for index in range(WIDE)} == {None}
    driver.advance(10)
    assert not left_in_log(driver)


def test_what_could_not_be_stored_is_deleted_later() -> None:
    driver = wide()
    driver.hold = True
    driver.delete_topic("t")
    driver.fail()
    assert {driver.committed("g", "t", index) for index in range(WIDE)} == {None}
    driver.hold = False
    driver.advance(RETRY_MS - 1)
    assert len(left_in_log(driver)) == WIDE
    driver.advance(10)
    assert not left_in_log(driver)


def test_a_commit_on_its_way_does_not_bring_an_offset_back() -> None:
    driver = wide()
    driver.hold = True
    driver.commit("g", {("t", index): 9 for index in range(WIDE)})
    driver.delete_topic("t")
    driver.hold = False
    driver.sync()
    driver.advance(10)
    assert {driver.committed("g", "t", index) for index in range(WIDE)} == {None}
    assert not left_in_log(driver)


def test_of_very_many_groups_those_out_of_sight_later_keep_what_they_commit_meanwhile() -> None:
    driver = Driver()
    driver.checks_memory = False
    driver.create_topic("t", 1)
    count = HIDDEN_AT_ONCE + 2 * GROUPS_PER_STEP
    for number in range(count):
        driver.commit(f"g{number}", {("t", 0): 5})
    driver.hold = True
    driver.delete_topic("t")
    assert 0 < len(driver.in_flight) <= GROUPS_PER_STEP
    driver.create_topic("t", 1)
    last = "g0"
    answer = driver.commit(last, {("t", 0): 1})
    driver.hold = False
    driver.sync()
    assert codes(answer) == [ErrorCode.NONE]
    driver.advance(1_000)
    assert [driver.committed(name, "t", 0) for name in ("g1", f"g{count - 1}", last)] == [None, None, 1]
    assert driver.coordinator.counts()["offsets"] == 1
    assert len(left_in_log(driver)) == 1


def test_of_very_many_groups_none_sees_its_offset_in_a_new_topic_of_the_name() -> None:
    driver = Driver()
    driver.create_topic("t")
    groups = [f"g{number}" for number in range(3 * HIDDEN_AT_ONCE)]
    for group in groups:
        driver.commit(group, {("t", 0): 5})
    driver.hold = True
    driver.delete_topic("t")
    driver.create_topic("t")
    assert {driver.committed(group, "t", 0) for group in groups} == {None}


def test_hidden_offsets_count_as_memory_until_they_are_deleted() -> None:
    driver = wide()
    before = driver.coordinator.offset_room.size_bytes
    driver.hold = True
    driver.delete_topic("t")
    after = driver.coordinator.offset_room.size_bytes
    assert before / 2 < after < before
    driver.hold = False
    driver.sync()
    driver.advance(10)
    assert driver.coordinator.offset_room.size_bytes == 0


def test_partitions_that_are_unloaded_between_the_steps_are_looked_at_when_they_are_read_again() -> None:
    driver = wide()
    driver.hold = True
    driver.delete_topic("t")
    driver.coordinator.unload(range(5), driver.now_ms)
    assert driver.coordinator.offset_room.size_bytes == 0
    driver.hold = False
    driver.restart()
    driver.advance(RETRY_MS + 10)
    assert not left_in_log(driver)


def test_what_transactions_staged_goes_in_steps_too() -> None:
    driver = Driver()
    driver.create_topic("t", WIDE)
    stage(driver, WIDE)
    driver.hold = True
    driver.delete_topic("t")
    assert [len(effects.records) for effects in written(driver)] == [OFFSETS_PER_STEP]
    driver.hold = False
    driver.sync()
    driver.advance(10)
    driver.create_topic("t", WIDE)
    assert end(driver) == [None]
    driver.advance(10)
    assert {driver.committed("g", "t", index) for index in range(WIDE)} == {None}
