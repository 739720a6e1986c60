"""`kawal pipe preview`: the next records as they would land, and why bad ones would not; nothing is written.

It imports pyspark: call `session.require_pyspark` first.
"""

from __future__ import annotations

import os
from typing import NamedTuple, TextIO

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType

from pipeline import rows
from pipeline.config import Job
from pipeline.errors import DONE
from pipeline.jars import find_jars
from pipeline.places import cache_folder
from pipeline.session import spark_session
from pipeline.shape import Shape, shape_of
from pipeline.sinks.tables import ledger_of
from pipeline.sources.kafka import read_batch
from pipeline.sources.topics import open_topics


class PreviewLine(NamedTuple):
    """One record: whether it is bad, and its JSON."""

    bad: bool
    text: str


def preview_job(job: Job, limit: int, out: TextIO, err: TextIO) -> int:
    """Print up to `limit` records from the job's position, one JSON object per line.

    Raises: PipelineError.
    """
    jars = find_jars(os.environ)
    landed = ledger_of(job).positions
    with open_topics(job.source) as topics:
        start = topics.starting_offsets(landed)
    log_path = cache_folder(os.environ) / f"pipe-{job.name}.log"
    with spark_session(job.name, job.spark, jars, log_path=log_path) as spark:
        lines = preview_lines(read_batch(spark, job, start).limit(limit), shape_of(job))
    bad = sum(line.bad for line in lines)
    print(f"{job.name}: {len(lines) - bad} records that would land, {bad} bad", file=err, flush=True)
    for line in lines:
        print(line.text, file=out)
    return DONE


def preview_lines(records: DataFrame, shape: Shape) -> list[PreviewLine]:
    """Return the records in the order of their offsets; a bad one has the field `_bad` with the reason.

    Binary values are shown as text where they are UTF-8, else in base64.
    """
    parsed = rows.parse(records, shape).localCheckpoint()  # so that both halves see the same records
    good = rows.good_rows(parsed, shape)
    bad = rows.bad_rows(parsed)
    good_fields = [_shown(good, name) for name in shape.landed]
    bad_fields = [
        F.col("reason").alias("_bad"),
        *(_shown(bad, name) for name in bad.columns if name != "reason"),
    ]
    both = _lines(good, shape.prefix, good_fields, bad=False).unionByName(
        _lines(bad, "", bad_fields, bad=True)
    )
    ordered = both.orderBy("topic", "partition", "offset").collect()
    return [PreviewLine(bad=row.bad, text=row.text) for row in ordered]


def _lines(of_kind: DataFrame, prefix: str, fields: list[Column], *, bad: bool) -> DataFrame:
    text = F.to_json(F.struct(*fields), {"ignoreNullFields": "false"}).alias("text")
    place = [F.col(f"{prefix}{name}").alias(name) for name in ("topic", "partition", "offset")]
    return of_kind.select(*place, F.lit(bad).alias("bad"), text)


def _shown(of_kind: DataFrame, name: str) -> Column:
    column = F.col(name)
    if isinstance(of_kind.schema[name].dataType, BinaryType):
        text = F.when(F.is_valid_utf8(column.cast("string")), column.cast("string"))
        text = text.otherwise(F.base64(column))
        return text.alias(name)
    return column
