"""The report of `pipe check` when something is missing; the whole of it runs in compat_tests."""

from __future__ import annotations

import io
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from pipeline.check import check_job
from pipeline.config import Job
from pipeline.errors import DONE, FAILED, StoreError
from pipeline.job_file import load
from pipeline.table_note import TableNote
from tests.pipeline.made import job, land, without_installation


def test_every_part_that_is_missing_is_named_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAWAL_SPARK_JARS", str(tmp_path / "no-jars"))
    (tmp_path / "t").write_text("")
    out = io.StringIO()
    code = check_job(job(tmp_path, source={"bootstrap": "127.0.0.1:1"}), out)
    lines = out.getvalue().splitlines()
    assert code == FAILED
    assert lines[0] == f"land-t: t to {tmp_path}/t"
    assert [line.split()[:2] for line in lines[1:5]] == [
        ["ok", "rows"],
        ["FAILED", "table"],
        ["FAILED", "spark"],
        ["FAILED", "broker"],
    ]
    assert lines[5] == "the job cannot run"
    assert [path.name for path in tmp_path.iterdir()] == ["t"]


def test_a_job_whose_parts_are_there_can_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for step in ("check_engine", "_broker"):
        monkeypatch.setattr(f"pipeline.check.{step}", lambda *_job: "fine")
    out = io.StringIO()
    assert check_job(job(tmp_path), out) == DONE
    assert "ok      table   0 rows in 0 batches so far\n" in out.getvalue()
    assert out.getvalue().endswith("ok      broker  fine\nthe job can run\n")


def test_columns_that_the_table_cannot_take_are_found_without_spark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.check.check_engine", lambda *_job: "fine")
    monkeypatch.setattr("pipeline.check._broker", lambda *_job: "fine")
    land(tmp_path, (0, 5), table=TableNote(columns={"n": "int"}, partition_by=["date"]))
    edited = job(tmp_path, schema={"mode": "json", "columns": "n string"})
    out = io.StringIO()
    assert check_job(edited, out) == FAILED
    assert "sink.partition_by is ['date'] in the table, but [] in the job" in out.getvalue()
    assert "column 'n' is int in the table, but string in the job" in out.getvalue()


def test_a_metrics_file_that_cannot_be_made_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for step in ("check_engine", "_broker"):
        monkeypatch.setattr(f"pipeline.check.{step}", lambda *_job: "fine")
    out = io.StringIO()
    path = tmp_path / "nowhere" / "m.prom"
    assert check_job(job(tmp_path, job={"name": "land-t", "metrics_file": str(path)}), out) == FAILED
    assert f"{path.parent} is not a folder in which files can be made" in out.getvalue()


def test_a_login_that_cannot_work_is_told_though_no_broker_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The address was tried first: the variable that is not set came up in the next check only."""
    monkeypatch.setattr("pipeline.check.check_engine", lambda *_job: "fine")
    monkeypatch.delenv("KAWAL_NO_SUCH_USER", raising=False)
    security = {
        "protocol": "SASL_PLAINTEXT",
        "username_env": "KAWAL_NO_SUCH_USER",
        "password_env": "KAWAL_NO_SUCH_USER",
    }
    out = io.StringIO()
    source = {"bootstrap": "127.0.0.1:1", "security": security}
    assert check_job(job(tmp_path, source=source), out) == FAILED
    assert "KAWAL_NO_SUCH_USER" in out.getvalue()


def checked(of: Job, monkeypatch: pytest.MonkeyPatch, *skipped: str) -> str:
    """Return the report of a check without the steps of these names."""
    for step in skipped:
        monkeypatch.setattr(f"pipeline.check.{step}", lambda *_job: "fine")
    out = io.StringIO()
    assert check_job(of, out) == FAILED
    return out.getvalue()


def test_what_fails_is_told_with_its_line_of_the_job_file_and_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "land.toml"
    file.write_text('[job]\nname = "land-t"\n[source]\ntopics = ["t"]\n[sink]\npath = "foreign"\n')
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "x.csv").write_text("hello")
    monkeypatch.setattr("pipeline.check.open_topics", lambda _source, in_a_hurry: nullcontext())
    told = checked(load(file), monkeypatch, "check_engine")
    assert f"FAILED  table   {file}:6: {tmp_path}/foreign holds x.csv" in told
    assert "FAILED  broker  not asked, for the same reason\n" in told


@pytest.mark.parametrize(
    ("tables", "sentence"),
    [
        (
            {"schema": {"mode": "json", "columns": "n int", "registry": "http://127.0.0.1:1"}},
            "registry at http",
        ),
        (
            {"sink": {"kind": "iceberg", "catalog": {"type": "rest", "uri": "http://127.0.0.1:1"}}},
            "sink.catalog",
        ),
        (
            {"spark": {"master": "spark://127.0.0.1:1"}},
            "spark.master is 'spark://127.0.0.1:1', where nothing",
        ),
        (
            {"job": {"name": "land-t", "metrics_file": "."}},
            "which is a folder; give the name of a file in it",
        ),
    ],
)
def test_what_is_away_beside_the_broker_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tables: dict[str, dict[str, Any]], sentence: str
) -> None:
    without_installation(monkeypatch)
    assert sentence in checked(job(tmp_path, **tables), monkeypatch, "_broker")


def test_a_store_that_does_not_answer_is_asked_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It was asked again for the broker's step: two seconds more, and a second sentence about the same."""
    asked = []

    def away(_job: Job, *, in_a_hurry: bool) -> None:
        asked.append(in_a_hurry)
        raise StoreError("the store does not answer")

    monkeypatch.setattr("pipeline.check.ledger_of", away)
    monkeypatch.setattr("pipeline.check.open_topics", lambda _source, in_a_hurry: nullcontext())
    told = checked(job(tmp_path), monkeypatch, "check_engine")
    assert asked == [True]
    assert "FAILED  broker  not asked, for the same reason" in told


@pytest.mark.parametrize(
    ("content", "fits"), [("", True), ("# HELP kawal_pipe_rows x\n", True), ("mine", False)]
)
def test_a_file_that_holds_something_else_is_not_replaced_by_metrics(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str, fits: bool
) -> None:
    (tmp_path / "m.prom").write_text(content)
    for step in ("check_engine", "_broker"):
        monkeypatch.setattr(f"pipeline.check.{step}", lambda *_job: "fine")
    out = io.StringIO()
    check_job(job(tmp_path, job={"name": "land-t", "metrics_file": "m.prom"}), out)
    assert ("which holds something else; name another file" not in out.getvalue()) is fits


def test_an_address_that_answers_404_is_no_schema_registry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was taken: 404 means that there is nothing, as for a schema that is not there."""
    monkeypatch.setattr("pipeline.check.Client.ask", lambda _self, _path: None)
    schema = {"mode": "json", "columns": "n int", "registry": "http://a:1"}
    told = checked(job(tmp_path, schema=schema), monkeypatch, "check_engine", "_broker")
    assert "schema.registry is 'http://a:1', where no schema registry is: it answers 404" in told
