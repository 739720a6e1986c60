"""One Spark session per test process, with the Kafka connector of pipeline/pom.xml."""

from __future__ import annotations

import logging
import os
import sys
from functools import cache
from pathlib import Path
from typing import Any

from compat_tests.broker import Broker
from compat_tests.java import SPARK_JARS
from compat_tests.object_store import KEYS
from pipeline.class_archive import archive_for
from pipeline.jars import find_jars
from pipeline.session import find_java

DRIVER_OPTIONS = "-XX:TieredStopAtLevel=1 -Xss16m -Dlog4j2.level=ERROR"
"""The first compiler only: it halves the start. Deep stacks: stopping a query unwinds through Python."""

REAL_TIME = "5 seconds"
"""The least time between two checkpoints of a query in real-time mode (Spark 4.2)."""


@cache
def spark_session() -> Any:
    """Start Spark in local mode on loopback with two cores; the session lives as long as the process."""
    jars = sorted(str(jar) for jar in SPARK_JARS.glob("*.jar"))
    assert len(jars) == 4, f"the four connector jars are not in {SPARK_JARS}: run 'make jars'"
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    options = DRIVER_OPTIONS
    archive = archive_for(find_java(os.environ), find_jars(os.environ), os.environ)
    if archive is not None:
        options += f" -XX:SharedArchiveFile={archive} -Xshare:auto"
    os.environ["PYSPARK_SUBMIT_ARGS"] = f'--driver-memory 1g --driver-java-options "{options}" pyspark-shell'
    from pyspark.sql import SparkSession

    # Python that Spark starts for a data source has the environment with which Java was started.
    for name, value in KEYS.items():
        os.environ.setdefault(name, value)
    session = (
        SparkSession.builder.master("local[2]")
        .appName("compat tests")
        .config("spark.jars", ",".join(jars))
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.streaming.noDataMicroBatches.enabled", "false")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    return session


def run_available(stream: Any, directory: Path) -> list[int]:
    """Run a streaming read into Parquet until it is caught up; return the rows of each batch."""
    query = (
        stream.writeStream.format("parquet")
        .option("path", str(directory / "rows"))
        .option("checkpointLocation", str(directory / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(60), "the query is not caught up after 60 s"
    return [int(progress["numInputRows"]) for progress in query.recentProgress if progress["numInputRows"]]


def number_stream(spark: Any, broker: Broker, **options: Any) -> Any:
    """Return a streaming read from the earliest offset, whose values are numbers."""
    settings = {"kafka.bootstrap.servers": broker.bootstrap, "startingOffsets": "earliest", **options}
    rows = spark.readStream.format("kafka").options(**settings).load()
    return rows.selectExpr("cast(cast(value as string) as int) as number", "partition", "offset")


def in_real_time(spark: Any, broker: Broker, source: Any, target: str, directory: Path) -> Any:
    """Start a query in real-time mode that writes its numbers to a topic."""
    return (
        source.selectExpr("cast(number as string) as value")
        .writeStream.format("kafka")
        .options(**{"kafka.bootstrap.servers": broker.bootstrap, "topic": target})
        .option("checkpointLocation", str(directory / "checkpoint"))
        .outputMode("update")
        .trigger(realTime=REAL_TIME)
        .start()
    )
