"""Tests of groups/loading.py: reading the log, and forgetting it."""

from __future__ import annotations

from typing import Any

import pytest

from groups import loading
from groups.effects import EncodedRecord, Stamp
from groups.offset_values import Committed, committed_bytes
from groups.record_keys import ClassicGroupKey, MemberKey, OffsetKey, RegexKey, ResolvedRegex
from groups.records import encode_record
from groups.timers import TimerKey
from protocol.error_codes import ErrorCode
from protocol.messages.delete_groups import DeleteGroupsRequest
from protocol.wire import ZERO_UUID
from tests.groups.classic import group_of, join_waiting, one_member
from tests.groups.driver import Driver
from tests.groups.stored_groups import every_kind, loaded, state, stored


@pytest.fixture
def driver() -> Driver:
    """Return a driver whose log has groups of every kind."""
    return every_kind()


def test_replaying_the_log_gives_the_same_state(driver: Driver) -> None:
    assert set(stored(driver)) == {"classic", "consumer", "upgraded", "empty", "offsets"}
    assert state(loaded(driver, driver.log[0])) == stored(driver)


def compacted(records: list[EncodedRecord]) -> list[EncodedRecord]:
    """Keep the last record of each key, where it is; drop tombstones."""
    last = {key: index for index, (key, _) in enumerate(records)}
    return [
        record for index, record in enumerate(records) if last[record[0]] == index and record[1] is not None
    ]


def test_a_compacted_log_gives_the_same_state(driver: Driver) -> None:
    driver.beat("consumer", "a", -1)
    assert state(loaded(driver, compacted(driver.log[0]))) == state(loaded(driver, driver.log[0]))


def test_records_may_be_replayed_twice(driver: Driver) -> None:
    records = compacted(driver.log[0])
    assert state(loaded(driver, [*records, *records])) == state(loaded(driver, records))


def test_tombstones_of_what_is_not_there_are_harmless(driver: Driver) -> None:
    tombstones = [(key, None) for key, _ in driver.log[0]]
    empty: dict[str, Any] = {"offsets": {}}
    assert state(loaded(driver, [*tombstones])) == empty
    assert state(loaded(driver, [*driver.log[0], *tombstones])) == empty


def replayed(driver: Driver, *records: EncodedRecord) -> Driver:
    """Restart with records that a client has written into the topic."""
    driver.log[0].extend(records)
    driver.restart()
    return driver


def misread(group_id: str, *, value: bytes | None = b"\0\0junk") -> EncodedRecord:
    """Return the record of a member whose value cannot be read."""
    return encode_record(MemberKey(group_id, "m"), None)[0], value


def test_a_record_without_a_key_that_can_be_read_is_left_out_and_named(
    driver: Driver, caplog: pytest.LogCaptureFixture
) -> None:
    before = stored(driver)
    replayed(driver, *[(b"\0", b"")] * (loading.TOLD_MAX + 5))
    assert stored(driver) == before
    assert caplog.text.count("is left out, as its key cannot be read") == loading.TOLD_MAX
    assert driver.coordinator.is_whole(0)


def test_records_in_a_partition_that_is_not_their_groups_change_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    driver = Driver("t", partitions=2)
    driver.commit("g", {("t", 0): 5})
    one_member(driver, "classic")
    before = state(driver.coordinator)
    for name in ("g", "classic"):
        wrong = 1 - driver.coordinator.partition_of(name)
        driver.log[wrong] += [
            encode_record(OffsetKey(name, "t", 0), committed_bytes(Committed(7, -1, "", 0, -1), ZERO_UUID)),
            encode_record(ClassicGroupKey(name), None),
            misread(name),
        ]
    driver.restart()
    assert state(driver.coordinator) == before
    assert driver.coordinator.counts()["quarantined"] == 0
    assert caplog.text.count("is left out: it lies in partition") == 6


