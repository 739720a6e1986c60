"""Tests of groups/discarding.py: what is of no use any more is answered, and taken apart in steps."""

from __future__ import annotations

from groups.discarding import ANSWERED_PER_STEP, FREED_PER_STEP, emptied
from protocol.error_codes import ErrorCode
from tests.groups.driver import Driver
from tests.groups.share.driver import Driver as ShareDriver
from tests.groups.test_txn_offset_commit import stage


def test_requests_that_wait_are_refused_and_nothing_is_left() -> None:
    driver = Driver("t")
    waiting = [driver.join(f"g{number}", version=3) for number in range(2 * ANSWERED_PER_STEP)]
    stage(driver, 5)
    driver.hold = True
    commit = driver.commit("other", {("t", 0): 7})
    steps = list(driver.coordinator.discard(driver.now_ms))
    assert len(steps) >= 2
    assert {answer.error for answer in waiting} == {ErrorCode.NOT_COORDINATOR}
    assert commit.value.topics[0].partitions[0].error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    context = driver.coordinator._context
    assert (context.groups, len(context.timers), context.offsets.newest_groups()) == ({}, 0, [])
    assert not context.staged


def test_acknowledgements_that_wait_are_refused() -> None:
    driver = ShareDriver()
    driver.hold = True
    answers = driver.initialize()
    list(driver.machine.discard(driver.now_ms))
    assert answers == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
    assert not driver.machine.table.shares


def test_tables_within_tables_are_emptied_a_part_at_a_time() -> None:
    inner = {number: number for number in range(2 * FREED_PER_STEP)}
    outer, row = {"a": inner, "b": {}}, list(range(FREED_PER_STEP))
    assert len(list(emptied(outer, row))) == 3
    assert (inner, outer, row) == ({}, {}, [])
