"""`kawal pipe check`: everything a run needs, checked before it, without Spark and without writing anything.

In a bucket one object is created and removed again: whether a store lets one of several win, only that shows.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import zipfile
from collections.abc import Callable
from importlib import util
from importlib.metadata import version
from pathlib import Path
from typing import TextIO
from urllib.parse import urlsplit

from pipeline.config import Job
from pipeline.errors import DONE, FAILED, PipelineError, SetupError
from pipeline.generations import check_generations, removed
from pipeline.jars import find_jars
from pipeline.job_lines import line_of, line_of_value
from pipeline.lock import running_as
from pipeline.places import places_of
from pipeline.positions import count, lags, moved, offset_of
from pipeline.session import find_java, require_pyspark
from pipeline.shape import shape_of
from pipeline.sinks.tables import bucket_of, ledger_of
from pipeline.sinks.topics import Target, target_client
from pipeline.sources.greeting import HURRY_SECONDS
from pipeline.sources.topics import existing_topics, open_topics
from pipeline.table_check import fit_table
from registry.client import Client, address_problem
from registry.errors import Unreachable

JAVA_SECONDS = 20
"""`java -version` takes 0.1 s; more is for a machine that swaps."""

JAVA_VERSIONS = (17, 21, 25)
"""The versions on which Spark 4.2 runs."""


KEYS = {"table": "sink.path", "broker": "source.bootstrap", "target": "target.bootstrap"}
"""By step: the key that it is about, where its sentence names none."""


def check_job(job: Job, out: TextIO) -> int:
    """Print one line for each thing checked; return DONE when a run could start, else FAILED."""
    steps: dict[str, Callable[[Job], str]] = {
        "rows": _rows,
        "table": _table,
        "spark": _installation,
        "broker": _broker,
    }
    where = job.sink.path
    if job.writes_topics:
        steps["target"] = _target
        where = job.target_shown
    print(f"{job.name}: {', '.join(job.source.topics)} to {where}", file=out)
    failed: list[str] = []
    for name, step in steps.items():
        try:
            print(f"  ok      {name:<7} {step(job)}", file=out, flush=True)
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


def _placed(file: str, step: str, sentence: str) -> str:
    """Return what a step found after the place in the job file that it is about, where there is one."""
    if not file:
        return sentence
    text = Path(file).read_text(encoding="utf-8")
    line = line_of(text, sentence) or line_of_value(text, sentence) or line_of(text, KEYS.get(step, ""))
    return f"{file}:{line}: {sentence}" if line else sentence


def _rows(job: Job) -> str:
    shape = shape_of(job)
    if job.schema.registry:
        _check_registry(job.schema.registry)
    return f"columns {', '.join([*shape.landed, *shape.derived])}"


def _check_registry(url: str) -> None:
    """Refuse an address at which no registry answers.  Raises: SetupError."""
    try:
        Client(url, timeout_seconds=HURRY_SECONDS).ask("schemas/types")
    except Unreachable as error:
        raise SetupError(f"{error}; see schema.registry") from error


def _table(job: Job) -> str:
    places = places_of(job)
    places.check()
    if job.job.metrics_file:
        _check_metrics_file(Path(job.job.metrics_file))
    _check_catalog(job.sink.catalog.get("uri", ""))
    ledger = ledger_of(job, in_a_hurry=True)
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


def _check_catalog(uri: str) -> None:
    """Refuse an address that takes no connections: pyiceberg would try for long.  Raises: SetupError."""
    if not uri.startswith(("http://", "https://")):
        return
    if problem := address_problem(uri):
        raise SetupError(f"sink.catalog has uri {uri!r}, which {problem}")
    parts = urlsplit(uri)
    if parts.hostname:
        port = parts.port or {"http": 80, "https": 443}[parts.scheme]
        if problem := _no_connection(parts.hostname, port):
            raise SetupError(
                f"sink.catalog has uri {uri!r}, where nothing answers ({problem}); is it running?"
            )


def _no_connection(host: str, port: int) -> str:
    """Return why an address takes no connection, "" when it does."""
    try:
        socket.create_connection((host, port), HURRY_SECONDS).close()
    except (OSError, OverflowError) as error:
        return getattr(error, "strerror", None) or str(error)
    return ""


def _check_metrics_file(path: Path) -> None:
    """Refuse a file that a run could not replace.  Raises: SetupError."""
    if path.is_dir():
        raise SetupError(f"job.metrics_file is {path}, which is a folder; give the name of a file in it")
    if not path.parent.is_dir() or not os.access(path.parent, os.W_OK | os.X_OK):
        raise SetupError(
            f"job.metrics_file is {path}: {path.parent} is not a folder in which files can be made; make it"
        )


def _installation(job: Job) -> str:
    require_pyspark()
    missing = [name for name in ("pandas", "pyarrow") if util.find_spec(name) is None]
    if missing:
        raise SetupError(
            f"{' and '.join(missing)} cannot be imported; jobs need them: pip install 'kawal[spark]'"
        )
    java = find_java(os.environ)
    number = java_version(java)
    if number not in JAVA_VERSIONS:
        raise SetupError(
            f"{java} is Java {number}; Spark runs on {', '.join(map(str, JAVA_VERSIONS))}: set JAVA_HOME"
        )
    jars = find_jars(os.environ)
    for jar in jars:
        _check_jar(jar)
    _check_master(job.spark.master)
    return f"pyspark {version('pyspark')}, Java {number} ({java}), {', '.join(jar.name for jar in jars)}"


def _check_master(master: str) -> None:
    """Refuse a standalone cluster none of whose masters takes connections.  Raises: SetupError."""
    if not master.startswith("spark://"):
        return
    problems = []
    for address in master.removeprefix("spark://").split(","):
        host, _, port = address.rpartition(":")
        problem = _no_connection(host.strip("[]"), int(port)) if port.isdecimal() else "it has no port"
        if not problem:
            return
        problems.append(f"{address}: {problem}")
    raise SetupError(
        f"spark.master is {master!r}, where nothing answers ({'; '.join(problems)}); is the cluster running?"
    )


def java_version(java: Path) -> int:
    """Return the major version of a Java.  Raises: SetupError when it does not say one."""
    try:
        run = subprocess.run(  # noqa: S603  (the java that Spark would start)
            [java, "-version"], capture_output=True, text=True, timeout=JAVA_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SetupError(f"{java} does not run: {error}") from error
    found = re.search(r'version "(?:1\.)?(\d+)', run.stderr)
    if found is None:
        raise SetupError(
            f"{java} -version says {(run.stderr or run.stdout).strip()[:200]!r}; set JAVA_HOME to a Java"
        )
    return int(found[1])


def _check_jar(jar: Path) -> None:
    """Refuse a damaged jar, or a connector of another Spark.  Raises: SetupError."""
    if not zipfile.is_zipfile(jar):
        raise SetupError(
            f"{jar} is damaged ({jar.stat().st_size:,} bytes): remove it and fetch it again, 'make jars'"
        )
    connector = re.match(r"spark-sql-kafka-0-10_2\.13-(\d+\.\d+)", jar.name)
    spark = ".".join(version("pyspark").split(".")[:2])
    if connector and connector[1] != spark:
        raise SetupError(
            f"{jar} is for Spark {connector[1]}, but pyspark is {version('pyspark')}: take one of {spark}"
        )


def _broker(job: Job) -> str:
    with open_topics(job.source, in_a_hurry=True) as topics:
        ledger = ledger_of(job, in_a_hurry=True)
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


def _target(job: Job) -> str:
    target = Target(job, target_client(job), in_a_hurry=True)
    target.check_settings()
    there = existing_topics(job.target_bootstrap, job.target_security, in_a_hurry=True)
    target.check_topics(there)
    target.check_new(there)
    missing = [name for name in target.topics.values() if name not in there]
    made = f"; a run makes {', '.join(missing)}" if missing else ""
    count_there = len(target.topics) - len(missing)
    return f"{job.target_bootstrap} answers: {count_there} of {len(target.topics)} topics are there{made}"
