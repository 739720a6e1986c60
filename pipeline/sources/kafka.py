"""Spark's Kafka source, with the options a job file asks for and consumer settings that suit it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pipeline.config import Job
from pipeline.positions import Positions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

EARLIEST, LATEST = -2, -1
"""Stand-ins for an offset in `startingOffsets` (Kafka's own special timestamps of ListOffsets)."""

CONSUMER_OPTIONS: dict[str, str] = {
    # After every poll the source asks for the earliest and the latest offset again (Spark 4.2,
    # KafkaDataConsumer.getAvailableOffsetRange), two round trips for each 500 records by default. 1,000,000
    # rows took 4,244 of them, 628 with 5,000 records a poll and 114 with 20,000 and 8 MiB per partition.
    "kafka.max.poll.records": "20000",
    "kafka.max.partition.fetch.bytes": str(8 << 20),
    "kafka.fetch.max.bytes": str(64 << 20),
}


def source_options(job: Job) -> dict[str, str]:
    """Return the options that batch and streaming reads share; those of the job file override ours."""
    source = job.source
    options = {
        "kafka.bootstrap.servers": source.bootstrap,
        "kafka.isolation.level": source.isolation,
        **CONSUMER_OPTIONS,
        "subscribe": ",".join(source.topics),
        "failOnDataLoss": str(source.fail_on_data_loss).lower(),
        "includeHeaders": str(job.schema.headers).lower(),
        "groupIdPrefix": f"kawal-pipe-{job.name}",
    }
    if source.min_partitions:
        options["minPartitions"] = str(source.min_partitions)
    given = {
        name: str(value).lower() if value in (True, False) else str(value)
        for name, value in source.options.items()
    }
    return options | given


def stream_options(job: Job, start: Positions) -> dict[str, str]:
    """Return the options of the streaming read; `start` counts only while there is no checkpoint."""
    options = {**source_options(job), "startingOffsets": json.dumps(start)}
    if job.source.max_offsets_per_trigger and job.trigger.mode != "once":
        options["maxOffsetsPerTrigger"] = str(job.source.max_offsets_per_trigger)
    return options


def read_stream(spark: SparkSession, job: Job, start: Positions) -> DataFrame:
    """Return the records of the job's topics as a stream."""
    return spark.readStream.format("kafka").options(**stream_options(job, start)).load()


def read_batch(spark: SparkSession, job: Job, start: Positions) -> DataFrame:
    """Return the records from `start` up to now."""
    options = {**source_options(job), "startingOffsets": json.dumps(start), "endingOffsets": "latest"}
    return spark.read.format("kafka").options(**options).load()
