"""The progress of a run as a file of Prometheus metrics, replaced by one rename.

node_exporter's textfile collector reads such files; a POST of one to /metrics/job/NAME gives it to a
Pushgateway, which puts the name in its address in place of the label `job`.
A job has no port of its own, and one that ended long ago is still to be seen.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from prometheus_client import CollectorRegistry, Gauge, write_to_textfile

from pipeline.ledger import Entry, Totals
from pipeline.progress import Progress, Summary
from pipeline.report import Report

METRICS = {
    "rows": "Rows that this run has landed.",
    "bad": "Bad records of this run.",
    "late": "Records of this run that came late.",
    "batches": "Batches that this run has landed.",
    "payload_bytes": "Bytes of keys and values that this run has landed.",
    "lag_offsets": "Offsets that have not landed yet.",
    "behind_seconds": "Age of the newest landed record while others wait.",
    "broker_away": "1 while no broker answers.",
    "running": "1 while the job runs.",
    "failed": "1 when the last run failed.",
    "updated_seconds": "Time of this file, in seconds since 1970.",
}


def is_ours(path: Path) -> bool:
    """Return whether an existing file may be replaced: it is empty, or such a file of a job."""
    with path.open("rb") as file:
        begin = file.read(64)
    return not begin or begin.startswith(b"# HELP kawal_pipe_")


class MeasuredReport:
    """A report that also writes the file at `path`, with every batch, progress line and summary."""

    def __init__(self, report: Report, path: Path, job: str, now_seconds: Callable[[], float]) -> None:
        self._report = report
        self._path = path
        self._now = now_seconds
        self._registry = CollectorRegistry()
        self._gauges = {
            name: Gauge(f"kawal_pipe_{name}", text, ["job"], registry=self._registry).labels(job)
            for name, text in METRICS.items()
        }
        self._run = Totals()
        path.parent.mkdir(parents=True, exist_ok=True)
        self._write(running=1, failed=0)

    def note(self, sentence: str) -> None:
        """Report something that happens once."""
        self._report.note(sentence)

    def batch(self, entry: Entry) -> None:
        """Report that a batch has landed."""
        self._run = self._run.plus(entry.landed)
        self._write_run(self._run)
        self._report.batch(entry)

    def progress(self, progress: Progress) -> None:
        """Report the progress of the run."""
        self._write(
            lag_offsets=progress.lag,
            behind_seconds=progress.seconds_behind or 0,
            broker_away=int(progress.away_since_ms is not None),
        )
        self._report.progress(progress)

    def summary(self, summary: Summary) -> None:
        """Report the end of the run."""
        caught_up = {} if summary.lag else {"behind_seconds": 0}
        self._write(running=0, failed=int(summary.outcome == "failed"), lag_offsets=summary.lag, **caught_up)
        self._report.summary(summary)

    def failed(self) -> None:
        """Tell that the run has ended by an error, perhaps before there was anything to sum up."""
        self._write(running=0, failed=1)

    def _write_run(self, run: Totals) -> None:
        self._write(
            rows=run.rows,
            bad=run.bad,
            late=run.late,
            batches=run.batches,
            payload_bytes=run.payload_bytes,
        )

    def _write(self, **values: float) -> None:
        for name, value in {**values, "updated_seconds": self._now()}.items():
            self._gauges[name].set(value)
        write_to_textfile(str(self._path), self._registry)
