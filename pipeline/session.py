"""The one place that builds a SparkSession.

It sees to this:
- Python workers run this interpreter, not whichever `python3` comes first on the PATH.
- With a master on this machine everything binds loopback; Spark would bind the host's address.
- Python workers import Kawal's packages from where this process has them, whatever else has their names.
- The session's time zone is UTC and timestamps land as Parquet's own type, so that a table means the same
  everywhere; the default, INT96, is a type that only Spark and Hive still write.
- The output of the JVM and Spark goes to a log file beside the job's state: the terminal is for progress.
"""

from __future__ import annotations

import logging
import os
import re
import shlex
import shutil
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import util
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.class_archive import archive_for
from pipeline.config import SparkSection
from pipeline.errors import SetupError
from pipeline.option_forms import text_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOG_SETTINGS = Path(__file__).with_name("log4j2.properties")

PACKAGES_FOLDER = str(Path(__file__).resolve().parents[1])
WORKERS_PATH = "spark.executorEnv.PYTHONPATH"

LOG_TAIL_LINES = 15
"""The lines of the log that a failed start shows: the JVM's own complaint is one to three lines."""

OUR_OPTIONS: dict[str, str] = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # Our only shuffle adds up row counts, one row a file.
    "spark.sql.shuffle.partitions": "2",
    # Rows read so far reach the driver with the heartbeats: 10 s would freeze progress lines 5 s apart.
    "spark.executor.heartbeatInterval": "2s",
    # A worker is started by -m, which would put the working directory, and its packages, first.
    "spark.executorEnv.PYTHONSAFEPATH": "1",
}

