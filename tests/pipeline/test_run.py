"""The parts of a run that need neither a broker nor Spark."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from pipeline.errors import PipelineError, SetupError
from pipeline.report import TextReport
from pipeline.run import run_job
from tests.pipeline.made import job


def test_a_run_without_jars_ends_before_anything_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAWAL_SPARK_JARS", str(tmp_path / "empty"))
    with pytest.raises(SetupError, match="make jars"):
        run_job(job(tmp_path), TextReport(io.StringIO(), io.StringIO()))
    assert list(tmp_path.iterdir()) == []


def test_a_run_whose_table_cannot_be_made_ends_before_the_broker_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.run.find_jars", lambda _environment: [])
    (tmp_path / "t").write_text("")
    with pytest.raises(PipelineError, match="is a file"):
        run_job(job(tmp_path), TextReport(io.StringIO(), io.StringIO()))
