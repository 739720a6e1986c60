"""Spark's Kafka source, with the options a job file asks for and consumer settings that suit it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pipeline.config import Job
from pipeline.job_file import duration_ms
from pipeline.ledger import Totals
from pipeline.option_forms import text_of
from pipeline.positions import Positions
from pipeline.security import java_options

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

EARLIEST, LATEST = -2, -1
"""Stand-ins for an offset in `startingOffsets` (Kafka's own special timestamps of ListOffsets)."""

FIRST_ROW_BYTES = 50
"""The length of a row in a file until some have landed: 350 bytes of JSON take 20, random ones more."""

CONSUMER_OPTIONS: dict[str, str] = {
    # After every poll the source asks for the earliest and the latest offset again (Spark 4.2,
    # KafkaDataConsumer.getAvailableOffsetRange), two round trips for each 500 records by default. 1,000,000
    # rows took 4,244 of them, 628 with 5,000 records a poll and 114 with 20,000 and 8 MiB per partition.
    "kafka.max.poll.records": "20000",
    "kafka.max.partition.fetch.bytes": str(8 << 20),
    "kafka.fetch.max.bytes": str(64 << 20),
    # At the end of a range the consumer has asked for more already, and the broker keeps that request for
    # half a second by default; what the source asks next, about the offsets, waits behind it on the
    # connection. Each task ended with that wait: of 1.8 s for 600,000 records, two cores worked half.
    "kafka.fetch.max.wait.ms": "10",
}


def source_options(job: Job) -> dict[str, str]:
    """Return the options that batch and streaming reads share; those of the job file override ours."""
    source = job.source
    options = {
        "kafka.bootstrap.servers": source.bootstrap,
        "kafka.isolation.level": source.isolation,
        **CONSUMER_OPTIONS,
        **{f"kafka.{name}": value for name, value in java_options(source.security).items()},
        "subscribe": ",".join(source.topics),
        "failOnDataLoss": str(source.fail_on_data_loss).lower(),
        "includeHeaders": str(job.schema.headers).lower(),
        "groupIdPrefix": f"kawal-pipe-{job.name}",
    }
    if source.min_partitions:
        options["minPartitions"] = str(source.min_partitions)
    return options | {name: text_of(value) for name, value in source.options.items()}


def stream_options(job: Job, start: Positions, total: Totals) -> dict[str, str]:
    """Return the options of the streaming read; `start` counts only while there is no checkpoint.

    `total` is what has landed so far: from it comes the length of a row in a file.
    """
    options = {**source_options(job), "startingOffsets": json.dumps(start)}
    most = job.source.max_offsets_per_trigger if job.trigger.mode != "once" else 0
    if most:
        options["maxOffsetsPerTrigger"] = str(most)
    if job.trigger.mode == "interval":
        options |= _rotation(job, most, total)
    return options


def _rotation(job: Job, most: int, total: Totals) -> dict[str, str]:
    """Return the options by which a batch waits for more records; it has `most` at most (0: no limit)."""
    sink = job.sink
    wanted = [sink.rotate_rows] if sink.rotate_rows else []
    if sink.rotate_bytes:
        mean = total.size_bytes / total.rows if total.rows and total.size_bytes else FIRST_ROW_BYTES
        wanted.append(max(1, int(sink.rotate_bytes / mean)))
    if not wanted and not sink.rotate_interval:
        return {}
    # With a time alone, no number of records ends the wait.
    least = min(wanted, default=2**62)
    options = {"minOffsetsPerTrigger": str(min(least, most) if most else least)}
    if sink.rotate_interval:
        options["maxTriggerDelay"] = f"{duration_ms(sink.rotate_interval)}ms"
    return options


def read_stream(spark: SparkSession, job: Job, start: Positions, total: Totals) -> DataFrame:
    """Return the records of the job's topics as a stream; see `stream_options`."""
    return spark.readStream.format("kafka").options(**stream_options(job, start, total)).load()


def read_range(spark: SparkSession, job: Job, start: Positions, end: Positions) -> DataFrame:
    """Return the records from `start` up to, not including, `end`, of just these partitions."""
    options = {**source_options(job), "startingOffsets": json.dumps(start), "endingOffsets": json.dumps(end)}
    del options["subscribe"]
    options["assign"] = json.dumps(
        {topic: sorted(map(int, partitions)) for topic, partitions in start.items()}
    )
    return spark.read.format("kafka").options(**options).load()


def read_batch(spark: SparkSession, job: Job, start: Positions) -> DataFrame:
    """Return the records from `start` up to now."""
    options = {**source_options(job), "startingOffsets": json.dumps(start), "endingOffsets": "latest"}
    return spark.read.format("kafka").options(**options).load()
