"""The keys of a job file that must agree with each other, and values that no type describes."""

from __future__ import annotations

import re

from pipeline.backfill_checks import check_past
from pipeline.bucket_config import check_bucket
from pipeline.catalog_checks import check_properties
from pipeline.config import Job, TargetSection
from pipeline.errors import JobFileError
from pipeline.option_checks import check_source_options, check_spark_options
from registry.client import address_problem

TOPIC_NAME = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}")
"""Kafka's rule for names of topics (Topic.java)."""

DRIVER_MEMORY_MIN_MB = 512
"""Spark needs a heap of 450 MB to start (UnifiedMemoryManager: one and a half times 300 MB)."""


def check_together(job: Job) -> None:
    """Refuse combinations of keys that contradict each other.  Raises: JobFileError."""
    _check_source(job)
    _check_schema(job)
    _check_sink(job)
    _check_spark(job)
    if job.target != TargetSection():
        if not job.writes_topics:
            raise JobFileError(
                "[target] is given to a job of kind 'land', which writes a table; set kind = 'replicate' or "
                "'derive', or leave it out"
            )
        if job.target.bootstrap:
            _check_addresses(job.target.bootstrap, "target.bootstrap")


def _check_source(job: Job) -> None:
    source = job.source
    _check_addresses(source.bootstrap, "source.bootstrap")
    for topic in source.topics:
        check_topic_name(topic, f"source.topics names {topic!r}")
    repeated = {topic for topic in source.topics if source.topics.count(topic) > 1}
    if repeated:
        raise JobFileError(f"source.topics names {min(repeated)!r} twice")
    check_source_options(source.options)
    check_past(source)
    if source.backfill and job.writes_topics:
        raise JobFileError(
            f"source.backfill is given to a job of kind {job.job.kind!r}; it is for kind 'land' only"
        )
    _check_rotation(job)


def _check_rotation(job: Job) -> None:
    """Refuse a least size of a batch above its most, with which Spark ends."""
    most = job.source.max_offsets_per_trigger
    least = next(
        (int(value) for name, value in job.source.options.items() if name.lower() == "minoffsetspertrigger"),
        0,
    )
    if most and least > most:
        raise JobFileError(
            f"source.options has 'minOffsetsPerTrigger' = {least}, more than source.max_offsets_per_trigger, "
            f"{most}; give less"
        )


def check_topic_name(topic: str, subject: str) -> None:
    """Refuse a name that no broker takes; `subject` begins the sentence.  Raises: JobFileError."""
    if not TOPIC_NAME.fullmatch(topic):
        raise JobFileError(f"{subject}: names of topics are 1 to 249 letters, digits, '.', '_' and '-'")


def _check_addresses(addresses: str, key: str) -> None:
    for address in map(str.strip, addresses.split(",")):
        host, _, port = address.rpartition(":")
        if not host or "/" in address or not port.isdecimal() or not 0 < int(port) < 1 << 16:
            raise JobFileError(
                f"{key} is {addresses!r}: {address!r} is not an address; write HOST:PORT, as 127.0.0.1:9092"
            )


def _check_schema(job: Job) -> None:
    if job.schema.mode == "json" and not job.schema.columns.strip():
        raise JobFileError(
            "schema.columns is empty, but schema.mode is 'json'; declare the columns, as in "
            "columns = 'ts timestamp, current double'"
        )
    _check_registry(job)
    given = next((name for name in ("columns", "rescue", "registry") if getattr(job.schema, name)), None)
    if job.schema.mode == "raw" and given is not None:
        raise JobFileError(
            f"schema.{given} is given, but schema.mode is 'raw'; set mode = 'json' or leave it out"
        )


def _check_sink(job: Job) -> None:
    sink = job.sink
    if job.in_bucket and sink.kind == "iceberg" and not sink.catalog:
        raise JobFileError(
            f"sink.catalog is empty, but sink.path is {sink.path!r}: an Iceberg table in a bucket needs "
            "a catalog that outlives this machine, as catalog = { type = 'rest', uri = 'https://…' }"
        )
    for key in ("catalog", "table"):
        if getattr(sink, key) and sink.kind != "iceberg":
            raise JobFileError(
                f"sink.{key} is given, but sink.kind is {sink.kind!r}; it is for 'iceberg' only"
            )
    check_properties(sink.catalog)
    if sink.table and not re.fullmatch(r"[^.\s]+(\.[^.\s]+)+", sink.table):
        raise JobFileError(f"sink.table is {sink.table!r}: expected NAMESPACE.NAME, as 'lake.flights'")
    if sink.work and not job.in_bucket:
        raise JobFileError(f"sink.work is given, but sink.path is {sink.path!r}; it is for s3://… only")
    check_bucket(sink.bucket, sink.path)


def _check_spark(job: Job) -> None:
    memory = job.spark.driver_memory
    if int(memory[:-1]) * (1024 if memory.endswith("g") else 1) < DRIVER_MEMORY_MIN_MB:
        raise JobFileError(f"spark.driver_memory is {memory!r}: Spark needs {DRIVER_MEMORY_MIN_MB}m or more")
    check_spark_options(job.spark.options)


def _check_registry(job: Job) -> None:
    """Refuse an address that is none, and a view over values that it cannot read.  Raises: JobFileError."""
    url = job.schema.registry
    problem = address_problem(url) if url else None
    if problem is not None:
        raise JobFileError(f"schema.registry is {url!r}, which {problem}")
    if url and job.source.view:
        raise JobFileError("source.view reads JSON; it does not go together with schema.registry")
