"""Bad records: the reason why each does not fit, and the rows that keep it beside the table.

A quarantine row: reason, key and value as they came (binary), headers, topic, partition, offset, timestamp.
Nothing of the record is lost, so it can be landed again once the job is fixed.

The reason costs one more reading of the value per declared column, which is why `rows.parse` only says that a
record is bad and this module, run for the bad ones alone, says why.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import MapType, StringType, StructField, StructType

from pipeline.ledger import DIGITS, sync_path, sync_tree
from pipeline.rows import BAD, is_one_value, is_text, read_framed, staging_columns
from pipeline.shape import Shape

SHOWN_CHARACTERS = 80
"""The part of a value that a reason repeats; the row has the whole of it."""


def bad_rows(parsed: DataFrame, shape: Shape) -> DataFrame:
    """Return the bad records of what `rows.parse` returned, each with its reason."""
    headers = ["headers"] if "headers" in parsed.columns else []
    return parsed.where(F.col(BAD)).select(
        reason(shape).alias("reason"),
        *("key", "value", *headers, "topic", "partition", "offset", "timestamp"),
        *staging_columns(),
    )


def reason(shape: Shape) -> Column:
    """Return one sentence that says why the value of a bad record does not fit the declared columns."""
    value = F.col("value")
    fields = read_framed(value, MapType(StringType(), StringType()))
    reasons = [
        F.when(value.isNull(), F.lit("the record has no value")),
        F.when(~is_text(value), F.lit("the value is not UTF-8")),
        F.when(~F.coalesce(is_one_value(fields), F.lit(False)), F.lit("the value is not one JSON object")),
        *(_misfit(field, value, F.get(fields.getField("v"), F.lit(0))) for field in shape.declared.fields),
    ]
    if shape.key_as == "string":
        reasons.append(F.when(~is_text(F.col("key")), F.lit("the key is not UTF-8")))
    return F.coalesce(*reasons, F.lit("the value does not fit the declared columns"))


def _misfit(field: StructField, value: Column, fields: Column) -> Column:
    found = F.try_element_at(fields, F.lit(field.name))
    alone = read_framed(value, StructType([field]))
    shown = F.substring(found, 1, SHOWN_CHARACTERS)
    kind = field.dataType.simpleString()
    wrong = F.concat(F.lit(f"column '{field.name}' is {kind}, but the value is "), shown)
    misfit = F.when(found.isNotNull() & ~F.coalesce(is_one_value(alone), F.lit(False)), wrong)
    if field.nullable:
        return misfit
    absent = F.lit(f"column '{field.name}' is declared not null and has no value")
    return F.coalesce(misfit, F.when(found.isNull(), absent))


def publish_quarantine(staged: Path, quarantine: Path, *, job: str, batch: int) -> None:
    """Put the bad rows of a batch into the quarantine table, in place of those of an earlier attempt.

    A batch without bad rows (no folder `staged`) only removes those. The job is a folder level, so that
    several jobs may share one quarantine.
    """
    target = quarantine / f"job={job}" / f"batch={batch:0{DIGITS}d}"
    if target.exists():
        shutil.rmtree(target)
    if not staged.exists():
        return
    sync_tree(staged)
    target.parent.mkdir(parents=True, exist_ok=True)
    os.rename(staged, target)
    sync_path(target.parent)
