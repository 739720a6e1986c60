"""Tests of groups/loading.py: reading the log, forgetting it, and rewriting it."""

from __future__ import annotations

from typing import Any

import pytest

from groups import loading
from groups.consumer_group import ConsumerGroup
from groups.coordinator import Coordinator
from groups.effects import EncodedRecord, Stamp
from groups.offsets import Committed, committed_bytes
from groups.record_keys import ClassicGroupKey, MemberKey, OffsetKey, RegexKey, ResolvedRegex
from groups.records import encode_record
from groups.timers import TimerKey
from protocol.error_codes import ErrorCode
from protocol.messages.delete_groups import DeleteGroupsRequest
from tests.groups.classic import group_of, join_waiting, one_member, two_members
from tests.groups.consumers import DURABLE
from tests.groups.driver import Driver


@pytest.fixture
def driver() -> Driver:
    """Return a driver whose log has groups of every kind."""
    driver = Driver("t", "u", partitions=1)
    two_members(driver, "classic")
    driver.join("static", instance_id="i", version=3)
    driver.advance(3_000)
    driver.join_consumer("consumer", "a", "t", regex="u.*")
    driver.join_consumer("consumer", "b", "t", instance_id="j")
    driver.advance(2_000)
    driver.beat("consumer", "a", 2)
    driver.join_consumer("upgraded", "x", "t")
    driver.join("upgraded", version=3)
    for index in range(4):
        driver.commit("simple", {("t", index): index, ("u", index): index})
    driver.leave("empty", (one_member(driver, "empty"), None))
    return driver


def state(coordinator: Coordinator) -> dict[str, Any]:
    """Return all durable state in a form that can be compared."""
    context = coordinator._context
    found: dict[str, Any] = {}
    for group_id, group in context.groups.items():
        if isinstance(group, ConsumerGroup):
            found[group_id] = [getattr(group, name) for name in DURABLE]
        else:
            members = {
                name: (member.assignment, member.instance_id) for name, member in group.members.items()
            }
            found[group_id] = [group.state, group.generation, group.leader, group.protocol, members]
    found["offsets"] = {
        group_id: sorted(context.offsets.iterate(group_id)) for group_id in context.offsets.groups()
    }
    return found


def stored(driver: Driver) -> dict[str, Any]:
    """Return the state that is in the log: nothing of group `static`, which awaits its first assignment."""
    return {name: found for name, found in state(driver.coordinator).items() if name != "static"}


def loaded(driver: Driver, records: list[EncodedRecord]) -> Coordinator:
    coordinator = Coordinator(
        config=driver.config, topics=driver.topics, random=driver.random, wall_ms=lambda now_ms: now_ms
    )
    for key, value in records:
        coordinator.replay(0, memoryview(key), None if value is None else memoryview(value))
    return coordinator


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
            encode_record(OffsetKey(name, "t", 0), committed_bytes(Committed(7, -1, "", 0, -1))),
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
    key, value = encode_record(OffsetKey("g", "t", 0), committed_bytes(Committed(7, -1, "", 0, -1)))
    driver.coordinator.replay_staged(wrong, Stamp(1, 0), key, value)
    driver.coordinator.replay_end(wrong, 1, commit=True)
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


# --- rewriting ----------------------------------------------------------------------------------------------


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
    assert context.replayed == set(names.values())
    again.coordinator.loaded((0,), 0)
    assert context.replayed == {names[1]}
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
