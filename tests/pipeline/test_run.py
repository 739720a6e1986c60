"""The parts of a run that need neither a broker nor Spark."""

from __future__ import annotations

import io
import os
import signal
from pathlib import Path

import pytest

from pipeline.errors import PipelineError, SetupError, SourceError
from pipeline.places import places_of
from pipeline.report import TextReport
from pipeline.run import query_error, run_job, stop_on_signals
from tests.pipeline.made import job

FAILED_QUERY = """[STREAM_FAILED] Query [id = 1-2, runId = 3-4] terminated with exception: Writing job aborted
SQLSTATE: 42K0E
=== Streaming Query ===
Identifier: land-t [id = 1-2]
"""


def test_a_failed_query_is_its_cause_and_where_to_read_more(tmp_path: Path) -> None:
    error = query_error("land-t", FAILED_QUERY, places_of(job(tmp_path)))
    assert str(error) == f"land-t: Writing job aborted; the whole story is in {tmp_path}/.t.landing/spark.log"


def test_lost_records_come_with_the_switch_that_lets_them_go(tmp_path: Path) -> None:
    lost = "terminated with exception: [KAFKA_DATA_LOSS.COULD_NOT_READ_OFFSET_RANGE] Some data may be lost"
    error = query_error("land-t", lost, places_of(job(tmp_path)))
    assert isinstance(error, SourceError)
    assert "set source.fail_on_data_loss = false" in str(error)


def test_an_unknown_report_is_passed_on(tmp_path: Path) -> None:
    assert "land-t: boom;" in str(query_error("land-t", "boom", places_of(job(tmp_path))))


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
