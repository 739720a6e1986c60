"""The state of a copy: of the map, only what is of this job and of topics that are still there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from pipeline import copy_state
from pipeline.offset_map import MapRecord, Origin
from tests.pipeline.made import LAKE, job

COPY = job(LAKE, job={"name": "a", "kind": "replicate"}, target={"bootstrap": "b:1", "topic": "there"})


def record(job: str, target_topic: str, target_id: str) -> MapRecord:
    return MapRecord(
        job=job,
        topic="t",
        partition=0,
        target_topic=target_topic,
        target_id=target_id,
        begin=0,
        until=1,
        origins=[],
        runs=[],
    )


OURS, OLD, OTHERS = record("a", "there", "id"), record("a", "there", "old id"), record("b", "t", "x")


class FakeTarget:
    settings: Mapping[str, str] = {"bootstrap.servers": "b:1"}
    topics: Mapping[str, str] = {"t": "there"}

    def __init__(self, *_: Any) -> None:
        return

    def ids(self) -> dict[str, str]:
        return {"there": "id"}


class FakeTopics:
    def earliest(self) -> dict[str, dict[str, int]]:
        return {"there": {"0": 3}}


@contextmanager
def no_broker(_source: Any) -> Iterator[FakeTopics]:
    yield FakeTopics()


@pytest.mark.parametrize(("cluster", "came"), [("west", [OTHERS]), ("east", [])])
def test_it_is_of_this_job_and_of_the_topics_that_are_there(
    monkeypatch: pytest.MonkeyPatch, cluster: str, came: list[MapRecord]
) -> None:
    monkeypatch.setattr(copy_state, "Target", FakeTarget)
    monkeypatch.setattr(copy_state, "open_topics", no_broker)
    monkeypatch.setattr(copy_state, "read_map", lambda _: ([OURS, OLD, OTHERS], 3))
    monkeypatch.setattr(
        copy_state, "cluster_id", lambda of: cluster if of["bootstrap.servers"] == "b:1" else "east"
    )
    state = copy_state.opened_copy(COPY)
    assert (state.copied, state.came) == ([OURS], came)
    assert (state.home, state.earliest) == ({"t": Origin(cluster, "there")}, {"there": {"0": 3}})
