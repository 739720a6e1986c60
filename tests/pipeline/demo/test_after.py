"""The part of the demo that follows the landing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipeline.demo import after
from pipeline.demo.after import StageReport
from pipeline.demo.plot import Curve
from pipeline.demo.stage import Stage
from pipeline.errors import PipelineError
from pipeline.job_file import load
from pipeline.ledger import Totals
from pipeline.progress import Summary
from tests.pipeline.made import LAKE, entry, job


def test_the_derived_topic_has_a_job_file_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[Any] = []
    monkeypatch.setattr(after, "run_job", lambda job, _report: ran.append(job))
    derived = after.derive(Stage(0.0), tmp_path, "b:1")
    assert ran == [derived]
    assert derived == load(tmp_path / "late-flights.toml")
    assert (derived.job.kind, derived.target_topic("flights"), derived.target_bootstrap) == (
        "derive",
        "late-flights",
        "b:1",
    )


def test_an_audit_that_finds_a_difference_returns_its_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    def audit(_job: Any, out: Any, *, as_json: bool) -> int:
        assert not as_json
        print("land-t: 5 rows compared\nDIFFERENT in 1 of 1 partitions", file=out)
        return 5

    monkeypatch.setattr(after, "audit_job", audit)
    assert after.audit(Stage(0.0), job(LAKE)) == ["land-t: 5 rows compared", "DIFFERENT in 1 of 1 partitions"]


def test_a_view_and_a_topic_that_differ_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    held = {"view": [(0, None, b"a")], "topic": [(0, None, b"b")]}
    monkeypatch.setattr(after, "_records", lambda _bootstrap, name: held[name])
    assert after.same_as_view(Stage(0.0), "b:1", "view", "view") == []
    [sentence] = after.same_as_view(Stage(0.0), "b:1", "view", "topic")
    assert sentence == "the view 'view' shows 1 records, the topic 'topic' has 1 others"


def test_a_run_inside_the_demo_is_told_in_its_voice(capsys: pytest.CaptureFixture[str]) -> None:
    report = StageReport(Stage(0.0), "derive")
    report.note("hello")
    report.batch(entry(0, 0, 5, landed=Totals(rows=5)))
    total = Totals(rows=5, offsets=9)
    report.summary(
        Summary(
            job="j",
            outcome="done",
            run=total,
            total=total,
            elapsed_seconds=1.0,
            table="t",
            quarantine="",
        )
    )
    said = [line.partition("] ")[2] for line in capsys.readouterr().out.splitlines()]
    assert said == ["derive   hello", "derive   batch 0: 5 records", "derive   j done: 5 of 9 records"]


def test_batches_after_the_crash_are_in_the_picture() -> None:
    curve = Curve(10)
    curve.add(1.0, 4)
    StageReport(Stage(0.0), "land", curve).batch(entry(0, 0, 5, landed=Totals(rows=6)))
    assert curve.rows[-1] == 10


def test_a_landing_that_ends_otherwise_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(after, "run_job", lambda _job, _report: 143)
    with pytest.raises(PipelineError, match="land-t ended with exit code 143"):
        after.land(Stage(0.0), job(tmp_path), None)
