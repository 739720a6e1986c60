"""The run of a job: lock, broker, session, query; progress on the way, summary and exit code at the end."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import TYPE_CHECKING

from pipeline.checkpoint import Checkpoint
from pipeline.config import Job
from pipeline.errors import DONE, PipelineError, SourceError
from pipeline.failures import explain
from pipeline.jars import find_jars
from pipeline.job_file import duration_ms
from pipeline.ledger import Ledger
from pipeline.lock import job_lock
from pipeline.places import Places, places_of
from pipeline.positions import Positions, moved
from pipeline.progress import Meter, Summary, rows_in_flight
from pipeline.report import Report
from pipeline.session import require_pyspark, spark_session
from pipeline.sources.kafka import read_stream
from pipeline.sources.topics import Topics, open_topics

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from pipeline.jobs.land import Land, Probe

PROGRESS_SECONDS = 5.0
IDLE_PROGRESS_SECONDS = 60.0
"""A job that waits for records says so once a minute."""

LOOK_SECONDS = 0.5
"""The interval at which the end of the query and signals are looked for."""


@dataclass(slots=True)
class Stop:
    """The signal that asked to stop, 0 while there is none."""

    signal_number: int = 0


def run_job(job: Job, report: Report, *, probe: Probe | None = None) -> int:
    """Run `job` to its end and return the exit code.

    Raises: PipelineError, after the summary of what has landed.
    """
    require_pyspark()
    jars = find_jars(os.environ)
    places = places_of(job)
    places.prepare()
    with job_lock(places.lock, job.name), open_topics(job.source) as topics:
        ledger = Ledger(places.table, job=job.name, batch_column=job.sink.batch_column)
        report.note(f"{job.name}: starting Spark; its log is {places.log}")
        with spark_session(job.name, job.spark, jars, log_path=places.log) as spark:
            land = _prepared(spark, job, places, ledger, report, probe)
            return _Run(spark=spark, job=job, land=land, topics=topics, report=report).go()


def _prepared(
    spark: SparkSession, job: Job, places: Places, ledger: Ledger, report: Report, probe: Probe | None
) -> Land:
    from pipeline.jobs.land import Land, no_probe  # needs pyspark
    from pipeline.shape import shape_of

    land = Land(
        job=job,
        shape=shape_of(job),
        places=places,
        ledger=ledger,
        checkpoint=Checkpoint(places.checkpoint),
        now_ms=lambda: time.time_ns() // 1_000_000,
        on_landed=report.batch,
        probe=probe or no_probe,
    )
    land.check_fits_table()
    return land


@dataclass(slots=True, kw_only=True)
class _Run:
    """One run of one query."""

    spark: SparkSession
    job: Job
    land: Land
    topics: Topics
    report: Report
    broker_away: bool = False

    def go(self) -> int:
        """Start the query, follow it to its end and return the exit code."""
        meter = Meter(self.job.name, time.monotonic())
        outcome = "failed"
        try:
            with stop_on_signals() as stop:
                query = self._start()
                self._follow(query, stop, meter)
                code, outcome = self._ended(stop)
            return code
        finally:
            self.report.summary(self._summary(outcome, time.monotonic() - meter.started))

    def _start(self) -> StreamingQuery:
        landed = self.land.ledger.positions
        if landed and self.land.checkpoint.last_planned() < 0:
            self.report.note(
                f"{self.job.name}: there is no checkpoint, so the run continues where the table ends"
            )
        records = read_stream(self.spark, self.job, self.topics.starting_offsets(landed))
        writer = records.writeStream.foreachBatch(self.land).queryName(self.job.name)
        writer = writer.option("checkpointLocation", self.land.places.checkpoint.as_uri())
        if self.job.trigger.mode == "interval":
            interval_ms = duration_ms(self.job.trigger.interval)
            return writer.trigger(processingTime=f"{interval_ms} milliseconds").start()
        return writer.trigger(availableNow=True).start()

    def _follow(self, query: StreamingQuery, stop: Stop, meter: Meter) -> None:
        """Print progress until the query ends or a signal asks for it."""
        begin = self.topics.resolved(self.topics.starting_offsets(self.land.ledger.positions))
        target = self.topics.latest()
        shown_at, shown_rows = meter.started, 0
        while not self._has_ended(query) and not stop.signal_number:
            now = time.monotonic()
            if now - shown_at < PROGRESS_SECONDS:
                continue
            if self.job.trigger.mode == "interval":
                target = self._latest_or(target)
            progress = meter.measure(
                now,
                self.land.run,
                in_flight=rows_in_flight(self.spark),
                landed=moved(begin, self.land.ledger.positions),
                target=target,
            )
            if progress.rows != shown_rows or progress.lag or now - shown_at >= IDLE_PROGRESS_SECONDS:
                self.report.progress(progress)
                shown_at, shown_rows = now, progress.rows
        query.stop()  # returns when the running batch has landed, or was given up without a trace

    def _latest_or(self, known: Positions) -> Positions:
        """Return the ends of the partitions, or what is known of them while the broker is away."""
        try:
            latest = self.topics.latest()
        except SourceError as error:
            if not self.broker_away:
                self.report.note(
                    f"{self.job.name}: {error}; waiting for it, and the lag is the last one known"
                )
            self.broker_away = True
            return known
        self.broker_away = False
        return latest

    def _has_ended(self, query: StreamingQuery) -> bool:
        """Wait a moment for the end of the query.  Raises: PipelineError when it failed."""
        from pyspark.errors import StreamingQueryException

        try:
            return bool(query.awaitTermination(LOOK_SECONDS))
        except StreamingQueryException as error:
            failure = self.land.failure or error
            if isinstance(failure, PipelineError):
                raise failure from None
            raise explain(self.job.name, str(failure), self.land.places.log) from failure

    def _ended(self, stop: Stop) -> tuple[int, str]:
        """Return the exit code and the word for the summary; only a signal ends a job that runs for ever."""
        if not stop.signal_number:
            return DONE, "done"
        name = signal.Signals(stop.signal_number).name
        if self.job.trigger.mode == "interval":
            return DONE, f"stopped by {name}"
        return 128 + stop.signal_number, f"stopped by {name} before the end; run it again to continue"

    def _summary(self, outcome: str, elapsed_seconds: float) -> Summary:
        return Summary(
            job=self.job.name,
            outcome=outcome,
            run=self.land.run,
            total=self.land.ledger.total,
            elapsed_seconds=elapsed_seconds,
            table=str(self.land.places.table),
            quarantine=str(self.land.places.quarantine) if self.job.errors.mode == "quarantine" else "",
        )


@contextmanager
def stop_on_signals() -> Iterator[Stop]:
    """Record SIGINT and SIGTERM instead of ending; a second one has its usual effect.

    Spark sets a handler of its own for SIGINT, which throws away the running batch.
    """
    stop = Stop()
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def note(number: int, _frame: FrameType | None) -> None:
        stop.signal_number = number
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)

    for number in before:
        signal.signal(number, note)
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
