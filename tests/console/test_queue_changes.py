"""Changes of share groups: the partitions that are chosen, and what is refused."""

from __future__ import annotations

import argparse

import pytest

from console.errors import CommandError
from console.positions import EARLIEST, LATEST
from console.queue_changes import Move, add_topics, chosen_places, move, planned, purged, released
from tests.console.queues import Busy

ROW = {"group": "g", "partitions": [{"topic": "t", "partition": 0}, {"topic": "t", "partition": 3}]}


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> Busy:
    return Busy(monkeypatch)


def test_partitions_are_chosen_among_those_of_the_group() -> None:
    assert chosen_places(ROW, {}) == chosen_places(ROW, {"t": None}) == [("t", 0), ("t", 3)]
    assert chosen_places(ROW, {"t": {3}}) == [("t", 3)]
    with pytest.raises(CommandError, match="has not begun to read t-1"):
        chosen_places(ROW, {"t": {1, 3}})


def test_moves_are_planned_in_partitions_of_the_group_or_those_named(jobs: Busy) -> None:
    assert planned("h:1", {("jobs", 1): 0}, {}, LATEST) == [Move("jobs", 1, 0, 1)]
    assert planned("h:1", {("jobs", 1): 0}, {"jobs": {0}}, EARLIEST) == [Move("jobs", 0, None, 0)]
    assert planned("h:1", {}, {}, LATEST) == []


def test_a_refused_partition_is_named_beside_what_was_done(jobs: Busy) -> None:
    with pytest.raises(CommandError, match=r"'g': jobs-7: .*; in the other partitions 4 records were"):
        released("h:1", "g", {"jobs": {0, 7}}, member_id=None, offset=None)
    with pytest.raises(CommandError, match="'g': other: "):
        purged("h:1", "g", {"other": None})


def test_a_move_of_a_partition_that_does_not_exist_is_refused(jobs: Busy) -> None:
    jobs.worker.beat(epoch=-1)
    with pytest.raises(CommandError, match="'g': jobs-9: "):
        move("h:1", "g", [Move("jobs", 0, 0, 5), Move("jobs", 9, None, 0)])


def test_topics_may_be_named_more_than_once() -> None:
    parser = argparse.ArgumentParser()
    add_topics(parser)
    assert parser.parse_args(["-t", "a:1,2", "--topic", "b"]).topic == ["a:1,2", "b"]
