"""Loads in a program of C (load.c) over librdkafka, so that the client is not what is measured.

The program is built once for each state of its source and of the library, which is the one inside the
confluent-kafka wheel.  It takes the place of this process, and its output is the load's.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from benchmarks.clients.jobs import ConsumeJob, Figures, LoadError, ProduceJob, SmallRecordsJob
from benchmarks.clients.rdkafka import library_path
from benchmarks.clients.settings import consumer_settings, producer_settings, small_settings

SOURCE = Path(__file__).with_name("load.c")
BUILDS = Path(__file__).parent.parent.parent / ".cache" / "benchmarks" / "clients"


def program() -> Path:
    """Return the built program.  Raises: LoadError: there is no compiler, or it refuses."""
    library = library_path()
    state = hashlib.sha256(SOURCE.read_bytes() + str(library).encode()).hexdigest()[:16]
    built = BUILDS / f"load-{state}"
    if built.exists():
        return built
    BUILDS.mkdir(parents=True, exist_ok=True)
    partial = built.with_suffix(f".{os.getpid()}")
    command = ["gcc", "-O2", "-Wall", "-Wextra", "-o", str(partial), str(SOURCE), str(library)]
    # The library's own dependencies lie beside it in the wheel.
    command += [f"-Wl,-rpath,{library.parent}", f"-Wl,-rpath-link,{library.parent}", "-lpthread"]
    try:
        found = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise LoadError("no gcc: install it, or give --client librdkafka") from None
    if found.returncode:
        raise LoadError(f"{SOURCE.name} cannot be built: {found.stderr.strip()}")
    partial.rename(built)
    return built


def produce(job: ProduceJob) -> Figures:
    """Become the program that runs a producer job."""
    values = {
        "records": job.records,
        "keys": 0,
        "seconds": job.seconds,
        "flush_seconds": job.flush_seconds,
        "warm_up_rounds": job.warm_up_rounds,
        "warm_up_round": job.warm_up_round,
        "wait_for_start": int(job.wait_for_start),
    }
    return _become("produce", job, values, producer_settings(job))


def consume(job: ConsumeJob) -> Figures:
    """Become the program that runs a consumer job."""
    values = {
        "records": job.records,
        "limit_seconds": job.limit_seconds,
        "wait_for_start": int(job.wait_for_start),
    }
    return _become("consume", job, values, consumer_settings(job))


def small_records(job: SmallRecordsJob) -> Figures:
    """Become the program that runs many producers, each with one record in a request."""
    values = {
        "seconds": job.seconds,
        "connections": job.connections,
        "in_flight": job.in_flight,
        "wait_for_start": int(job.wait_for_start),
    }
    return _become("small", job, values, small_settings(job))


def _become(
    load: str,
    job: ProduceJob | ConsumeJob | SmallRecordsJob,
    values: Mapping[str, object],
    settings: Mapping[str, str],
) -> Figures:
    path = str(program())
    given = {"topic": job.topic, "partitions": job.partitions, "record_bytes": job.record_bytes, **values}
    words = [f"{name}={value}" for name, value in given.items()]
    words += [f"set.{name}={value}" for name, value in settings.items()]
    sys.stdout.flush()
    os.execv(path, [path, load, *words])
