"""The jobs beside `run` that need Spark and the lock of a job: so far `replay`."""

from __future__ import annotations

import os
import shutil
from typing import TextIO

from pipeline.config import Job
from pipeline.errors import JobFileError
from pipeline.jars import find_jars
from pipeline.lock import job_lock
from pipeline.places import places_of
from pipeline.probe import Probe, no_probe
from pipeline.session import require_pyspark, spark_session
from pipeline.sinks.tables import ledger_of
from pipeline.table_check import fit_table


def replay_job(job: Job, out: TextIO, *, probe: Probe = no_probe) -> int:
    """Land what fits of the quarantine of `job` by its file as it is now.  Raises: PipelineError."""
    if job.writes_topics:
        raise JobFileError(f"job.kind is {job.job.kind!r}: it has no quarantine to read again")
    require_pyspark()
    jars = find_jars(os.environ)
    places = places_of(job)
    places.prepare()
    with job_lock(places.lock, job.name):
        shutil.rmtree(places.leftovers, ignore_errors=True)
        ledger = ledger_of(job)
        note, _ = fit_table(job, ledger)
        with spark_session(job.name, job.spark, jars, log_path=places.log) as spark:
            from pipeline.replay import print_replay, replay  # needs pyspark

            return print_replay(job, replay(spark, job, ledger, places, note, probe=probe), out)
