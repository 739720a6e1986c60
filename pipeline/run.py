"""The run of a job: lock, broker, session, query; progress on the way, summary and exit code at the end."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.backfill import QUERY, Backfill, Past, look_at_past, read_past
from pipeline.broker_watch import BrokerWatch, away_sentence, watching
from pipeline.checkpoint import Checkpoint, set_aside
from pipeline.config import Job
from pipeline.errors import DONE, PipelineError, SourceError
from pipeline.failures import explain, is_timeout
from pipeline.generations import check_generations, removed
from pipeline.jars import find_jars
from pipeline.job_file import duration_ms
from pipeline.ledger import Ledger
from pipeline.lock import job_lock
from pipeline.metrics_file import MeasuredReport
from pipeline.places import Places, places_of, uri
from pipeline.positions import Positions, count, lags, moved, ranges_between
from pipeline.probe import Probe, no_probe
from pipeline.progress import Meter, Progress, Summary, rows_in_flight
from pipeline.quarantine import claim
from pipeline.report import Report
from pipeline.session import require_pyspark, spark_session
from pipeline.shape import shape_of
from pipeline.signals import Stop, name_of, stop_on_signals
from pipeline.sinks.tables import ledger_of
from pipeline.sources.kafka import read_stream
from pipeline.sources.topics import Topics, open_topics
from pipeline.table_check import fit_table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from pipeline.jobs.land import Land
    from pipeline.table_note import TableNote

PROGRESS_SECONDS = 5.0
IDLE_PROGRESS_SECONDS = 60.0
"""A job that waits for records says so once a minute."""

LOOK_SECONDS = 0.5
"""The interval at which the end of the query and signals are looked for."""

SIGNAL_SECONDS = 2.0
"""The time in which a signal that has ended the JVM must have come to this process, too."""


def run_job(job: Job, report: Report, *, probe: Probe = no_probe) -> int:
    """Run `job` to its end and return the exit code.

    Raises: PipelineError, after the summary of what has landed.
    """
    require_pyspark()
    jars = find_jars(os.environ)
    places = places_of(job)
    places.prepare()
    with job_lock(places.lock, job.name), stop_on_signals() as stop:
        measured = _measured(report, job)
        try:
            with open_topics(job.source, group=job.group) as topics:
                return _run_with(job, places, jars, topics, stop, measured or report, probe)
        except Exception:
            # A signal may reach the JVM before us, and then ends calls to it in many ways.
            if not stop.signal_number:
                if measured is not None:
                    measured.failed()
                raise
            report.note(f"{job.name}: stopped by {name_of(stop)}")
            return 128 + stop.signal_number


def _measured(report: Report, job: Job) -> MeasuredReport | None:
    path = job.job.metrics_file
    return MeasuredReport(report, Path(path), job.name, time.time) if path else None


def _run_with(
    job: Job,
    places: Places,
    jars: Sequence[Path],
    topics: Topics,
    stop: Stop,
    report: Report,
    probe: Probe,
) -> int:
    shutil.rmtree(places.leftovers, ignore_errors=True)
    ledger = ledger_of(job)
    note = _checked(job, ledger, topics, places, report)
    if not ledger.is_settled():
        claim(ledger, places.quarantine)
        report.note(f"{job.name}: the table's log now has the batch that a killed run had landed last")
    report.note(f"{job.name}: starting Spark; its log is {places.log}")
    with spark_session(job.name, job.spark, jars, log_path=places.log) as spark, stop_on_signals(stop):
        land = _prepared(job, places, ledger, note, topics, report, probe)
        with _run(spark, job, land, topics, report) as run:
            return run.go(stop)


def _checked(job: Job, ledger: Ledger, topics: Topics, places: Places, report: Report) -> TableNote:
    """Compare the job with its table and its topics, and return the table's note.  Raises: PipelineError."""
    note, changes = fit_table(job, ledger)
    check_generations(ledger, topics.ids(), job.file)
    for sentence in (*changes, *removed(ledger.positions, job.source.topics)):
        report.note(f"{job.name}: {sentence}")
    checkpoint = Checkpoint(places.checkpoint)
    if checkpoint.last_planned() >= 0 and checkpoint.topics() != set(job.source.topics):
        # Spark takes topics that leave for deleted ones, and new ones for late partitions, from 0 on.
        set_aside(places.checkpoint)
    if ledger.positions and checkpoint.last_planned() < 0:
        report.note(
            f"{job.name}: there is no checkpoint of these topics, so the run continues where the table ends"
        )
    return note


