"""The parts of a run that need neither a broker nor Spark."""

from __future__ import annotations

import io
import os
import signal
from pathlib import Path

import pytest

from pipeline.errors import PipelineError, SetupError
from pipeline.report import TextReport
from pipeline.run import run_job, stop_on_signals
from tests.pipeline.made import job


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_is_noted_and_the_handlers_come_back(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with stop_on_signals() as stop:
        os.kill(os.getpid(), number)
        assert stop.signal_number == number
    assert signal.getsignal(number) is before


def test_a_second_interrupt_has_its_usual_effect() -> None:
    with stop_on_signals():
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)


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