QUICK_START = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""336,776 flights from JSON to Parquet in 7 batches, start included, take 27 s of CPU with these two, and 36
to 44 s without. The second compiler pays off after some minutes: then rows take half the time."""

LOOPBACK_MASTER = re.compile(r"local(\[.*\])?|spark://(127\.\d+\.\d+\.\d+|localhost):\d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPlan:
    """Everything that is decided before the JVM starts."""

    master: str
    options: dict[str, str]
    environment: dict[str, str]


def plan_session(
    name: str, spark: SparkSection, jars: Sequence[Path], *, log_path: Path, archive: Path | None = None
) -> SessionPlan:
    """Decide the configuration of a session; `archive` is a class archive of exactly this class path."""
    java_options = [f"-Dlog4j2.configurationFile={LOG_SETTINGS.as_uri()}", f"-Dkawal.spark.log={log_path}"]
    if spark.quick_start:
        java_options += QUICK_START
    if archive is not None:
        java_options += [f"-XX:SharedArchiveFile={archive}", "-Xshare:auto"]
    options = {
        **OUR_OPTIONS,
        "spark.app.name": f"kawal-{name}",
        "spark.driver.memory": spark.driver_memory,
        "spark.driver.extraJavaOptions": shlex.join(java_options),
        "spark.jars": ",".join(str(jar) for jar in jars),
    }
    environment = {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    their_path = spark.options.get(WORKERS_PATH, os.environ.get("PYTHONPATH", ""))
    if LOOPBACK_MASTER.fullmatch(spark.master):
        options |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
        environment["SPARK_LOCAL_IP"] = "127.0.0.1"
    options |= {key: text_of(value) for key, value in spark.options.items()}
    options[WORKERS_PATH] = os.pathsep.join(filter(None, (PACKAGES_FOLDER, text_of(their_path))))
    return SessionPlan(master=spark.master, options=options, environment=environment)


@contextmanager
def spark_session(
    name: str, spark: SparkSection, jars: Sequence[Path], *, log_path: Path
) -> Iterator[SparkSession]:
    """Start Spark, yield its session and stop it; its output goes to `log_path`.

    Where a session exists already, as in a notebook, a sister of it with our SQL settings is yielded, and
    nothing is stopped: master, memory, jars and log are then those of that session. Raises: SetupError when
    pyspark or Java is missing or the JVM does not start.
    """
    require_pyspark()
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is not None:
        sister = _sister(active, spark)
        try:
            _make_active(sister)
            yield sister
        finally:
            _make_active(active)
        return
    java = find_java(os.environ)
    log_path.parent.mkdir(parents=True, exist_ok=True)
    plan = plan_session(name, spark, jars, log_path=log_path, archive=archive_for(java, jars, os.environ))
    session = _start(plan, log_path)
    try:
        yield session
    finally:
        _stop(session)


def _stop(session: SparkSession) -> None:
    from py4j.protocol import Py4JError

    try:
        session.stop()
    except (Py4JError, OSError):
        # The JVM has ended before us: a signal to the whole process group reaches it as well.
        return


def _sister(active: SparkSession, spark: SparkSection) -> SparkSession:
    sister = active.newSession()
    for key, value in {**OUR_OPTIONS, **spark.options}.items():
        if key.startswith("spark.sql."):
            sister.conf.set(key, text_of(value))
    return sister


def _make_active(session: SparkSession) -> None:
    """Have Spark look for data sources in this session.

    It looks for those of Python in the active session, and not in the one that registers another: what the
    notebook's session has could not be registered by its sister (DATA_SOURCE_ALREADY_EXISTS, Spark 4.2.1).
    """
    from py4j.protocol import Py4JError

    try:
        session.createDataFrame([], "n int")  # the public call that makes a session the active one
    except (Py4JError, OSError):
        return  # the JVM has ended, which the job's next call to it tells


def require_pyspark() -> None:
    """Check that pyspark can be imported.  Raises: SetupError, which says how to install it."""
    if util.find_spec("pyspark") is None:
        raise SetupError("pyspark is not installed; jobs run on Spark: pip install 'kawal[spark]'")


def find_java(environment: Mapping[str, str]) -> Path:
    """Return the `java` that Spark will start: from JAVA_HOME, else from the PATH.  Raises: SetupError."""
    home = environment.get("JAVA_HOME")
    found = shutil.which("java", path=f"{home}/bin" if home else environment.get("PATH"))
    if found is None:
        place = f"in JAVA_HOME={home}" if home else "on the PATH"
        raise SetupError(
            f"there is no java {place}; Spark needs Java 17 or 21: install one (Debian: "
            "'apt-get install openjdk-17-jre-headless') or set JAVA_HOME"
        )
    return Path(found).resolve()


def _start(plan: SessionPlan, log_path: Path) -> SparkSession:
    from pyspark.errors import PySparkRuntimeError
    from pyspark.sql import SparkSession

    os.environ.update(plan.environment)
    builder = SparkSession.builder.master(plan.master)
    for key, value in plan.options.items():
        builder = builder.config(key, value)
    with _errors_to(log_path), warnings.catch_warnings():
        # pyspark 4.2 warns about pandas 3 while it starts; no job of ours uses pandas.
        warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
        # py4j logs every call that a JVM which has ended leaves unanswered; what matters is raised.
        logging.getLogger("py4j").setLevel(logging.CRITICAL + 1)
        try:
            _launch(plan)
            return builder.getOrCreate()
        except PySparkRuntimeError as error:
            tail = "\n".join(log_path.read_text(errors="replace").splitlines()[-LOG_TAIL_LINES:])
            raise SetupError(f"Spark did not start; the end of {log_path}:\n{tail}") from error


def _launch(plan: SessionPlan) -> None:
    """Start the JVM in a process group of its own, unless there is one.

    A signal to the whole group, as of a terminal or `timeout`, then reaches this process alone, and the
    running batch can end. The JVM ends with this process, however that ends: it reads the end of its input.
    """
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway

    if SparkContext._gateway is None:
        conf = SparkConf(loadDefaults=False).setMaster(plan.master).setAll(list(plan.options.items()))
        SparkContext._ensure_initialized(gateway=launch_gateway(conf, {"start_new_session": True}))


@contextmanager
def _errors_to(log_path: Path) -> Iterator[None]:
    """Let processes started in the block inherit `log_path` as standard error: JVMs write there at will."""
    sys.stderr.flush()
    terminal = os.dup(2)
    log = os.open(log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(log, 2)
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(terminal, 2)
        os.close(log)
        os.close(terminal)
