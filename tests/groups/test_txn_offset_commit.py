"""Offsets in transactions, at the group coordinator: checks, losses, and deletions in between."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from groups import staged_offsets
from groups.effects import EndMarker, StagedRecords, Stamp
from groups.offset_values import read_committed
from groups.record_keys import OffsetKey
from protocol.error_codes import ErrorCode
from protocol.messages.delete_groups import DeleteGroupsRequest
from protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from tests.groups.driver import Driver


def stage(
    driver: Driver, offset: int, producer: int = 7, *, metadata: str = "", group_id: str = "g"
) -> list[Any]:
    """Commit an offset in a transaction; the list has the answer when there is one."""
    progress = TxnOffsetCommitRequestPartition(
        partition_index=0, committed_offset=offset, committed_metadata=metadata
    )
    request = TxnOffsetCommitRequest(
        transactional_id="tx",
        group_id=group_id,
        producer_id=producer,
        producer_epoch=0,
        topics=[TxnOffsetCommitRequestTopic(name="t", partitions=[progress])],
    )
    answers: list[Any] = []
    driver.coordinator.txn_offset_commit(
        request, lambda answer: answers.append(answer.topics[0].partitions[0].error_code), driver.now_ms
    )
    driver.flush()
    return answers


def end(driver: Driver, producer: int = 7, *, commit: bool = True) -> list[Any]:
    answers: list[Any] = []
    driver.coordinator.end_transaction(
        driver.coordinator.partition_of("g"),
        EndMarker(producer, 0, 0, commit),
        lambda error, _now_ms: answers.append(error),
        driver.now_ms,
    )
    driver.flush()
    return answers


def offset_of(driver: Driver) -> int | None:
    found = driver.coordinator.committed("g", "t", 0)
    return None if found is None else found.offset


def test_an_offset_counts_when_the_marker_is_durable() -> None:
    driver = Driver("t")
    assert stage(driver, 5) == [0]
    assert offset_of(driver) is None
    driver.hold = True
    answers = end(driver)
    assert (answers, offset_of(driver)) == ([], None)
    driver.sync()
    assert (answers, offset_of(driver)) == ([None], 5)


def test_an_abort_drops_and_a_repeated_end_changes_nothing() -> None:
    driver = Driver("t")
    stage(driver, 5)
    end(driver, commit=False)
    end(driver, commit=True)
    assert offset_of(driver) is None


def test_a_lost_batch_is_not_staged() -> None:
    driver = Driver("t")
    driver.hold = True
    answers = stage(driver, 5)
    driver.fail()
    driver.hold = False
    end(driver)
    assert (answers, offset_of(driver)) == ([ErrorCode.COORDINATOR_NOT_AVAILABLE], None)


def test_metadata_that_is_too_long_is_refused() -> None:
    assert stage(Driver("t"), 5, metadata="x" * 4097) == [ErrorCode.OFFSET_METADATA_TOO_LARGE]


def test_a_group_with_nothing_but_staged_offsets_can_be_deleted_with_them() -> None:
    driver = Driver("t")
    stage(driver, 5)
    answer = driver.call(driver.coordinator.delete_groups, DeleteGroupsRequest(groups_names=["g"]))
    assert [result.error_code for result in answer.value.results] == [0]
    end(driver)
    assert offset_of(driver) is None


def test_a_deleted_topic_takes_staged_offsets_with_it() -> None:
    driver = Driver("t")
    stage(driver, 5)
    driver.delete_topic("t")
    driver.create_topic("t")
    end(driver)
    assert offset_of(driver) is None


def test_a_snapshot_has_staged_offsets_with_their_producers() -> None:
    driver = Driver("t")
    stage(driver, 5)
    partition = driver.coordinator.partition_of("g")
    parts = list(driver.coordinator.snapshot(partition, 10))
    (staged,) = [part for part in parts if isinstance(part, StagedRecords)]
    assert staged.stamp == Stamp(7, 0)
    fresh = Driver("t")
    for key, value in staged:
        fresh.coordinator.replay_staged(partition, staged.stamp, key, value)
    assert fresh.coordinator._context.staged.is_staged(OffsetKey("g", "t", 0))


def test_what_is_staged_while_a_marker_is_on_its_way_is_not_committed_by_it() -> None:
    driver = Driver("t")
    stage(driver, 5)
    driver.hold = True
    end(driver)
    stage(driver, 6)
    end(driver, commit=False)
    driver.sync()
    assert offset_of(driver) == 5


def test_a_commit_on_its_way_takes_the_place_of_what_was_staged_before_it_and_not_after_it() -> None:
    driver = Driver("t")
    stage(driver, 5, producer=1)
    driver.hold = True
    driver.commit("g", {("t", 0): 6})
    stage(driver, 7, producer=2)
    driver.sync()
    for producer, expected in ((1, 6), (2, 7)):
        end(driver, producer)
        driver.sync()
        assert offset_of(driver) == expected


def test_offsets_are_not_stable_until_the_marker_is_durable() -> None:
    driver = Driver("t")
    stage(driver, 5)
    driver.hold = True
    end(driver)
    staged = driver.coordinator._context.staged
    assert staged.is_staged(OffsetKey("g", "t", 0))
    driver.fail()
    assert (offset_of(driver), staged.is_staged(OffsetKey("g", "t", 0))) == (None, True)
    end(driver)
    driver.sync()
    assert (offset_of(driver), staged.is_staged(OffsetKey("g", "t", 0))) == (5, False)


def test_a_snapshot_shows_a_transaction_whose_marker_is_on_its_way_as_it_will_be() -> None:
    """Copied after the marker, what is staged would be so for ever, and the offset before would come back."""
    for commit in (True, False):
        driver = Driver("t")
        driver.commit("g", {("t", 0): 4})
        stage(driver, 5)
        driver.hold = True
        end(driver, commit=commit)
        partition = driver.coordinator.partition_of("g")
        records = [record for part in driver.coordinator.snapshot(partition) for record in part]
        parts = list(driver.coordinator.snapshot(partition))
        assert not [part for part in parts if isinstance(part, StagedRecords)]
        (value,) = (value for key, value in records if key.endswith(b"\x00\x01t\x00\x00\x00\x00"))
        assert value is not None
        assert read_committed(value).offset == (5 if commit else 4)


def held_back(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> list[Generator[None, None, None]]:
    """Let every transaction be large, and its end wait for its steps; return these."""
    monkeypatch.setattr(staged_offsets, "LARGE", 1)
    waiting: list[Generator[None, None, None]] = []
    driver.coordinator._context.background = waiting.append
    return waiting


def test_the_end_of_a_large_transaction_is_told_after_its_last_step_and_fetches_wait_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    driver = Driver("t")
    waiting = held_back(driver, monkeypatch)
    stage(driver, 5)
    answers = end(driver)
    staged = driver.coordinator._context.staged
    assert (answers, offset_of(driver), staged.is_staged(OffsetKey("g", "t", 0))) == ([], None, True)
    [steps] = waiting
    for _ in steps:
        assert answers == []
    assert (answers, offset_of(driver), staged.is_staged(OffsetKey("g", "t", 0))) == ([None], 5, False)


def test_a_copy_waits_until_the_offsets_of_a_transaction_that_has_ended_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    driver = Driver("t")
    driver.commit("g", {("t", 0): 3})
    waiting = held_back(driver, monkeypatch)
    stage(driver, 5)
    end(driver)
    copy = driver.coordinator.snapshot(driver.coordinator.partition_of("g"), 10)
    assert [next(copy) for _ in range(3)] == [[], [], []]
    for _ in waiting[0]:
        pass
    [(_, value)] = [record for part in copy for record in part]
    assert value is not None
    assert read_committed(value).offset == 5


def test_a_topic_that_is_deleted_between_the_steps_takes_the_offsets_with_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    driver = Driver("t")
    waiting = held_back(driver, monkeypatch)
    stage(driver, 5)
    end(driver)
    driver.delete_topic("t")
    driver.create_topic("t")
    for _ in waiting[0]:
        pass
    assert offset_of(driver) is None
    driver.restart()
    assert offset_of(driver) is None
