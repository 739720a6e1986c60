"""The rows of a landed table as Spark reads them: the files of its ledger or log, with the ledger's columns.

Reading by name and not by folder has no surprises: batches of another checkpoint, files of killed runs and
what other tools put there do not count. Files on a file system are read by Spark, those of a bucket by its
Python workers.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.bucket_config import obstore_options, place_in_bucket
from pipeline.columns import Column, parse_stored, struct_json
from pipeline.config import Job
from pipeline.ledger import Ledger
from pipeline.places import uri
from pipeline.shape import BATCH, DERIVED_TYPES
from pipeline.table_note import TableNote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def files_of(ledger: Ledger, batches: Sequence[int] | None = None) -> list[str]:
    """Return the paths, from the table's folder on, of its files, or of some batches without a log."""
    if ledger.log is not None and batches is None:
        return ledger.log.files()
    return [
        f"{ledger.folder_name(batch)}/{file.path}"
        for batch in (ledger.batches() if batches is None else batches)
        for file in ledger.read(batch).files
    ]


def read_files(
    spark: SparkSession, job: Job, note: TableNote, files: Sequence[str], *, with_batch: bool = False
) -> DataFrame:
    """Return the rows of `files` of the table of `job`, with every column of the table, those of folders
    included, and BATCH if that is asked for."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import IntegerType, StructType

    derived = {name: DERIVED_TYPES[name] for name in note.partition_by if name not in note.columns}
    columns = tuple(Column(name, parse_stored(kind)) for name, kind in {**note.columns, **derived}.items())
    schema = StructType.fromJson(struct_json(columns))
    if not files:
        return spark.createDataFrame([], schema.add(BATCH, IntegerType()) if with_batch else schema)
    if job.in_bucket:
        return _from_bucket(spark, job, schema.add(BATCH, IntegerType()) if with_batch else schema, files)
    batch = F.regexp_extract(F.col("_metadata.file_path"), r"=(\d{10})/", 1).cast("int").alias(BATCH)
    reader = spark.read.schema(schema).option("basePath", uri(Path(job.sink.path)))
    found = reader.parquet(*(_literal(f"{job.sink.path}/{path}") for path in files))
    return found.select(*schema.names, *([batch] if with_batch else []))


def _from_bucket(spark: SparkSession, job: Job, schema: Any, files: Sequence[str]) -> DataFrame:
    from pyspark.sql.pandas.types import to_arrow_schema

    from pipeline import rows
    from pipeline.bucket_rows import object_reader

    wanted = to_arrow_schema(schema, timezone="UTC")
    options = obstore_options(job.sink.bucket, os.environ)
    read = object_reader(place_in_bucket(job.sink.path), options, wanted)
    keys = spark.createDataFrame([(path,) for path in files], "path string")
    tasks = min(len(files), spark.sparkContext.defaultParallelism)
    return rows.mapped(keys.repartition(tasks), read, schema)


def _literal(path: str) -> str:
    """Return a path that Hadoop takes as it is: it would read brackets and stars as a pattern."""
    for character in "\\{}[]*?":
        path = path.replace(character, f"\\{character}")
    return path
