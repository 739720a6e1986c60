"""The whole machine: answers, losses, restarts, and a crash between any two stored records."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any
from uuid import UUID

import pytest

from groups.effects import EncodedRecord
from groups.errors import GroupNotFound, InvalidRecordState, NotLoaded
from groups.share.acknowledgements import acknowledgement
from groups.share.delivery import Limits
from groups.share.found import Acquired
from groups.share.share_partition import SharePartition
from groups.share.state_records import ShareKey, decode_state
from groups.share.states import RecordState
from protocol.error_codes import ErrorCode
from tests.groups.share.driver import KEY, TOPIC_ID, Driver

NONE, UNAVAILABLE = ErrorCode.NONE, ErrorCode.COORDINATOR_NOT_AVAILABLE

ACCEPT, RELEASE, REJECT = 1, 2, 3


def started(**options: Any) -> Driver:
    driver = Driver(**options)
    assert driver.initialize() == [NONE]
    return driver


# --- answers ------------------------------------------------------------------------------------------------


def test_an_acknowledgement_is_answered_when_it_is_durable() -> None:
    driver = started()
    driver.acquire("m1", 10)
    driver.hold = True
    answers = driver.say("m1", 0, 9, ACCEPT)
    assert answers == []
    driver.store()
    assert answers == [NONE]
    driver.restart()
    assert driver.machine.find(KEY).start == 10  # type: ignore[union-attr]


def test_a_record_in_a_partition_that_is_not_its_share_partitions_changes_nothing() -> None:
    driver = started(partitions=3)
    driver.acquire("m1", 10)
    driver.say("m1", 0, 9, ACCEPT)
    home = next(index for index, records in enumerate(driver.log) if records)
    created = driver.log[home][0]
    driver.log[(home + 1) % 3] += [created, (created[0], None)]
    driver.restart()
    assert driver.machine.find(KEY).start == 10  # type: ignore[union-attr]


def test_what_is_not_durable_is_not_acquired_again() -> None:
    driver = started()
    driver.acquire("m1", 10)
    driver.hold = True
    driver.say("m1", 0, 9, RELEASE)
    assert driver.acquire("m2", 10) == []
    driver.store()
    assert [part.delivery_count for part in driver.acquire("m2", 10)] == [2]


def test_a_lost_acknowledgement_is_refused_and_may_be_said_again() -> None:
    driver = started()
    driver.acquire("m1", 10)
    driver.hold = True
    answers = driver.say("m1", 0, 9, ACCEPT)
    driver.lose()
    assert answers == [UNAVAILABLE]
    driver.hold = False
    assert driver.say("m1", 0, 9, ACCEPT) == [NONE]


def test_changes_after_a_lost_snapshot_survive_a_restart() -> None:
    driver = started(snapshot_after=1)
    driver.acquire("m1", 10)
    driver.say("m1", 0, 0, ACCEPT)
    driver.hold = True
    driver.say("m1", 1, 1, ACCEPT)  # a snapshot
    driver.lose()
    driver.hold = False
    driver.say("m1", 1, 1, ACCEPT)
    driver.say("m1", 2, 2, ACCEPT)
    driver.restart()
    assert driver.machine.find(KEY).start == 3  # type: ignore[union-attr]


def test_a_repeated_initialization_changes_nothing() -> None:
    driver = started()
    driver.acquire("m1", 10)
    driver.say("m1", 0, 4, ACCEPT)
    assert driver.initialize(start=100) == [NONE]
    assert driver.machine.find(KEY).start == 5  # type: ignore[union-attr]


def test_what_is_not_loaded_or_does_not_exist_is_refused() -> None:
    driver = started()
    with pytest.raises(GroupNotFound):
        driver.say("m1", 0, 0, ACCEPT, key=KEY._replace(partition=1))
    driver.machine.unload([0], 0)
    with pytest.raises(NotLoaded):
        driver.say("m1", 0, 0, ACCEPT)
    with pytest.raises(NotLoaded):
        driver.initialize()


def test_unloading_answers_what_is_on_its_way() -> None:
    driver = started()
    driver.acquire("m1", 10)
    driver.hold = True
    answers = driver.say("m1", 0, 9, ACCEPT)
    driver.machine.unload([0], 0)
    assert answers == [UNAVAILABLE]
    assert driver.machine.next_deadline() is None


# --- locks and sessions -------------------------------------------------------------------------------------


def test_locks_run_out_by_the_clock_and_free_the_records() -> None:
    driver = started()
    driver.acquire("m1", 10)
    driver.machine.take_freed()
    driver.advance(999)
    assert driver.shown() == [(0, 9, "acquired", 1)]
    assert driver.machine.take_freed() == []
    driver.advance(1)
    assert driver.shown() == [(0, 9, "available", 1)]
    assert driver.machine.take_freed() == [KEY]
    assert driver.machine.counts_of("g").lock_timeouts == 10


def test_locks_that_ran_out_without_being_stored_are_tried_again() -> None:
    driver = started()
    driver.acquire("m1", 10)
    driver.hold = True
    driver.advance(1_000)
    driver.lose()
    assert driver.shown() == [(0, 9, "acquired", 1)]
    driver.hold = False
    driver.advance(999)
    assert driver.shown() == [(0, 9, "acquired", 1)]
    driver.advance(1)
    assert driver.shown() == [(0, 9, "available", 1)]


def test_a_closed_session_gives_back_what_it_had() -> None:
    driver = started()
    driver.acquire("m1", 10, 5)
    driver.acquire("m2", 10, 5)
    answers: list[ErrorCode] = []
    driver.machine.release(KEY, "m1", answers.append, 0)
    driver.pump()
    assert answers == [NONE]
    assert driver.shown() == [(0, 4, "available", 1), (5, 9, "acquired", 1)]


def test_the_first_records_of_idle_members_are_taken_over_and_their_late_words_refused() -> None:
    driver = started()
    driver.acquire("m1", 10, 5)
    driver.acquire("m2", 10, 5)
    assert driver.machine.take_over(KEY, ["m1", "m9"], 3, lambda _: None, 0) == 3
    driver.pump()
    assert driver.shown() == [
        (0, 2, "available", 1), (3, 4, "acquired", 1), (5, 9, "acquired", 1),
    ]  # fmt: skip
    with pytest.raises(InvalidRecordState):
        driver.say("m1", 0, 0, ACCEPT)
    assert driver.acquire("m3", 10) == [Acquired(0, 2, 2)]
    assert driver.machine.take_over(KEY, ["m9"], 3, lambda _: None, 0) == 0


# --- from outside -------------------------------------------------------------------------------------------


def test_a_reset_begins_anew_and_outlives_a_restart() -> None:
    driver = started()
    driver.acquire("m1", 10)
    driver.say("m1", 0, 3, ACCEPT)
    answers: list[ErrorCode] = []
    driver.machine.reset(KEY, 2, answers.append, 0)
    driver.pump()
    assert answers == [NONE]
    for _ in range(2):
        found = driver.machine.find(KEY)
        assert found is not None
        assert (found.start, found.end, found.state_epoch) == (2, 2, 1)
        driver.restart()
    driver.acquire("m2", 10)
    with pytest.raises(InvalidRecordState):
        driver.say("m1", 5, 5, ACCEPT)


def test_a_lost_reset_leaves_everything_as_it_was() -> None:
    driver = started()
    driver.acquire("m1", 10)
    driver.hold = True
    driver.machine.reset(KEY, 5, lambda _: None, 0)
    driver.pump()
    driver.lose()
    assert driver.shown() == [(0, 9, "acquired", 1)]
    driver.hold = False
    driver.advance(1_000)
    assert driver.shown() == [(0, 9, "available", 1)]


def test_deleted_state_stays_deleted() -> None:
    driver = started()
    answers: list[ErrorCode] = []
    driver.machine.delete(KEY, answers.append, 0)
    driver.machine.delete(KEY, answers.append, 0)
    driver.pump()
    assert answers == [NONE, NONE]
    driver.restart()
    assert driver.machine.find(KEY) is None
    assert driver.machine.keys_of("g") == []


def test_the_state_of_a_deleted_topic_is_deleted_also_if_that_was_while_the_server_was_down() -> None:
    driver = started()
    other = UUID(int=7)
    driver.topics.add("other", other)
    second = ShareKey("g", other, 0)
    driver.initialize(key=second)
    del driver.topics.by_id[other]
    driver.machine.topics_changed(0, created=(), deleted=("other",), grown=())
    driver.pump()
    assert driver.machine.keys_of("g") == [KEY]
    driver.topics.by_id.clear()
    driver.restart()
    assert driver.machine.keys_of("g") == []
    assert driver.log[0][-1][1] is None


def test_a_snapshot_replays_to_the_same_state() -> None:
    driver = started(partitions=3)
    keys = [ShareKey("g", TOPIC_ID, index) for index in range(1, 20)]
    for key in keys:
        driver.initialize(key.partition, key)
        driver.acquire("m1", 100, key=key)
        driver.say("m1", key.partition + 1, key.partition + 2, RELEASE, key=key)
    before = [driver.machine.find(key).stored_ranges() for key in keys]  # type: ignore[union-attr]
    driver.log = [
        [record for part in driver.machine.snapshot(index, 4) for record in part] for index in range(3)
    ]
    driver.restart()
    assert [driver.machine.find(key).stored_ranges() for key in keys] == before  # type: ignore[union-attr]


def test_a_list_of_a_snapshot_has_few_share_partitions_if_they_have_many_ranges() -> None:
    driver = started()
    keys = [ShareKey("g", TOPIC_ID, index) for index in range(1, 4)]
    for key in keys:
        driver.initialize(0, key)
        driver.acquire("m1", 100, 40, key=key)
        for offset in range(1, 40, 2):
            driver.say("m1", offset, offset, ACCEPT, key=key)
    lists = list(driver.machine.snapshot(0, 20))
    assert [len(records) for records in lists] == [2, 1, 1, 0]


def test_a_snapshot_has_what_was_set_or_deleted_since_it_was_begun() -> None:
    driver = started()
    keys = [ShareKey("g", TOPIC_ID, index) for index in range(1, 4)]
    for key in keys:
        driver.initialize(0, key)
    copied: list[EncodedRecord] = []
    for records in driver.machine.snapshot(0, 1):
        if not copied:
            driver.machine.reset(keys[0], 7, lambda _: None, 0)
            driver.machine.delete(keys[1], lambda _: None, 0)
            driver.pump()
        copied += records
    names = [decode_state(*record) for record in copied]
    assert [name[0] for name in names if name is not None] == [KEY, keys[0], keys[2]]
    driver.log = [copied]
    driver.restart()
    assert driver.machine.find(keys[0]).start == 7  # type: ignore[union-attr]


def test_an_error_in_a_timer_names_the_partition_to_replay(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = started()
    driver.acquire("m1", 10)
    monkeypatch.setattr(SharePartition, "expire", lambda *_: 1 // 0)
    driver.machine.tick(1_000)
    (failed,) = driver.machine.take_internal_errors()
    assert (failed.group_id, failed.partition) == ("g", 0)
    assert driver.machine.take_internal_errors() == []


# --- crashes ------------------------------------------------------------------------------------------------

LOG_END = 60


class Workers:
    """Members that acquire, accept, release, reject, leave, or fall silent; some of what they say is lost."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.driver = started(snapshot_after=4, limits=Limits(50, 4, 30))
        self.held: dict[int, str] = {}
        # The number of records in the log when it was answered that an offset is finished, and the offset.
        self.finished: list[tuple[int, int]] = []
        self.delivered: Counter[int] = Counter()

    def run(self, steps: int) -> None:
        for _ in range(steps):
            self.driver.hold = self.random.random() < 0.5
            self.random.choice(
                [self.acquire, self.acquire, self.say, self.say, self.wait, self.lose, self.close]
            )()

    def acquire(self) -> None:
        member_id = self.random.choice("abc")
        for part in self.driver.acquire(member_id, LOG_END, self.random.randrange(1, 9)):
            for offset in range(part.first, part.last + 1):
                self.delivered[offset] += 1
                self.held[offset] = member_id

    def say(self) -> None:
        partition = self.driver.machine.find(KEY)
        assert partition is not None
        acquired = [part for part in partition.ranges if part.facts.state == RecordState.ACQUIRED]
        if not acquired:
            return
        part = self.random.choice(acquired)
        last = self.random.randrange(part.first, part.last + 1)
        kind = self.random.choice([ACCEPT, ACCEPT, RELEASE, REJECT])
        first = part.first
        answers: list[ErrorCode] = []

        def answer(code: ErrorCode) -> None:
            answers.append(code)
            if code == NONE and kind != RELEASE:
                self.finished += [(len(self.driver.log[0]), offset) for offset in range(first, last + 1)]

        said = [acknowledgement(first, last, [kind])]
        self.driver.machine.acknowledge(KEY, part.facts.member_id, said, answer, self.driver.now_ms)
        self.driver.pump()

    def wait(self) -> None:
        self.driver.store(self.random.randrange(len(self.driver.in_flight) + 1))
        self.driver.advance(self.random.randrange(40))

    def close(self) -> None:
        self.driver.machine.release(KEY, self.random.choice("abc"), lambda _: None, self.driver.now_ms)
        self.driver.pump()

    def lose(self) -> None:
        if self.random.random() < 0.3:
            self.driver.lose()


