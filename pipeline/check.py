"""`kawal pipe check`: everything a run needs, checked before it, without Spark and without writing anything.

In a bucket one object is created and removed again: whether a store lets one of several win, only that shows.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from pipeline.backfill import look_at_past
from pipeline.catalog_checks import check_catalog
from pipeline.checkpoint import Checkpoint
from pipeline.config import Job
from pipeline.engine_check import check_engine
from pipeline.errors import DONE, FAILED, PipelineError, SetupError
from pipeline.generations import check_generations, removed
from pipeline.job_lines import line_of, line_of_value
from pipeline.ledger import Ledger
from pipeline.lock import running_as
from pipeline.metrics_file import is_ours
from pipeline.places import places_of, problem_in
from pipeline.positions import count, lags, moved, offset_of
from pipeline.shape import shape_of
from pipeline.sinks.tables import bucket_of, ledger_of
from pipeline.sinks.topics import Target, target_client
from pipeline.sources.greeting import HURRY_SECONDS
from pipeline.sources.topics import existing_topics, open_topics
from pipeline.table_check import fit_table
from registry.client import Client
from registry.errors import Unreachable

KEYS = {
    "files": "source.backfill",
    "table": "sink.path",
    "broker": "source.bootstrap",
    "target": "target.bootstrap",
}
"""By step: the key that it is about, where its sentence names none."""


def check_job(job: Job, out: TextIO) -> int:
    """Print one line for each thing checked; return DONE when a run could start, else FAILED."""
    opened = _Opened(job)
    steps: dict[str, Callable[[Job, _Opened], str]] = {
        "rows": _rows,
        "table": _table,
        "spark": _engine,
        "broker": _broker,
    }
    if job.source.backfill:
        steps["files"] = _files
    where = job.sink.path
    if job.writes_topics:
        steps["target"] = _target
        where = job.target_shown
    print(f"{job.name}: {', '.join(job.source.topics)} to {where}", file=out)
    failed: list[str] = []
    for name, step in steps.items():
        try:
            print(f"  ok      {name:<7} {step(job, opened)}", file=out, flush=True)
        except PipelineError as error:
            told = (
                "not asked, for the same reason"
                if str(error) in failed
                else _placed(job.file, name, str(error))
            )
            failed.append(str(error))
            print(f"  FAILED  {name:<7} {told}", file=out, flush=True)
    print("the job can run" if not failed else "the job cannot run", file=out)
    return FAILED if failed else DONE


class _Opened:
    """The ledger of a job, opened once: a store that does not answer costs a second each time."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._ledger: Ledger | PipelineError | None = None

    @property
    def ledger(self) -> Ledger:
        """The ledger.  Raises: PipelineError, the same one each time."""
        if self._ledger is None:
            try:
                self._ledger = ledger_of(self._job, in_a_hurry=True)
            except PipelineError as error:
                self._ledger = error
        if isinstance(self._ledger, PipelineError):
            raise self._ledger
        return self._ledger


def _placed(file: str, step: str, sentence: str) -> str:
    """Return what a step found after the place in the job file that it is about, where there is one."""
    if not file:
        return sentence
    text = Path(file).read_text(encoding="utf-8")
    line = line_of(text, sentence) or line_of_value(text, sentence) or line_of(text, KEYS.get(step, ""))
    return f"{file}:{line}: {sentence}" if line else sentence


def _rows(job: Job, _opened: _Opened) -> str:
    shape = shape_of(job)
    if job.schema.registry:
        _check_registry(job.schema.registry)
    return f"columns {', '.join([*shape.landed, *shape.derived])}"


def _check_registry(url: str) -> None:
    """Refuse an address at which no registry answers.  Raises: SetupError."""
    try:
        client = Client(url, timeout_seconds=HURRY_SECONDS)
        answers = [client.ask("schemas/types"), client.ask("subjects")]  # older ones have no list of types
    except Unreachable as error:
        raise SetupError(f"{error}; see schema.registry") from error
    if answers == [None, None]:
        raise SetupError(
            f"schema.registry is {url!r}, where no schema registry is: it answers 404; correct it"
        )


