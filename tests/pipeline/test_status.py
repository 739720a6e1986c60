"""The state of a job, as known without Spark."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import SourceError
from pipeline.lock import job_lock
from pipeline.places import places_of
from pipeline.positions import Positions
from pipeline.status import job_status, print_status, status_lines
from tests.pipeline.made import job, land


class Log:
    """A topic of one partition with offsets 2 to 20."""

    def starting_offsets(self, landed: Positions) -> Positions:
        assert landed == {}
        return {"t": {"0": -2}}

    def resolved(self, start: Positions) -> Positions:
        assert start == {"t": {"0": -2}}
        return {"t": {"0": 2}}

    def latest(self) -> Positions:
        return {"t": {"0": 20}}


@pytest.fixture
def _broker(monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def answer(_source: Any) -> Iterator[Log]:
        yield Log()

    monkeypatch.setattr("pipeline.status.open_topics", answer)


@pytest.mark.usefixtures("_broker")
def test_a_job_that_has_never_run_lags_by_all_there_is(tmp_path: Path) -> None:
    state = job_status(job(tmp_path))
    assert (state["landed_at_ms"], state["total"]["rows"], state["lag"]) == (None, 0, {"t-0": 18})
    assert "  landed   never" in status_lines(state)


@pytest.mark.usefixtures("_broker")
def test_what_has_landed_is_read_from_the_ledger(tmp_path: Path) -> None:
    land(tmp_path, (2, 12))
    assert status_lines(job_status(job(tmp_path))) == [
        "land-t: not running",
        f"  table    {tmp_path}/t",
        "  rows     12 in 1 batches, 0 files, 0 B",
        "  bad      0",
        "  landed   2013-01-01 00:00:00+00:00",
        "  lag      8 offsets",
        "  next     t-0 offset 12, 8 behind",
    ]


@pytest.mark.usefixtures("_broker")
def test_a_running_job_is_named_with_its_process(tmp_path: Path) -> None:
    with job_lock(places_of(job(tmp_path)).lock, "land-t"):
        assert status_lines(job_status(job(tmp_path)))[0].startswith("land-t: running as process ")


def test_a_silent_broker_leaves_the_lag_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_source: Any) -> None:
        raise SourceError("no broker answers at 127.0.0.1:9092")

    monkeypatch.setattr("pipeline.status.open_topics", refuse)
    land(tmp_path, (2, 12))
    lines = status_lines(job_status(job(tmp_path)))
    assert "  lag      unknown: no broker answers at 127.0.0.1:9092" in lines
    assert "  next     t-0 offset 12" in lines


@pytest.mark.usefixtures("_broker")
def test_programs_get_one_json_object(tmp_path: Path) -> None:
    out = io.StringIO()
    assert print_status(job(tmp_path), out, as_json=True) == 0
    assert json.loads(out.getvalue())["job"] == "land-t"


def test_many_partitions_are_counted_and_not_listed() -> None:
    state = {
        "job": "j",
        "table": "/t",
        "running_as": None,
        "landed_at_ms": None,
        "total": {"rows": 0, "batches": 0, "files": 0, "size_bytes": 0, "bad": 0},
        "positions": {"t": {str(partition): 1 for partition in range(25)}},
        "lag": {},
        "problem": None,
    }
    assert status_lines(state)[-1] == "  …        and 5 more partitions"