@pytest.mark.parametrize("seed", range(6))
def test_a_crash_between_any_two_records_neither_loses_nor_repeats_what_was_answered(seed: int) -> None:
    workers = Workers(seed)
    workers.run(120)
    records = workers.driver.log[0]
    assert len(records) > 20
    counts: dict[int, int] = {}
    for length in range(1, len(records) + 1):
        after = Driver(snapshot_after=4, limits=Limits(50, 1_000, 1_000))
        after.log = [records[:length]]
        after.restart()
        finished = {offset for at, offset in workers.finished if at <= length}
        got = {
            offset: part.delivery_count
            for _ in range(3)
            for part in after.acquire("z", LOG_END, 100)
            for offset in range(part.first, part.last + 1)
        }
        assert not finished & got.keys(), f"seed {seed}: delivered again after record {length}"
        known = after.machine.find(KEY)
        assert known is not None
        missing = set(range(LOG_END)) - got.keys() - finished
        assert all(is_finished(known, offset) for offset in missing), f"seed {seed}: lost after {length}"
        for offset, count in got.items():
            assert counts.get(offset, 0) <= count <= workers.delivered[offset] + 1
            counts[offset] = count


def is_finished(partition: SharePartition, offset: int) -> bool:
    """Whether an offset is finished by a record whose answer the crash has lost."""
    if offset < partition.start:
        return True
    return any(
        part.first <= offset <= part.last and part.facts.state != RecordState.ACQUIRED
        for part in partition.ranges
    )
