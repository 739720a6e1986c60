"""The part of `kawal pipe check` about Spark on this machine: Java, jars, files, memory, the cluster."""

from __future__ import annotations

import os
import re
import shlex
import socket
import subprocess
import zipfile
from collections.abc import Mapping, Sequence
from importlib import util
from importlib.metadata import version
from pathlib import Path
from shutil import which

from pipeline.config import Job
from pipeline.errors import SetupError
from pipeline.jars import find_jars
from pipeline.option_forms import Value, text_of
from pipeline.places import nearest_folder, problem_in
from pipeline.session import find_java, require_pyspark
from pipeline.sources.greeting import HURRY_SECONDS

DRIVER_JAVA_OPTIONS = "spark.driver.extraJavaOptions"

FILE_LISTS = ("spark.jars", "spark.files", "spark.archives", "spark.submit.pyFiles")
"""Keys whose values are lists of files, which a driver reads when it starts."""

PROGRAMS = ("spark.pyspark.python", "spark.pyspark.driver.python")

SCRATCH = "spark.local.dir"

EVENTS = "spark.eventLog.enabled"
EVENTS_FOLDER = "spark.eventLog.dir"

JAVA_SECONDS = 20
"""`java -version` takes 0.1 s; more is for a machine that swaps."""

JAVA_VERSIONS = (17, 21, 25)
"""The versions on which Spark 4.2 runs."""


HADOOP_FOLDERS = ("HADOOP_CONF_DIR", "YARN_CONF_DIR")


def check_engine(job: Job) -> str:
    """Return what Spark will run with.  Raises: SetupError naming what is missing or cannot be used."""
    require_pyspark()
    missing = [name for name in ("pandas", "pyarrow") if util.find_spec(name) is None]
    if missing:
        raise SetupError(
            f"{' and '.join(missing)} cannot be imported; jobs need them: pip install 'kawal[spark]'"
        )
    java = find_java(os.environ)
    number = java_version(java, _java_options(job.spark.options))
    if number not in JAVA_VERSIONS:
        raise SetupError(
            f"{java} is Java {number}; Spark runs on {', '.join(map(str, JAVA_VERSIONS))}: set JAVA_HOME"
        )
    jars = find_jars(os.environ)
    for jar in jars:
        _check_jar(jar)
    _check_master(job.spark.master)
    _check_memory(job.spark.driver_memory)
    check_files(job.spark.options)
    return f"pyspark {version('pyspark')}, Java {number} ({java}), {', '.join(jar.name for jar in jars)}"


def _check_master(master: str) -> None:
    """Refuse a cluster none of whose masters takes connections.  Raises: SetupError."""
    if master == "yarn" and not any(os.environ.get(name) for name in HADOOP_FOLDERS):
        raise SetupError(
            f"spark.master is 'yarn', but neither {' nor '.join(HADOOP_FOLDERS)} is set; set one to "
            "the folder of the cluster's configuration"
        )
    if not master.startswith(("spark://", "k8s://")):
        return
    problems = []
    for address in re.sub(r"^(spark|k8s)://(https?://)?", "", master).split("/")[0].split(","):
        host, colon, port = address.rpartition(":")
        if not colon and master.startswith("k8s://"):
            host, port = address, "443"  # Spark's own default
        fits = host and port.isdecimal() and 0 < int(port) < 1 << 16
        problem = _no_connection(host.strip("[]"), int(port)) if fits else "it has no port from 1 to 65535"
        if not problem:
            return
        problems.append(f"{address}: {problem}")
    raise SetupError(
        f"spark.master is {master!r}, where nothing answers ({'; '.join(problems)}); is the cluster running?"
    )


def java_version(java: Path, options: Sequence[str] = ()) -> int:
    """Return the major version of a Java started with these options.  Raises: SetupError when it does not
    say one."""
    try:
        run = subprocess.run(  # noqa: S603  (the java that Spark would start)
            [java, *options, "-version"], capture_output=True, text=True, timeout=JAVA_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SetupError(f"{java} does not run: {error}") from error
    found = re.search(r'version "(?:1\.)?(\d+)', run.stderr)
    if run.returncode and options:
        told = (run.stdout + run.stderr).strip().splitlines() or ["nothing"]
        raise SetupError(
            f"spark.options has '{DRIVER_JAVA_OPTIONS}' = {shlex.join(options)!r}, with which {java} does "
            f"not start: {told[0]}"
        )
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


def _no_connection(host: str, port: int) -> str:
    """Return why an address takes no connection, "" when it does."""
    try:
        socket.create_connection((host, port), HURRY_SECONDS).close()
    except (OSError, OverflowError) as error:
        return getattr(error, "strerror", None) or str(error)
    return ""


def check_files(options: Mapping[str, Value]) -> None:
    """Refuse options that name files of this machine that are not there.  Raises: SetupError."""
    for key in FILE_LISTS:
        for path in _local(text_of(options.get(key, ""))):
            if not Path(path).exists():
                raise SetupError(f"spark.options has {key!r} with {path!r}, which is not there")
    for key in PROGRAMS:
        if (program := text_of(options.get(key, ""))) and which(program) is None:
            raise SetupError(f"spark.options has {key!r} = {program!r}, which is no program; leave it out")
    for path in _local(text_of(options.get(SCRATCH, ""))):
        if problem := problem_in(nearest_folder(Path(path).absolute())):
            raise SetupError(f"spark.options has {SCRATCH!r} with {path!r}: it cannot be made ({problem})")
    if text_of(options.get(EVENTS, "")).strip().lower() == "true":
        for path in _local(text_of(options.get(EVENTS_FOLDER, "/tmp/spark-events"))):  # noqa: S108  (Spark's)
            if not Path(path).is_dir():
                raise SetupError(
                    f"spark.options has {EVENTS!r}, but the folder {path!r} is not there; make it, or set "
                    f"{EVENTS_FOLDER}"
                )


def _local(text: str) -> list[str]:
    """Return those of a list of paths that are on this machine, without what Spark takes a name from."""
    paths = [part.strip().partition("#")[0] for part in text.split(",")]
    found = [re.sub(r"^(file|local):(//(localhost)?(?=/))?", "", path) for path in paths]
    return [path for path in found if path and "://" not in path and "*" not in path]


def _java_options(options: Mapping[str, Value]) -> list[str]:
    """Return the options with which the driver's Java is to start, besides ours.  Raises: SetupError."""
    text = text_of(options.get(DRIVER_JAVA_OPTIONS, ""))
    try:
        found = shlex.split(text)
    except ValueError as error:
        raise SetupError(f"spark.options has {DRIVER_JAVA_OPTIONS!r} = {text!r}: {error}") from error
    if heap := next((option for option in found if option.startswith("-Xmx")), None):
        raise SetupError(
            f"spark.options has {DRIVER_JAVA_OPTIONS!r} with {heap!r}, which Spark refuses; set "
            "spark.driver_memory"
        )
    return found


def _check_memory(wanted: str) -> None:
    """Refuse a heap that this machine has not the memory for.  Raises: SetupError."""
    there_mb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
    if int(wanted[:-1]) * (1024 if wanted.endswith("g") else 1) > there_mb:
        raise SetupError(f"spark.driver_memory is {wanted!r}; this machine has {there_mb}m: give less")
