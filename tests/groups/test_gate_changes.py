"""Groups that follow their gates; those of a broker are in tests/broker/coordinators/test_node_splits.py."""

from __future__ import annotations

from typing import Any

from groups.context import GATHER_MS, LOOK_AGAIN_MS
from groups.gate_changes import GROUPS_PER_TICK, follow_all
from groups.offset_values import NO_EXPIRY, Committed, committed_bytes
from groups.record_keys import OffsetKey
from groups.split_gates import withheld
from protocol.wire import ZERO_UUID
from tests.groups.driver import Driver
from tests.groups.test_split_gates import CHAIN, Facts


def context_of(driver: Driver) -> Any:
    found: Any = driver.coordinator._context
    found.splits = Facts(*CHAIN)
    return found


def test_gates_are_looked_at_a_moment_after_a_commit_and_then_no_more(driver: Driver) -> None:
    context = context_of(driver)
    looked: list[int] = []
    context.follow_gates = looked.append
    for offset in (3, 4):
        value = committed_bytes(Committed(offset, -1, "", 0, NO_EXPIRY), ZERO_UUID)
        context.put_offset(OffsetKey("g", "t", 0), value)
    driver.advance(GATHER_MS - 1)
    assert looked == []
    driver.advance(60_000)
    assert looked == [GATHER_MS]


def test_what_is_withheld_is_looked_at_again(driver: Driver) -> None:
    context = context_of(driver)
    looked: list[set[str]] = []
    context.follow_gates = lambda _now_ms: looked.append(set(context.gated))
    assert withheld(context, "g", "t")
    driver.advance(LOOK_AGAIN_MS)
    assert looked == [{"g"}]


def test_many_groups_take_turns_and_groups_that_are_not_there_any_more_none(driver: Driver) -> None:
    context = context_of(driver)
    context.gated = {f"g{number}" for number in range(2 * GROUPS_PER_TICK + 1)}
    follow_all(context, driver.now_ms)
    assert len(context.gated) == GROUPS_PER_TICK + 1
    driver.advance(10)
    assert context.gated == set()