def test_a_staged_offset_in_a_partition_that_is_not_its_groups_never_counts() -> None:
    driver = Driver("t", partitions=2)
    driver.commit("g", {("t", 0): 5})
    wrong = 1 - driver.coordinator.partition_of("g")
    key, value = encode_record(
        OffsetKey("g", "t", 0), committed_bytes(Committed(7, -1, "", 0, -1), ZERO_UUID)
    )
    driver.coordinator.replay_staged(wrong, Stamp(1, 0), key, value)
    assert list(driver.coordinator.replay_end(wrong, 1, commit=True)) == []
    assert driver.committed("g", "t", 0) == 5


@pytest.mark.parametrize("value", [b"\0\0junk", b"\0\x63", b""], ids=["junk", "later version", "nothing"])
def test_a_group_with_a_record_that_cannot_be_read_is_refused_and_the_others_are_served(
    driver: Driver, value: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    replayed(driver, misread("consumer", value=value))
    assert driver.beat("consumer", "a", 2).value.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert driver.fetch("consumer", "t", 0).value.groups[0].error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert driver.fetch("simple", "t", 3).value.groups[0].topics[0].partitions[0].committed_offset == 3
    assert "group 'consumer' is quarantined: a record of it cannot be read" in caplog.text
    assert driver.coordinator.counts()["quarantined"] == 1
    assert not driver.coordinator.is_whole(0)


def test_a_quarantined_group_that_is_not_known_otherwise_is_refused_too(driver: Driver) -> None:
    replayed(driver, misread("new"))
    assert driver.join_consumer("new", "a", "t").value.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_a_record_that_is_replaced_later_does_no_harm(driver: Driver) -> None:
    replayed(driver, misread("consumer"), misread("consumer", value=None))
    assert driver.coordinator.is_whole(0)
    assert driver.beat("consumer", "a", 2).value.error_code == ErrorCode.NONE


def test_a_quarantined_group_is_kept_by_the_cleanup_and_cured_by_its_deletion(driver: Driver) -> None:
    replayed(driver, misread("simple"))
    driver.advance(3 * driver.config.offsets_retention_check_interval_ms)
    request = DeleteGroupsRequest(groups_names=["simple"])
    answer = driver.call(driver.coordinator.delete_groups, request)
    assert answer.value.results[0].error_code == ErrorCode.NONE
    assert driver.coordinator.is_whole(0)
    driver.restart()
    assert driver.coordinator.is_whole(0)
    assert driver.coordinator.counts()["quarantined"] == 0
    assert driver.coordinator.committed("simple", "t", 3) is None
    assert driver.commit("simple", {("t", 0): 1}).value.topics[0].partitions[0].error_code == 0


def test_a_quarantine_ends_when_its_partition_is_loaded_without_the_record(driver: Driver) -> None:
    replayed(driver, misread("simple"))
    driver.coordinator.unload([0], driver.now_ms)
    assert not driver.coordinator.is_whole(0)
    for key, value in driver.log[0][:-1]:
        driver.coordinator.replay(0, key, value)
    driver.coordinator.loaded([0], driver.now_ms)
    assert driver.coordinator.is_whole(0)
    assert driver.coordinator.committed("simple", "t", 3) is not None


# --- unloading ----------------------------------------------------------------------------------------------


def test_unloading_answers_everybody_who_waits(driver: Driver) -> None:
    _, joining = join_waiting(driver, "classic")
    driver.hold = True
    beating = driver.join_consumer("consumer", "c", "t")
    committing = driver.commit("simple", {("t", 0): 99})
    driver.coordinator.unload([0], driver.now_ms)
    assert joining.error == ErrorCode.NOT_COORDINATOR
    assert beating.error == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert committing.value.topics[0].partitions[0].error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert driver.join("classic").error == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert state(driver.coordinator) == {"offsets": {}}
    driver.sync()


def test_other_partitions_stay() -> None:
    driver = Driver("t", partitions=50)
    names = [f"g{number}" for number in range(20)]
    for name in names:
        driver.commit(name, {("t", 0): 5})
        one_member(driver, f"{name}-members")
    gone = driver.coordinator.partition_of("g7")
    driver.coordinator.unload([gone], driver.now_ms)
    for name in names:
        stays = driver.coordinator.partition_of(name) != gone
        assert (driver.committed(name, "t", 0) == 5) == stays


def test_a_partition_can_be_loaded_again(driver: Driver) -> None:
    before = state(driver.coordinator)
    driver.coordinator.unload([0], driver.now_ms)
    for key, value in driver.log[0]:
        driver.coordinator.replay(0, key, value)
    driver.coordinator.loaded([0], driver.now_ms)
    assert state(driver.coordinator)["offsets"] == before["offsets"]
    assert driver.heartbeat("classic", group_of(driver, "classic").leader or "", 1) == ErrorCode.NONE


def test_loading_a_partition_looks_at_its_own_groups_only() -> None:
    driver = Driver("t", partitions=2)
    names = {index: next(f"g{n}" for n in range(99) if driver.coordinator.partition_of(f"g{n}") == index)
             for index in (0, 1)}  # fmt: skip
    for name in names.values():
        driver.join_consumer(name, "a", "t")
    again = Driver(partitions=2)
    again.coordinator.unload((0, 1), 0)
    for partition, records in driver.log.items():
        for key, value in records:
            again.coordinator.replay(partition, key, value)
    context = again.coordinator._context
    assert context.replayed.keys() == set(names.values())
    again.coordinator.loaded((0,), 0)
    assert context.replayed.keys() == {names[1]}
    assert [key.group_id for key in context.timers._set if key.kind == "session"] == [names[0]]


# --- quarantine ---------------------------------------------------------------------------------------------


def test_a_stored_pattern_that_is_none_stops_neither_the_load_nor_its_group(
    driver: Driver, caplog: pytest.LogCaptureFixture
) -> None:
    """A client that may write to the topic can store what no heartbeat would accept."""
    bad = encode_record(RegexKey("consumer", "(["), ResolvedRegex(frozenset(), 1))
    coordinator = loaded(driver, [*driver.log[0], bad])
    coordinator.loaded([0], driver.now_ms)
    assert coordinator.take_internal_errors() == []
    assert "the regular expression '([' is invalid" in caplog.text
    coordinator.topics_changed(driver.now_ms, created=["t"])
    coordinator.tick(driver.now_ms + 1_000)
    assert coordinator.take_internal_errors() == []
    assert "consumer" in coordinator.group_ids()


def test_a_group_that_cannot_be_served_is_refused_and_the_others_are_served(
    driver: Driver, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_context: Any, group: Any) -> None:
        if group.group_id == "consumer":
            raise ZeroDivisionError("broken on purpose")

    monkeypatch.setattr(loading, "arm", broken)
    driver.restart()
    assert "group 'consumer' is quarantined" in caplog.text
    assert driver.join_consumer("consumer", "z", "t").error == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert driver.join("classic", version=5).error == ErrorCode.MEMBER_ID_REQUIRED


def test_what_a_timer_raises_is_kept_with_its_group_and_partition(driver: Driver) -> None:
    context = driver.coordinator._context

    def broken(_now_ms: int) -> None:
        raise ZeroDivisionError("broken on purpose")

    context.timers.set(TimerKey("session", "consumer", "a"), driver.now_ms, broken)
    context.timers.set(TimerKey("topics", ""), driver.now_ms, broken)
    driver.coordinator.tick(driver.now_ms)
    errors = driver.coordinator.take_internal_errors()
    assert [(failed.partition, failed.group_id, str(failed.error)) for failed in errors] == [
        (0, "consumer", "broken on purpose"),
        (None, "", "broken on purpose"),
    ]
    assert driver.coordinator.take_internal_errors() == []


@pytest.mark.parametrize(
    "value", [b"", b"\0", b"\0\3", b"\0\x09" + bytes(20), b"\0\3" + bytes(12) + b"\x7f\xff"]
)
def test_an_offset_that_cannot_be_read_is_left_out_and_its_group_served(
    driver: Driver, value: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    key, _ = encode_record(OffsetKey("simple", "t", 0), None)
    coordinator = loaded(driver, [*driver.log[0], (key, value)])
    assert "an offset of group 'simple' in t-0 is left out" in caplog.text
    assert state(coordinator) == state(loaded(driver, driver.log[0]))
