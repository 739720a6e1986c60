"""Records to rows: pure functions from DataFrame to DataFrame.

    records ──parse──▶ parsed ──good_rows──▶ rows to land
                          └─────bad_rows───▶ rows for the quarantine   (pipeline.quarantine)

`parse` adds the content of the value (PARSED) and whether it fits (BAD); both results carry the coordinates
of the record, and STAGED_TOPIC and STAGED_PARTITION, by which the sink names the files.

Spark's `from_json` stops at the end of the first JSON value: `{"a":1} junk` and `{"a":1}{"a":2}` would pass
as `{"a":1}`. So each value is read inside a frame, `{"v":[VALUE],"end":true}`: the value fits when the frame
ends as it should and holds exactly one object.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, BooleanType, DataType, StringType, StructField, StructType

from pipeline.shape import OURS, Shape

PARSED = f"{OURS}parsed"
RESCUED = f"{OURS}rescued"
BAD = f"{OURS}bad"
STAGED_TOPIC = f"{OURS}topic"
STAGED_PARTITION = f"{OURS}partition"

JSON_OPTIONS = {"columnNameOfCorruptRecord": "broken", "allowSingleQuotes": "false"}
"""`broken` marks a value that does not fit.  Single quotes are not JSON (RFC 8259); NaN and Infinity are not
either, but Python's and Java's encoders write them, so they stay allowed for double and float."""

SOURCE_NAMES = {"timestamp_type": "timestampType"}
"""Our names for the connector's columns, where they differ."""


def parse(records: DataFrame, shape: Shape) -> DataFrame:
    """Add PARSED and BAD to the records of Spark's Kafka source.  In mode raw every record fits."""
    if shape.mode == "raw":
        return records.withColumn(BAD, F.lit(False))
    framed = records.withColumn(PARSED, read_framed(F.col("value"), shape.declared))
    if shape.rescue:
        framed = framed.withColumn(RESCUED, _undeclared(shape))
    return framed.withColumn(BAD, ~F.coalesce(_fits(shape), F.lit(False)))


def good_rows(parsed: DataFrame, shape: Shape) -> DataFrame:
    """Return the rows to land: `shape.landed`, the derived partition columns and the staging columns."""
    row = F.get(F.col(f"{PARSED}.v"), F.lit(0))
    declared = [row.getField(field.name).alias(field.name) for field in shape.declared.fields]
    rescued = F.when(F.size(RESCUED) > 0, F.col(RESCUED))
    rescue = [rescued.alias(shape.rescue)] if shape.rescue else []
    derived = {"date": F.to_date("timestamp"), "hour": F.hour("timestamp")}
    return parsed.where(~F.col(BAD)).select(
        *declared,
        *rescue,
        *(_coordinate(name, shape).alias(shape.prefix + name) for name in shape.coordinates),
        *(derived[name].alias(name) for name in shape.derived),
        *staging_columns(),
    )


def staging_columns() -> list[Column]:
    """Return the columns by which the sink keeps the files of topic partitions apart."""
    return [F.col("topic").alias(STAGED_TOPIC), F.col("partition").alias(STAGED_PARTITION)]


def read_framed(value: Column, row: DataType) -> Column:
    """Read a binary `value` as `row` inside the frame described at the top of this module."""
    framed = F.concat(F.lit('{"v":['), value.cast("string"), F.lit('],"end":true}'))
    fields = {"v": ArrayType(row), "end": BooleanType(), "broken": StringType()}
    frame = StructType([StructField(name, kind) for name, kind in fields.items()])
    return F.from_json(framed, frame, JSON_OPTIONS)


def is_one_value(framed: Column) -> Column:
    """Return whether `read_framed` has returned one whole value of the type asked for (or null)."""
    whole = framed.getField("broken").isNull() & framed.getField("end")
    return whole & (F.size(framed.getField("v")) == 1) & F.get(framed.getField("v"), F.lit(0)).isNotNull()


def is_text(bytes_column: Column) -> Column:
    """Return whether bytes are UTF-8; a cast would replace what is not by U+FFFD."""
    return F.is_valid_utf8(bytes_column.cast("string"))


def _fits(shape: Shape) -> Column:
    fits = is_text(F.col("value")) & is_one_value(F.col(PARSED))
    if shape.key_as == "string":
        fits &= F.col("key").isNull() | is_text(F.col("key"))
    for name in shape.required:
        fits &= F.get(F.col(f"{PARSED}.v"), F.lit(0)).getField(name).isNotNull()
    return fits


def _coordinate(name: str, shape: Shape) -> Column:
    column = F.col(SOURCE_NAMES.get(name, name))
    return column.cast("string") if name == "key" and shape.key_as == "string" else column


def _undeclared(shape: Shape) -> Column:
    fields = F.from_json(F.col("value").cast("string"), "map<string,string>", JSON_OPTIONS)
    return F.map_filter(fields, lambda name, _: ~name.isin(shape.declared.names))
