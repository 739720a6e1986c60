"""The progress of a run as a file of Prometheus metrics."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from pipeline.ledger import Totals
from pipeline.metrics_file import METRICS, MeasuredReport
from pipeline.progress import Progress, Summary
from pipeline.report import JsonReport
from tests.pipeline.made import entry


def read(path: Path) -> dict[str, float]:
    families = text_string_to_metric_families(path.read_text())
    samples = [sample for family in families for sample in family.samples]
    assert {sample.labels["job"] for sample in samples} == {"land-t"}
    return {sample.name.removeprefix("kawal_pipe_"): sample.value for sample in samples}


def progress(**changed: object) -> Progress:
    given: dict[str, object] = {
        "job": "land-t",
        "batches": 1,
        "rows": 5,
        "bad": 0,
        "late": 0,
        "rows_per_second": 1.0,
        "bytes_per_second": 0.0,
        "lag": 7,
        "worst": ("t", 0, 7),
        "seconds_left": None,
        "seconds_behind": 3.5,
        "away_since_ms": None,
    }
    return Progress(**{**given, **changed})  # type: ignore[arg-type]


def summary(*, outcome: str, lag: int = 0) -> Summary:
    return Summary(
        job="land-t",
        outcome=outcome,
        run=Totals(),
        total=Totals(),
        elapsed_seconds=1.0,
        table="t",
        quarantine="",
        lag=lag,
    )


def test_the_file_follows_a_run_and_tells_its_end(tmp_path: Path) -> None:
    out, path = io.StringIO(), tmp_path / "metrics" / "land-t.prom"
    report = MeasuredReport(JsonReport(out), path, "land-t", lambda: 1_700_000_000.0)
    found = read(path)
    assert found.keys() == METRICS.keys()
    assert (found["running"], found["rows"], found["updated_seconds"]) == (1, 0, 1_700_000_000)

    report.batch(entry(0, 0, 5, landed=Totals(rows=4, bad=1, batches=1, payload_bytes=40)))
    report.batch(entry(1, 5, 9, landed=Totals(rows=4, late=2, batches=1, payload_bytes=40)))
    report.progress(progress(away_since_ms=1))
    found = read(path)
    assert (found["rows"], found["bad"], found["late"], found["batches"], found["payload_bytes"]) == (
        8,
        1,
        2,
        2,
        80,
    )
    assert (found["lag_offsets"], found["behind_seconds"], found["broker_away"]) == (7, 3.5, 1)

    report.progress(progress(lag=0, seconds_behind=0.0))
    report.summary(summary(outcome="failed"))
    found = read(path)
    assert (found["lag_offsets"], found["broker_away"], found["running"], found["failed"]) == (0, 0, 0, 1)
    assert [line.split('"')[3] for line in out.getvalue().splitlines()] == [
        "batch",
        "batch",
        "progress",
        "progress",
        "summary",
    ]


@pytest.mark.parametrize(("lag", "behind_seconds"), [(0, 0.0), (2, 3.5)])
def test_what_landed_after_the_last_progress_line_is_no_lag_at_the_end(
    tmp_path: Path, lag: int, behind_seconds: float
) -> None:
    report = MeasuredReport(JsonReport(io.StringIO()), tmp_path / "a.prom", "land-t", lambda: 0.0)
    report.progress(progress(lag=7, seconds_behind=3.5))
    report.summary(summary(outcome="done", lag=lag))
    found = read(tmp_path / "a.prom")
    assert (found["lag_offsets"], found["behind_seconds"]) == (lag, behind_seconds)


def test_the_file_is_replaced_and_never_half_written(tmp_path: Path) -> None:
    report = MeasuredReport(JsonReport(io.StringIO()), tmp_path / "a.prom", "land-t", lambda: 0.0)
    report.note("nothing is written for a note")
    before = (tmp_path / "a.prom").stat().st_ino
    report.progress(progress())
    assert (tmp_path / "a.prom").stat().st_ino != before
    assert [path.name for path in tmp_path.iterdir()] == ["a.prom"]


def test_a_run_that_fails_before_its_summary_is_told_as_failed(tmp_path: Path) -> None:
    MeasuredReport(JsonReport(io.StringIO()), tmp_path / "a.prom", "land-t", lambda: 0.0).failed()
    assert (read(tmp_path / "a.prom")["running"], read(tmp_path / "a.prom")["failed"]) == (0, 1)
