"""Records to rows: pure functions from DataFrame to DataFrame.

    records ──parse──▶ parsed ──good_rows──▶ rows as they land
                          └─────bad_rows───▶ rows as they come into the quarantine

`parse` reads the value in Python workers (`pipeline.arrow_rows`), by the rules of views.  What lands is made
of the same parts in the workers themselves (`pipeline.sinks.file_writer`); audits and previews look here.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import MapType, StringType, StructField, StructType

from pipeline.arrow_rows import FIELD, REASON, RESCUED, Batches, raw_reader, row_reader
from pipeline.columns import struct_json
from pipeline.derivation import view_reader
from pipeline.shape import SOURCE_NAMES, Shape

CARRIED = ("key", "value", "headers", "topic", "partition", "offset", "timestamp")
"""The source's columns that later steps may ask for, and that Python workers are therefore sent."""


def parse(records: DataFrame, shape: Shape, topic: str = "") -> DataFrame:
    """Add the declared columns and REASON to the records of Spark's Kafka source.  In mode raw every record
    fits whose key need not name a folder.  `topic` is the one that all records are of, if there is only one.

    The name of a single topic is added afterwards.
    """
    functions = readers(shape)
    spared = topic if functions else ""
    records = sent(records, shape, spared)
    if functions:
        records = mapped(records, chained(functions), _parsed_schema(records.schema, shape))
    if spared:
        records = records.withColumn("topic", F.lit(topic))
    if shape.mode == "raw" and not shape.key_folder:
        records = records.withColumn(REASON, F.lit(None).cast("string"))
    return records


def sent(records: DataFrame, shape: Shape, topic: str = "") -> DataFrame:
    """Return the columns that rows, or the quarantine, are made of: each costs time on the way to a Python
    worker.  `topic`: that of all records, whose name is not sent then.
    """
    kinds = ["timestampType"] if "timestamp_type" in shape.coordinates else []
    names = [name for name in (*CARRIED, *kinds) if name in records.columns]
    return records.select(*(name for name in names if not (topic and name == "topic")))


def readers(shape: Shape) -> list[Callable[[Batches], Batches]]:
    """Return what Python workers do with the records, in order: in mode raw as a rule nothing."""
    view = [view_reader(shape.view, shape.view_columns)] if shape.view else []
    if shape.mode == "raw":
        return [*view, raw_reader(shape)] if shape.key_folder else view
    return [*view, row_reader(shape)]


def _parsed_schema(source: StructType, shape: Shape) -> StructType:
    schema = StructType(list(source.fields))
    if shape.mode == "raw":
        return schema.add(REASON, StringType()) if shape.key_folder else schema
    declared = StructType.fromJson(struct_json(shape.declared))
    for at, field in enumerate(declared.fields):
        schema.add(f"{FIELD}{at}", field.dataType)
    return schema.add(StructField(RESCUED, MapType(StringType(), StringType()))).add(REASON, StringType())


def chained(functions: Sequence[Callable[[Batches], Batches]]) -> Callable[[Batches], Batches]:
    """Return the functions as one: rows then go to a Python worker, and come back, once for all of them."""

    def run(batches: Batches) -> Batches:
        for function in functions:
            batches = function(batches)
        yield from batches

    return run


def mapped(records: DataFrame, function: Callable[[Batches], Batches], schema: StructType | str) -> DataFrame:
    """Return what `function` makes of Arrow's batches in Python workers."""
    with warnings.catch_warnings():
        # pyspark 4.2 warns about pandas 3, which it demands and our functions do not use.
        warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
        return records.mapInArrow(function, schema)


def is_bad() -> Column:
    """Return whether a parsed record does not fit."""
    return F.col(REASON).isNotNull()


def good_rows(parsed: DataFrame, shape: Shape) -> DataFrame:
    """Return the rows that land: `shape.landed`."""
    declared = [F.col(f"{FIELD}{at}").alias(column.name) for at, column in enumerate(shape.declared)]
    rescue = [F.col(RESCUED).alias(shape.rescue)] if shape.rescue else []
    return parsed.where(~is_bad()).select(
        *declared,
        *rescue,
        *(_coordinate(name, shape).alias(shape.prefix + name) for name in shape.coordinates),
    )


def bad_rows(parsed: DataFrame) -> DataFrame:
    """Return the bad records of what `parse` returned, as they came, each with its reason."""
    headers = ["headers"] if "headers" in parsed.columns else []
    return parsed.where(is_bad()).select(
        F.col(REASON).alias("reason"),
        *("key", "value", *headers, "topic", "partition", "offset", "timestamp"),
    )


def _coordinate(name: str, shape: Shape) -> Column:
    column = F.col(SOURCE_NAMES.get(name, name))
    return column.cast("string") if name == "key" and shape.key_as == "string" else column
