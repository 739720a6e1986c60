"""`kawal pipe check`: everything a run needs, checked before it, without writing anything."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib.metadata import version
from typing import TextIO

from pipeline.config import Job
from pipeline.errors import DONE, FAILED, PipelineError
from pipeline.jars import find_jars
from pipeline.ledger import Ledger
from pipeline.lock import running_as
from pipeline.places import cache_folder, places_of
from pipeline.positions import count, lags, moved
from pipeline.session import find_java, require_pyspark, spark_session
from pipeline.sources.topics import open_topics


def check_job(job: Job, out: TextIO) -> int:
    """Print one line for each thing checked; return DONE when a run could start, else FAILED."""
    steps: dict[str, Callable[[Job], str]] = {
        "spark": _installation,
        "broker": _broker,
        "table": _table,
        "rows": _rows,
    }
    print(f"{job.name}: {', '.join(job.source.topics)} to {job.sink.path}", file=out)
    failed = 0
    for name, step in steps.items():
        try:
            print(f"  ok      {name:<7} {step(job)}", file=out, flush=True)
        except PipelineError as error:
            failed += 1
            print(f"  FAILED  {name:<7} {error}", file=out, flush=True)
    print("the job can run" if not failed else "the job cannot run", file=out)
    return FAILED if failed else DONE


def _installation(_job: Job) -> str:
    require_pyspark()
    java = find_java(os.environ)
    jars = find_jars(os.environ)
    return f"pyspark {version('pyspark')}, {java}, {', '.join(jar.name for jar in jars)}"


def _broker(job: Job) -> str:
    with open_topics(job.source) as topics:
        landed = Ledger(places_of(job).table, job=job.name, batch_column=job.sink.batch_column).positions
        begin = moved(topics.resolved(topics.starting_offsets({})), landed)
        partitions = sum(len(offsets) for offsets in topics.latest().values())
        waiting = count(lags(begin, topics.latest()))
        return f"{job.source.bootstrap} answers: {partitions} partitions, {waiting:,} offsets to land"


def _table(job: Job) -> str:
    places = places_of(job)
    places.check()
    ledger = Ledger(places.table, job=job.name, batch_column=job.sink.batch_column)
    holder = running_as(places.lock)
    running = f"; the job is running, as {holder}" if holder else ""
    return f"{ledger.total.rows:,} rows in {ledger.total.batches:,} batches so far{running}"


def _rows(job: Job) -> str:
    require_pyspark()
    log_path = cache_folder(os.environ) / f"pipe-{job.name}.log"
    with spark_session(job.name, job.spark, find_jars(os.environ), log_path=log_path):
        from pipeline.shape import shape_of  # needs pyspark

        shape = shape_of(job)
        return f"columns {', '.join([*shape.landed, *shape.derived])}"
