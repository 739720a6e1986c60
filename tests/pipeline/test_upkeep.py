"""The jobs beside run need what a run needs."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from pipeline.errors import LedgerError, SetupError
from pipeline.table_note import TableNote
from pipeline.upkeep import replay_job
from tests.pipeline.made import job, land


def test_a_replay_without_jars_ends_before_anything_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAWAL_SPARK_JARS", str(tmp_path / "empty"))
    with pytest.raises(SetupError, match="make jars"):
        replay_job(job(tmp_path), io.StringIO())
    assert list(tmp_path.iterdir()) == []


def test_a_replay_compares_the_job_with_its_table_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.upkeep.find_jars", lambda _environment: [])
    land(tmp_path, (0, 5), table=TableNote(columns={"key": "string"}))
    with pytest.raises(LedgerError, match="column 'key' is string in the table, but binary in the job"):
        replay_job(job(tmp_path), io.StringIO())