def _table(job: Job, opened: _Opened) -> str:
    places = places_of(job)
    places.check()
    if job.job.metrics_file:
        _check_metrics_file(Path(job.job.metrics_file))
    check_catalog(job.sink.catalog)
    ledger = opened.ledger
    if job.in_bucket:
        bucket_of(job).probe()  # the store answers
    if job.sink.catalog and ledger.log is not None:
        ledger.log.committed()  # the catalog answers
    _, changes = fit_table(job, ledger)
    holder = running_as(places.lock)
    running = f"; the job is running, as {holder}" if holder else ""
    sentences = "".join(
        f"; {sentence}" for sentence in (*changes, *removed(ledger.positions, job.source.topics))
    )
    return f"{ledger.total.rows:,} rows in {ledger.total.batches:,} batches so far{running}{sentences}"


def _check_metrics_file(path: Path) -> None:
    """Refuse a file that a run could not replace.  Raises: SetupError."""
    if path.is_dir():
        raise SetupError(f"job.metrics_file is {path}, which is a folder; give the name of a file in it")
    if not path.parent.is_dir() or (problem := problem_in(path.parent)):
        told = f" ({problem})" if path.parent.is_dir() else ""
        raise SetupError(
            f"job.metrics_file is {path}: {path.parent} is not a folder in which files can be made{told}; "
            "make it, or name another"
        )
    if path.exists() and not is_ours(path):
        raise SetupError(f"job.metrics_file is {path}, which holds something else; name another file")


def _engine(job: Job, _opened: _Opened) -> str:
    return check_engine(job)


def _broker(job: Job, opened: _Opened) -> str:
    with open_topics(job.source, in_a_hurry=True) as topics:
        ledger = opened.ledger
        check_generations(ledger, topics.ids(), job.file)
        begin = moved(topics.resolved(topics.starting_offsets({})), ledger.positions)
        latest = topics.latest()
        lost = sum(
            max(0, first - (offset_of(ledger.positions, topic, partition) or first))
            for topic, partitions in topics.earliest().items()
            for partition, first in partitions.items()
        )
        partitions = sum(len(offsets) for offsets in latest.values())
        gone = (
            f"; {lost:,} offsets after the end of the table were deleted before they landed" if lost else ""
        )
        return (
            f"{job.source.bootstrap} answers: {partitions} partitions, {count(lags(begin, latest)):,} "
            "offsets to "
            f"land{gone}"
        )


def _files(job: Job, opened: _Opened) -> str:
    if Checkpoint(places_of(job).checkpoint).last_planned() >= 0:
        return f"{job.source.backfill} is not needed any more: Spark's checkpoint says where the job goes on"
    with open_topics(job.source, in_a_hurry=True) as topics:
        begins = topics.resolved(topics.starting_offsets(opened.ledger.positions))
        past = look_at_past(job, begins, topics.latest(), topics.ids(), patience_seconds=HURRY_SECONDS)
        rest = count(lags(past.ends, topics.latest()))
    notes = "".join(f"; {note}" for note in past.notes)
    return f"{job.source.backfill} has {past.offsets:,} offsets to land, and the broker {rest:,} more{notes}"


def _target(job: Job, _opened: _Opened) -> str:
    target = Target(job, target_client(job), in_a_hurry=True)
    target.check_settings()
    there = existing_topics(job.target_bootstrap, job.target_security, in_a_hurry=True)
    target.check_topics(there)
    target.check_new(there)
    missing = [name for name in target.topics.values() if name not in there]
    made = f"; a run makes {', '.join(missing)}" if missing else ""
    count_there = len(target.topics) - len(missing)
    return f"{job.target_bootstrap} answers: {count_there} of {len(target.topics)} topics are there{made}"
