"""The rows of a landed table as Spark reads them: the files of its ledger or log, with the ledger's columns.

Reading by name and not by folder has no surprises: batches of another checkpoint, files of killed runs and
what other tools put there do not count.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.columns import Column, parse_stored, struct_json
from pipeline.ledger import Ledger
from pipeline.places import uri
from pipeline.shape import DERIVED_TYPES
from pipeline.table_note import TableNote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def files_of(ledger: Ledger, batches: Sequence[int] | None = None) -> list[Path]:
    """Return the files of the table, or of some batches of a table that has no log of its own."""
    if ledger.log is not None and batches is None:
        return ledger.log.files()
    return [
        ledger.batch_folder(batch) / file.path
        for batch in (ledger.batches() if batches is None else batches)
        for file in ledger.read(batch).files
    ]


def read_files(spark: SparkSession, ledger: Ledger, note: TableNote, files: Sequence[Path]) -> DataFrame:
    """Return the rows of `files`, with every column of the table, those of folders included."""
    from pyspark.sql.types import StructType

    derived = {name: DERIVED_TYPES[name] for name in note.partition_by if name not in note.columns}
    columns = tuple(Column(name, parse_stored(kind)) for name, kind in {**note.columns, **derived}.items())
    schema = StructType.fromJson(struct_json(columns))
    if not files:
        return spark.createDataFrame([], schema)
    reader = spark.read.schema(schema).option("basePath", uri(ledger.folder))
    return reader.parquet(*(_literal(path) for path in files)).select(*schema.names)


def _literal(path: Path) -> str:
    """Return a path that Hadoop takes as it is: it would read brackets and stars as a pattern."""
    text = str(path)
    for character in "\\{}[]*?":
        text = text.replace(character, f"\\{character}")
    return text
