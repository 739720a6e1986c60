"""Tests of groups/effects.py."""

from __future__ import annotations

import pytest

from groups.effects import Effects, Journal, do_all
from protocol.error_codes import ErrorCode

RECORD = (b"k", b"v")
FAILED = ErrorCode.KAFKA_STORAGE_ERROR


class Notes:
    """The calls, in order."""

    def __init__(self) -> None:
        self.journal = Journal()
        self.seen: list[object] = []

    def write(self, name: str, partition: int = 0) -> Effects:
        self.journal.write(
            partition,
            [RECORD],
            [lambda: self.seen.append(f"undo {name}")],
            lambda error, _: self.seen.append((name, error)),
        )
        return self.journal.take()[0]


def test_what_is_written_is_taken_once_and_in_order() -> None:
    notes = Notes()
    for partition in (3, 1, 3):
        notes.journal.write(partition, [RECORD], [], lambda *_: None)
    assert [effects.partition for effects in notes.journal.take()] == [3, 1, 3]
    assert notes.journal.take() == []


def test_a_durable_write_is_answered_and_not_undone() -> None:
    notes = Notes()
    effects = notes.write("a")
    assert notes.journal.in_flight(0)
    notes.journal.durable(effects, 5)
    assert notes.seen == [("a", None)]
    assert effects.settled
    assert not notes.journal.in_flight(0)


def test_durability_includes_everything_before() -> None:
    notes = Notes()
    first, second = notes.write("a"), notes.write("b")
    notes.journal.durable(second, 5)
    assert notes.seen == [("a", None), ("b", None)]
    notes.journal.durable(first, 5)
    assert len(notes.seen) == 2


def test_a_failure_takes_back_everything_after_it_newest_first_and_answers_oldest_first() -> None:
    notes = Notes()
    first, second, third = notes.write("a"), notes.write("b"), notes.write("c")
    other = notes.write("other", partition=1)
    notes.journal.failed(second, FAILED, 5)
    assert notes.seen == ["undo c", "undo b", ("b", FAILED), ("c", FAILED)]
    assert (first.settled, third.settled, other.settled) == (False, True, False)
    notes.journal.failed(third, FAILED, 5)
    notes.journal.durable(first, 6)
    assert notes.seen[4:] == [("a", None)]


def test_an_answer_without_records_waits_for_the_newest_write_of_its_partition() -> None:
    notes = Notes()
    effects = notes.write("a")
    notes.journal.after_writes(0, lambda error, now_ms: notes.seen.append((error, now_ms)), 1)
    notes.journal.after_writes(1, lambda error, now_ms: notes.seen.append(("other", now_ms)), 1)
    assert notes.seen == [("other", 1)]
    notes.journal.durable(effects, 7)
    assert notes.seen[1:] == [("a", None), (None, 7)]


def test_an_answer_without_records_fails_with_the_write_it_waits_for() -> None:
    notes = Notes()
    effects = notes.write("a")
    notes.journal.after_writes(0, lambda error, _: notes.seen.append(error), 1)
    notes.journal.failed(effects, FAILED, 7)
    assert notes.seen == ["undo a", ("a", FAILED), FAILED]


def test_what_is_written_while_others_are_answered_waits_for_its_own_turn() -> None:
    journal = Journal()
    seen: list[str] = []

    def write_more(_: ErrorCode | None, __: int) -> None:
        seen.append("first")
        journal.write(0, [RECORD], [], lambda *_: seen.append("second"))

    journal.write(0, [RECORD], [], write_more)
    [first] = journal.take()
    journal.durable(first, 1)
    assert seen == ["first"]
    [second] = journal.take()
    journal.durable(second, 2)
    assert seen == ["first", "second"]


def test_abandoned_partitions_answer_without_undoing() -> None:
    notes = Notes()
    effects = notes.write("a")
    notes.write("b", partition=1)
    notes.journal.abandon([0], ErrorCode.NOT_LEADER_OR_FOLLOWER, 1)
    assert notes.seen == [("a", ErrorCode.NOT_LEADER_OR_FOLLOWER)]
    assert effects.settled
    assert notes.journal.in_flight(1)


def test_an_answer_that_raises_does_not_keep_others_from_theirs() -> None:
    notes = Notes()
    first, second = notes.write("a"), notes.write("b")

    def broken(error: ErrorCode | None, now_ms: int) -> None:
        raise ZeroDivisionError

    first.wait(broken)
    first.wait(lambda error, _: notes.seen.append(("a again", error)))
    with pytest.raises(ZeroDivisionError):
        notes.journal.durable(second, 5)
    assert notes.seen == [("a", None), ("a again", None), ("b", None)]
    assert second.settled


def test_several_answers_that_raise_are_all_told() -> None:
    def broken() -> None:
        raise ZeroDivisionError

    with pytest.raises(ExceptionGroup) as told:
        do_all([broken, broken])
    assert len(told.value.exceptions) == 2
