"""Groups that move to the target of a copy: where they go on, and what is not known."""

from __future__ import annotations

import io
from typing import Any

import pytest

from pipeline.copy_state import CopyState
from pipeline.errors import SourceError
from pipeline.move_groups import Move, move_groups
from pipeline.offset_map import MapRecord, Origin, Run
from tests.pipeline.made import LAKE, job

COPY = job(LAKE, job={"name": "a", "kind": "replicate"}, target={"bootstrap": "b:1", "topic": "there"})
RECORD = MapRecord(
    job="a",
    topic="t",
    partition=0,
    target_topic="there",
    target_id="id",
    begin=0,
    until=10,
    origins=[Origin("east", "t")],
    runs=[Run(0, 100, 10)],
)


@pytest.fixture
def committed(monkeypatch: pytest.MonkeyPatch) -> list[Move]:
    done: list[Move] = []
    state = CopyState(copied=[RECORD], came=[], home={}, earliest={})
    monkeypatch.setattr("pipeline.move_groups.opened_copy", lambda _job: state)

    def commit(_job: Any, _group: str, moves: list[Move]) -> None:
        done.extend(moves)

    monkeypatch.setattr("pipeline.move_groups._commit", commit)
    return done


def at(monkeypatch: pytest.MonkeyPatch, positions: dict[str, dict[str, int]]) -> None:
    monkeypatch.setattr("pipeline.move_groups._committed", lambda *_: positions)


def test_a_group_is_shown_where_it_goes_on_and_committed_there_when_asked(
    committed: list[Move], monkeypatch: pytest.MonkeyPatch
) -> None:
    at(monkeypatch, {"t": {"0": 7}})
    out = io.StringIO()
    assert move_groups(COPY, ["g"], out, apply=False) == 0
    assert "g  t-0 offset 7 -> there-0 offset 107" in out.getvalue()
    assert "nothing is committed" in out.getvalue()
    assert committed == []
    assert move_groups(COPY, ["g"], out, apply=True) == 0
    assert [(move.target_topic, move.partition, move.target) for move in committed] == [("there", 0, 107)]


def test_a_position_beyond_the_copy_is_told_and_not_committed(
    committed: list[Move], monkeypatch: pytest.MonkeyPatch
) -> None:
    at(monkeypatch, {"t": {"0": 11}})
    out = io.StringIO()
    assert move_groups(COPY, ["g"], out, apply=True) == 1
    assert "UNKNOWN: not copied, or not yet" in out.getvalue()
    assert committed == []


def test_a_group_that_has_committed_nothing_is_named(
    committed: list[Move], monkeypatch: pytest.MonkeyPatch
) -> None:
    at(monkeypatch, {})
    with pytest.raises(SourceError, match="the group 'g' has committed nothing of t on"):
        move_groups(COPY, ["g"], io.StringIO(), apply=True)
    assert committed == []