def _prepared(
    job: Job,
    places: Places,
    ledger: Ledger,
    note: TableNote,
    topics: Topics,
    report: Report,
    probe: Probe,
) -> Land:
    from pipeline.jobs.land import Land  # needs pyspark

    parts: dict[str, Any] = {
        "job": job,
        "shape": shape_of(job),
        "places": places,
        "ledger": ledger,
        "checkpoint": Checkpoint(places.checkpoint),
        "note": note,
        "now_ms": lambda: time.time_ns() // 1_000_000,
        "on_landed": report.batch,
        "probe": probe,
    }
    if job.writes_topics:
        from pipeline.jobs.replicate import prepared

        return prepared(parts, job, topics, report)
    land = Land(**parts)
    land.check_fits_table()
    return land


@contextmanager
def _run(spark: SparkSession, job: Job, land: Land, topics: Topics, report: Report) -> Iterator[_Run]:
    """Make a run, with a watch on the broker that commits what lands while it lasts, and at the end."""
    start = topics.starting_offsets(land.begins)
    committed: Positions = {}

    def commit() -> None:
        nonlocal committed
        landed = land.ledger.positions
        if job.group and landed != committed:
            topics.commit(landed)
            committed = landed

    begin = topics.resolved(start)
    past = None
    if job.source.backfill and land.checkpoint.last_planned() < 0:
        past = look_at_past(job, begin, topics.latest(), topics.ids())
    with watching(job.source, topics, commit) as watch:
        land.topic_ids = watch.fresh_ids
        yield _Run(
            spark=spark, job=job, land=land, watch=watch, start=start, begin=begin, report=report, past=past
        )


