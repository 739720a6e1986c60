"""The churn of compat_tests/churn for half a minute, and what its verdict would notice."""

from __future__ import annotations

from pathlib import Path

import pytest

from compat_tests.churn.master import Churn
from compat_tests.churn.notes import COMMITTED, GOT, Note, Notebook, notes_of
from compat_tests.churn.verdict import judge
from compat_tests.conftest import StartBroker
from compat_tests.kawal_broker import KawalBroker


@pytest.mark.timeout(300, method="signal")
def test_nothing_is_lost_and_nothing_committed_comes_again(start_broker: StartBroker, tmp_path: Path) -> None:
    broker = start_broker(group_initial_rebalance_delay_ms="0")
    # Apache Kafka has no views.  The churn waits up to two minutes for the last records, and says which miss.
    verdict = Churn(broker, tmp_path, seed=1, reads_view=isinstance(broker, KawalBroker)).run(25)
    assert verdict.lives >= 21
    assert verdict.records >= 1_000


def test_a_record_that_came_to_nobody_is_noticed() -> None:
    with pytest.raises(AssertionError, match="partition 0: 1 of 3 records came to no member, 2 first"):
        judge([Note(1.0, "a", GOT, 0, 0, 1, 0.5)], {0: 3})


def test_a_committed_record_that_comes_again_is_noticed() -> None:
    notes = [
        Note(1.0, "a", GOT, 0, 0, 4, 0.5),
        Note(2.0, "a", COMMITTED, 0, 3, 3, 1.9),
        Note(3.0, "b", GOT, 0, 3, 4, 2.5),
        Note(4.0, "c", GOT, 0, 2, 4, 3.9),
    ]
    assert judge(notes[:3], {0: 5}).deliveries == 7
    with pytest.raises(AssertionError, match=r"c began at 2 at 4\.0, .* a had committed 3"):
        judge(notes, {0: 5})


def test_a_member_that_may_have_asked_before_a_commit_is_not_blamed() -> None:
    notes = [
        Note(1.0, "a", GOT, 0, 0, 4, 0.5),
        Note(2.0, "a", COMMITTED, 0, 2, 2, 1.9),
        Note(3.0, "a", COMMITTED, 0, 5, 5, 2.9),
        Note(9.0, "c", GOT, 0, 2, 4, 2.5),
    ]
    assert judge(notes, {0: 5}).deliveries == 8
    with pytest.raises(AssertionError, match=r"c began at 1 .* a had committed 2"):
        judge([*notes[:3], notes[3]._replace(first=1)], {0: 5})


def test_notes_of_a_killed_process_are_read_to_the_last_whole_line(tmp_path: Path) -> None:
    path = tmp_path / "notes"
    notebook = Notebook(path)
    notebook.write("a", GOT, 1, 2, 3, 4.5)
    notebook.close()
    with path.open("a") as file:
        file.write("12.5 a got 1 4")
    assert [note[1:] for note in notes_of(path)] == [("a", GOT, 1, 2, 3, 4.5)]
