"""Tests of groups/copies.py: copies are the whole state, in small parts, whatever changes between them."""

from __future__ import annotations

from random import Random

import pytest

from groups import copies
from groups.apart import Apart
from groups.effects import EncodedRecord
from groups.record_keys import OffsetKey
from tests.groups import consumers
from tests.groups.classic import join_waiting
from tests.groups.driver import Driver
from tests.groups.stored_groups import every_kind, loaded, state, stored


@pytest.fixture
def driver() -> Driver:
    """Return a driver whose log has groups of every kind."""
    return every_kind()


def snapshot(driver: Driver, records_max: int = 3) -> list[EncodedRecord]:
    return [record for part in driver.coordinator.snapshot(0, records_max) for record in part]


def test_a_snapshot_is_the_whole_state(driver: Driver) -> None:
    assert state(loaded(driver, snapshot(driver))) == state(loaded(driver, driver.log[0]))


def test_a_snapshot_comes_in_small_parts(driver: Driver) -> None:
    sizes = [len(part) for part in driver.coordinator.snapshot(0, records_max=3)]
    assert max(sizes) <= 12
    assert len(sizes) >= 5


def test_a_snapshot_appended_to_the_log_changes_nothing(driver: Driver) -> None:
    join_waiting(driver, "classic")
    assert state(loaded(driver, [*driver.log[0], *snapshot(driver)])) == state(loaded(driver, driver.log[0]))


def test_what_is_on_its_way_is_in_the_snapshot_as_it_was_written_last(driver: Driver) -> None:
    driver.hold = True
    driver.commit("simple", {("t", 0): 98})
    driver.commit("simple", {("t", 0): 99, ("t", 1): 99})
    driver.join_consumer("consumer", "c", "t")
    waiting = [record for effects in driver.in_flight for record in effects.records]
    whole = [*driver.log[0], *waiting]
    assert state(loaded(driver, [*whole, *snapshot(driver)])) == state(loaded(driver, whole))
    assert state(loaded(driver, snapshot(driver))) == state(loaded(driver, whole))


def test_what_changes_between_two_parts_is_not_taken_back(driver: Driver) -> None:
    written = list(driver.log[0])
    parts = driver.coordinator.snapshot(0, records_max=2)
    for number, part in enumerate(parts):
        driver.log[0].extend(part)
        assert state(loaded(driver, driver.log[0])) == stored(driver)
        driver.commit("simple", {("t", number % 4): 1_000 + number})
        driver.commit(f"new{number}", {("u", 0): number})
    assert state(loaded(driver, driver.log[0])) == stored(driver)
    rest = driver.log[0][len(written) :]
    assert state(loaded(driver, rest)) == stored(driver)


def test_a_snapshot_shows_some_members_of_a_group_at_a_time(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copies, "GROUP_RECORDS_AT_ONCE", 4)
    before = snapshot(driver)
    for number in range(5):
        driver.join_consumer("consumer", f"more{number}", "t")
    sizes = [len(part) for part in driver.coordinator.snapshot(0, records_max=4)]
    assert max(sizes) <= 4
    assert sum(sizes) >= len(before) + 10
    assert state(loaded(driver, snapshot(driver))) == state(loaded(driver, driver.log[0]))


def test_a_record_of_very_many_topics_is_shown_without_others(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copies, "TOPICS_PER_RECORD", 1)
    monkeypatch.setattr(copies, "GROUP_RECORDS_AT_ONCE", 10)
    topics = [f"w{number}" for number in range(12)]
    for name in topics:
        driver.create_topic(name, 1)
    driver.join_consumer("wide", "a", *topics)
    driver.beat("wide", "a", 2, owned={})
    group = consumers.group_of(driver, "wide")
    sizes = [len(part) for part in copies._group_slices(driver.coordinator._context, group)]
    assert sizes == [1, 2, 2, 0]


def test_a_wide_record_is_encoded_apart(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bug: the records of a group with 19,000 topics were a turn of 32 ms of the event loop."""
    before = snapshot(driver)
    monkeypatch.setattr(copies, "WIDE_TOPICS", 1)
    parts = list(driver.coordinator.snapshot(0, records_max=3))
    assert sum(isinstance(part, Apart) for part in parts) >= 5
    assert [record for part in parts for record in part] == before


@pytest.mark.parametrize("wide", [1, 1_000])
@pytest.mark.parametrize("seed", range(5))
def test_members_that_come_and_leave_between_two_parts_are_as_they_were_last(
    driver: Driver, monkeypatch: pytest.MonkeyPatch, seed: int, wide: int
) -> None:
    monkeypatch.setattr(copies, "GROUP_RECORDS_AT_ONCE", 1)
    monkeypatch.setattr(copies, "WIDE_TOPICS", wide)
    chance = Random(seed)
    written = list(driver.log[0])
    for number, part in enumerate(driver.coordinator.snapshot(0, records_max=2)):
        if isinstance(part, Apart) and chance.random() < 0.8:
            part.encode()
        driver.log[0].extend(part)
        assert state(loaded(driver, driver.log[0])) == stored(driver)
        members = sorted(consumers.group_of(driver, "consumer").metadata)
        if chance.random() < 0.5 or len(members) < 2:
            driver.join_consumer("consumer", f"new{number}", "t")
        else:
            driver.beat("consumer", chance.choice(members), -1)
    assert state(loaded(driver, driver.log[0])) == stored(driver)
    assert state(loaded(driver, driver.log[0][len(written) :])) == stored(driver)


def test_a_snapshot_looks_at_a_thousand_groups_at_a_time() -> None:
    driver = Driver(partitions=50)
    context = driver.coordinator._context
    for number in range(3_500):
        context.offsets.replay(OffsetKey(f"g{number}", "t", 0), b"\x00\x03")
    sizes = [len(part) for part in driver.coordinator.snapshot(context.partition("g7"))]
    assert sizes.count(0) == 3
    assert sum(sizes) == sum(context.partition(f"g{n}") == context.partition("g7") for n in range(3_500))


def test_a_list_of_a_snapshot_holds_so_many_offsets_over_all_topics() -> None:
    driver = Driver()
    for topic, count in (("a", 3), ("b", 4), ("c", 1)):
        driver.create_topic(topic, count)
        driver.commit("g", {(topic, index): index for index in range(count)})
    partition = driver.coordinator.partition_of("g")
    parts = driver.coordinator.snapshot(partition, records_max=3)
    assert [len(part) for part in parts] == [3, 3, 2]
