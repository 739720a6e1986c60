"""The report of `pipe check` when something is missing; the whole of it runs in compat_tests."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from pipeline.check import check_job
from pipeline.errors import DONE, FAILED
from tests.pipeline.made import job


def test_every_part_that_is_missing_is_named_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAWAL_SPARK_JARS", str(tmp_path / "no-jars"))
    (tmp_path / "t").write_text("")
    out = io.StringIO()
    code = check_job(job(tmp_path, source={"bootstrap": "nowhere"}), out)
    lines = out.getvalue().splitlines()
    assert code == FAILED
    assert lines[0] == f"land-t: t to {tmp_path}/t"
    assert [line.split()[:2] for line in lines[1:5]] == [
        ["FAILED", "spark"],
        ["FAILED", "broker"],
        ["FAILED", "table"],
        ["FAILED", "rows"],
    ]
    assert lines[5] == "the job cannot run"
    assert [path.name for path in tmp_path.iterdir()] == ["t"]


def test_a_job_whose_parts_are_there_can_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for step in ("_installation", "_broker", "_rows"):
        monkeypatch.setattr(f"pipeline.check.{step}", lambda _job: "fine")
    out = io.StringIO()
    assert check_job(job(tmp_path), out) == DONE
    assert out.getvalue().endswith(
        "ok      table   0 rows in 0 batches so far\n  ok      rows    fine\nthe job can run\n"
    )
