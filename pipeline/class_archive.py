"""A class archive (JDK class data sharing) that halves the time Spark needs to start.

Measured on two cores with Java 17 and pyspark 4.2: session and first query 9.8 s without, 5.1 s with it. It
costs about 25 s once and 165 MB in the user's cache folder, so it is made on request only
(`kawal pipe warm`). A JVM refuses an archive of another class path or build and starts without it.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from pipeline.errors import SetupError
from pipeline.places import cache_folder

DEADLINE_SECONDS = 300
"""A run that loads the classes takes 25 s on two idle cores; the rest is for busy machines."""

LOADING_RUN = """
import sys
from pyspark.sql import SparkSession, functions as F
java_options, jars, folder = sys.argv[1:4]
spark = (
    SparkSession.builder.master("local[1]")
    .config("spark.ui.enabled", "false")
    .config("spark.driver.host", "127.0.0.1")
    .config("spark.jars", jars)
    .config("spark.driver.extraJavaOptions", java_options)
    .getOrCreate()
)
rows = spark.range(100).select(F.to_json(F.struct("id")).alias("value"), "id")
parsed = rows.select(F.from_json("value", "id bigint").alias("row"), "id").where("row.id >= 0")
parsed.write.partitionBy("id").mode("overwrite").parquet(folder)
spark.read.parquet(folder).groupBy("id").count().collect()
jvm = spark.sparkContext._gateway.proc
spark.stop()
spark.sparkContext._gateway.shutdown()
jvm.stdin.close()
sys.exit(jvm.wait())
"""
"""The first steps of a job, without a broker; the connector's few classes load from its jars as before."""


def archive_path(java: Path, jars: Sequence[Path], environment: Mapping[str, str]) -> Path:
    """Return the path of the archive for this Java, pyspark and these jars, whether or not it exists."""
    build = java.stat()
    spark = find_spec("pyspark")  # its jars are on the class path, and an archive fits one class path
    inputs = [
        *(str(java), str(build.st_size), str(build.st_mtime_ns), version("pyspark")),
        str(spark.origin if spark else ""),
        *map(str, jars),
    ]
    digest = hashlib.sha256("\n".join(inputs).encode()).hexdigest()[:16]
    return cache_folder(environment) / f"spark-{version('pyspark')}-{digest}.jsa"


def archive_for(java: Path, jars: Sequence[Path], environment: Mapping[str, str]) -> Path | None:
    """Return the archive, or None when it has not been made."""
    path = archive_path(java, jars, environment)
    return path if path.is_file() else None


def make_archive(java: Path, jars: Sequence[Path], environment: Mapping[str, str]) -> Path:
    """Run Spark once, let the JVM write the archive as it ends, and return its path.

    The file gets its name when it is complete, so that no JVM ever maps half an archive. Raises: SetupError.
    """
    path = archive_path(java, jars, environment)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(f".{os.getpid()}")
    table = path.with_suffix(f".{os.getpid()}.table")
    options = f"-XX:ArchiveClassesAtExit={unfinished} -Xlog:disable -Xlog:all=error:stderr"
    command = [sys.executable, "-c", LOADING_RUN, options, ",".join(map(str, jars)), str(table)]
    own = {
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "JAVA_HOME": str(java.parent.parent),
    }
    try:
        run = subprocess.run(  # noqa: S603  (this interpreter, our own program)
            command,
            capture_output=True,
            text=True,
            timeout=DEADLINE_SECONDS,
            env={**environment, **own},
            check=False,
        )
        if run.returncode != 0 or not unfinished.is_file():
            raise SetupError(f"the class archive was not made; Spark's output:\n{run.stderr[-2000:]}")
        os.replace(unfinished, path)
    except subprocess.TimeoutExpired as error:
        raise SetupError(
            f"the class archive was not made within {DEADLINE_SECONDS} s: the machine is busy; try again "
            "later, or go on without it"
        ) from error
    finally:
        unfinished.unlink(missing_ok=True)
        shutil.rmtree(table, ignore_errors=True)
    return path
