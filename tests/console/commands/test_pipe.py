"""`kawal pipe`: its arguments and errors; the jobs themselves are tested in tests/pipeline."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from console.cli import main
from pipeline.config import Job
from pipeline.errors import BadRowsError, SetupError
from pipeline.report import JsonReport, Report, TextReport

JOB_FILE = """
[job]
name = "land-t"
[source]
topics = ["t"]
bootstrap = "file:1"
[sink]
path = "t"
[trigger]
mode = "interval"
"""


@pytest.fixture
def job_file(tmp_path: Path) -> str:
    path = tmp_path / "land.toml"
    path.write_text(JOB_FILE)
    return str(path)


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Job, Report]]:
    """Return the jobs that would have been run."""
    jobs: list[tuple[Job, Report]] = []

    def run_job(job: Job, report: Report) -> int:
        jobs.append((job, report))
        return 0

    monkeypatch.setattr("pipeline.run.run_job", run_job)
    return jobs


def test_run_takes_the_job_file_as_it_is(job_file: str, ran: list[tuple[Job, Report]]) -> None:
    assert main(["pipe", "run", job_file]) == 0
    [(job, report)] = ran
    assert (job.source.bootstrap, job.trigger.mode, job.spark.master) == ("file:1", "interval", "local[2]")
    assert isinstance(report, TextReport)


def test_flags_win_over_the_job_file(job_file: str, ran: list[tuple[Job, Report]]) -> None:
    flags = ["--bootstrap", "flag:2", "--master", "local[1]", "--once", "--log", "json"]
    assert main(["pipe", "run", job_file, *flags]) == 0
    [(job, report)] = ran
    assert (job.source.bootstrap, job.trigger.mode, job.spark.master) == (
        "flag:2",
        "available_now",
        "local[1]",
    )
    assert isinstance(report, JsonReport)


def test_the_exit_code_is_that_of_what_stopped_the_job(
    job_file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(_job: Job, _report: Report) -> int:
        raise BadRowsError("two bad records")

    monkeypatch.setattr("pipeline.run.run_job", stop)
    assert main(["pipe", "run", job_file, "--log", "json"]) == 3
    shown = capsys.readouterr()
    assert shown.err == "kawal: two bad records\n"
    assert json.loads(shown.out) == {"event": "error", "text": "two bad records", "exit_code": 3}


def test_an_unusable_job_file_is_exit_code_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "land.toml"
    path.write_text(JOB_FILE + "intervall = '5s'\n")
    assert main(["pipe", "run", str(path)]) == 2
    assert "did you mean 'trigger.interval'?" in capsys.readouterr().err


@pytest.mark.parametrize("action", ["run", "preview"])
def test_without_pyspark_the_way_to_install_it_is_told(
    action: str, job_file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing() -> None:
        raise SetupError("pyspark is not installed: pip install 'kawal[spark]'")

    monkeypatch.setattr("pipeline.session.require_pyspark", missing)
    monkeypatch.setattr("pipeline.run.require_pyspark", missing)
    assert main(["pipe", action, job_file]) == 1
    assert capsys.readouterr().err == "kawal: pyspark is not installed: pip install 'kawal[spark]'\n"


def test_the_other_actions_hand_their_arguments_on(
    job_file: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    called: dict[str, Any] = {}

    def stand_in(name: str, code: int) -> Any:
        def note(*arguments: Any, **named: Any) -> int:
            called[name] = (arguments[1:2], named)
            return code

        return note

    monkeypatch.setattr("pipeline.check.check_job", stand_in("check", 1))
    monkeypatch.setattr("pipeline.status.print_status", stand_in("status", 0))
    monkeypatch.setattr("pipeline.preview.preview_job", stand_in("preview", 0))
    monkeypatch.setattr("pipeline.demo.main.run_demo", stand_in("demo", 0))
    monkeypatch.setattr("pipeline.move_groups.move_groups", stand_in("move-groups", 1))
    assert main(["pipe", "check", job_file]) == 1
    assert main(["pipe", "status", job_file, "--json"]) == 0
    assert main(["pipe", "preview", job_file, "-n", "7"]) == 0
    assert main(["pipe", "demo", "--bootstrap", "b:1", "--keep", str(tmp_path), "--plot", "a.png"]) == 0
    moves = ["pipe", "move-groups", job_file, "--group", "g", "--group", "h", "--apply"]
    assert main(moves) == 1
    assert called == {
        "check": ((sys.stdout,), {}),
        "status": ((sys.stdout,), {"as_json": True}),
        "preview": ((7,), {}),
        "demo": ((), {"bootstrap": "b:1", "keep": tmp_path, "picture": Path("a.png")}),
        "move-groups": ((["g", "h"],), {"apply": True}),
    }