@dataclass(slots=True, kw_only=True)
class _Run:
    """One run of one query."""

    spark: SparkSession
    job: Job
    land: Land
    watch: BrokerWatch
    start: Positions
    begin: Positions
    report: Report
    past: Past | None = None
    """What is read from a gateway's files first."""

    def go(self, stop: Stop) -> int:
        """Start the query, follow it to its end and return the exit code."""
        meter = Meter(self.job.name, time.monotonic())
        outcome = "failed"
        try:
            if self.past is not None and self.past.offsets:
                self._follow(self._backfill(self.past), stop, meter)
            if not stop.signal_number:
                self._follow(self._start(), stop, meter)
            code, outcome = self._ended(stop)
            return code
        finally:
            self.report.summary(self._summary(outcome, time.monotonic() - meter.started))

    def _backfill(self, past: Past) -> Backfill:
        from pipeline.log_source.source import KawalLog

        self.spark.dataSource.register(KawalLog)
        source = self.job.source
        for note in past.notes:
            self.report.note(f"{self.job.name}: {note}")
        self.report.note(f"{self.job.name}: {past.offsets:,} offsets are read from {source.backfill} first")

        def land(begins: Positions, ends: Positions, number: int) -> None:
            from pipeline.jobs.land import Planned

            records = read_past(self.spark, self.job, past, begins, ends)
            self.land.land_planned(records, Planned(QUERY, number, ranges_between(begins, ends), ends))

        most = source.max_offsets_per_trigger if self.job.trigger.mode != "once" else 0
        return Backfill(past, most, land).start()

    def _start(self) -> StreamingQuery:
        landed = self.land.ledger.positions
        start = {
            topic: moved(self.start, {topic: landed.get(topic, {})})[topic] for topic in self.start
        }  # behind what was read from files since
        records = read_stream(self.spark, self.job, start, self.land.ledger.total)
        writer = records.writeStream.foreachBatch(self.land).queryName(self.job.name)
        writer = writer.option("checkpointLocation", uri(self.land.places.checkpoint))
        if self.job.trigger.mode == "interval":
            interval_ms = duration_ms(self.job.trigger.interval)
            return writer.trigger(processingTime=f"{interval_ms} milliseconds").start()
        return writer.trigger(availableNow=True).start()

    def _follow(self, query: StreamingQuery | Backfill, stop: Stop, meter: Meter) -> None:
        """Print progress until the query ends or a signal asks for it."""
        from py4j.protocol import Py4JError

        target = self.watch.latest
        shown_at, shown = meter.started, (0, False)
        try:
            while not stop.signal_number and not self._has_ended(query):
                now = time.monotonic()
                if now - shown_at < PROGRESS_SECONDS:
                    continue
                if self.job.trigger.mode == "interval":
                    target = self.watch.latest
                progress = self._measure(meter, now, target)
                state = (progress.rows, progress.away_since_ms is not None)
                if state != shown or progress.lag or state[1] or now - shown_at >= IDLE_PROGRESS_SECONDS:
                    self.report.progress(progress)
                    shown_at, shown = now, state
            query.stop()  # returns when the running batch has landed, or was given up without a trace
        except (Py4JError, OSError) as error:
            self._without_jvm(stop, error)

    def _measure(self, meter: Meter, now: float, target: Positions) -> Progress:
        away = self.watch.away_since()
        now_ms = self.land.now_ms()
        newest_ms = self.land.newest_ms
        return meter.measure(
            now,
            self.land.run,
            in_flight=rows_in_flight(self.spark),
            landed=moved(self.begin, self.land.ledger.positions),
            target=target,
            newest_age_seconds=max(0, now_ms - newest_ms) / 1000 if newest_ms else None,
            away_since_ms=None if away is None else now_ms - int((time.monotonic() - away) * 1000),
        )

    def _without_jvm(self, stop: Stop, error: Exception) -> None:
        """Accept the end of the JVM when a signal has come, which may have reached it first.  Raises:
        PipelineError."""
        deadline = time.monotonic() + SIGNAL_SECONDS
        while not stop.signal_number and time.monotonic() < deadline:
            time.sleep(0.05)
        if stop.signal_number:
            return
        raise PipelineError(
            f"{self.job.name}: the JVM of Spark has ended; the end of {self.land.places.log} says why "
            "(killed for its memory, it says nothing). Run the job again: it continues where the table ends"
        ) from error

    def _has_ended(self, query: StreamingQuery | Backfill) -> bool:
        """Wait a moment for the end of the query.  Raises: PipelineError when it failed."""
        from pyspark.errors import PySparkException

        try:
            return bool(query.awaitTermination(LOOK_SECONDS))
        except PySparkException as error:
            failure = self.land.failure or error
            if isinstance(failure, PipelineError):
                raise failure from None
            away = self.watch.away_since()
            if away is not None and is_timeout(str(failure)):
                bootstrap, seconds = self.job.source.bootstrap, time.monotonic() - away
                raise SourceError(f"{self.job.name}: {away_sentence(bootstrap, seconds)}") from failure
            raise explain(
                self.job.name, str(failure), self.land.places.log, self.job.source.bootstrap
            ) from failure

    def _ended(self, stop: Stop) -> tuple[int, str]:
        """Return the exit code and the word for the summary; only a signal ends a job that runs for ever."""
        if not stop.signal_number:
            return DONE, "done"
        if self.job.trigger.mode == "interval":
            return DONE, f"stopped by {name_of(stop)}"
        return (
            128 + stop.signal_number,
            f"stopped by {name_of(stop)} before the end; run it again to continue",
        )

    def _summary(self, outcome: str, elapsed_seconds: float) -> Summary:
        return Summary(
            job=self.job.name,
            outcome=outcome,
            run=self.land.run,
            total=self.land.ledger.total,
            elapsed_seconds=elapsed_seconds,
            table=self.job.sink.path,
            quarantine=str(self.land.places.quarantine) if self.job.errors.mode == "quarantine" else "",
            target=self.job.target_shown,
            lag=count(lags(moved(self.begin, self.land.ledger.positions), self.watch.latest)),
        )
