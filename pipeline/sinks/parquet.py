"""The Parquet files of one batch: written by Spark's workers, then named after their offsets.

The names that workers give (`file_writer`) are those of attempts. `arrange` gives the files the name

    land-TOPIC-PARTITION-FROM-UNTIL[-SERIAL].parquet      offsets FROM up to, not including, UNTIL

under the folders that `partition_by` asks for. The same batch gives the same names.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import crc32c
from pyspark.sql import DataFrame

from pipeline.errors import LedgerError
from pipeline.ledger import File
from pipeline.positions import Range
from pipeline.rows import mapped, sent
from pipeline.sinks.file_writer import RESULT, FilesPlan, files_writer

NAME_CHARACTERS = 160
"""Longest topic kept whole in a file name: with offsets and serial it stays under 255, the limit of ext4."""

READ_BYTES = 1 << 20


class Written(NamedTuple):
    """A file as a task has left it."""

    path: Path
    topic: str
    partition: int
    folders: str
    first: int
    """The first offset that the task has put into files of these folders."""
    serial: int
    rows: int
    """As the file's footer counts them, not as they were to be written."""


class Staged(NamedTuple):
    """The files and the counts of all tasks of a batch."""

    good: list[Written]
    bad: list[Written]
    records: int
    payload_bytes: int
    newest_ms: int
    late: int
    kept: int
    """The records that the view keeps; without a view, all."""
    unfit: int


def stage(records: DataFrame, plan: FilesPlan) -> Staged:
    """Write the rows of the records below `plan.folder`, and those that do not fit."""
    made = mapped(sent(records, plan.shape, plan.topic), files_writer(plan), RESULT).collect()
    files = [row for row in made if row.path is not None]
    counts = [row for row in made if row.path is None]
    return Staged(
        good=[_written(row) for row in files if not row.bad],
        bad=[_written(row) for row in files if row.bad],
        records=sum(row.records for row in counts),
        payload_bytes=sum(row.payload_bytes for row in counts),
        newest_ms=max((row.newest_ms for row in counts), default=0),
        late=sum(row.late for row in counts),
        kept=sum(row.kept for row in counts),
        unfit=sum(row.unfit for row in counts),
    )


def _written(row: Any) -> Written:
    path = Path(row.path)
    return Written(path, row.topic, row.partition, row.folders, row.first, row.serial, rows_of(path))


def rows_of(path: Path) -> int:
    """Return the rows of a Parquet file, as its footer counts them."""
    import pyarrow.parquet as pq

    return int(pq.read_metadata(path).num_rows)


def written_files(folder: Path) -> dict[Path, int]:
    """Return the Parquet files below `folder` with their rows, as their footers count them."""
    return {path: rows_of(path) for path in folder.rglob("*.parquet")}


def arrange(staged: Iterable[Written], batch_folder: Path, ranges: Sequence[Range]) -> list[File]:
    """Move the files that `stage` wrote to their names below `batch_folder`.

    Raises: LedgerError when a file holds rows of a partition that is not in `ranges`.
    """
    by_partition = {(held.topic, held.partition): held for held in ranges}
    serials: Counter[Path] = Counter()
    files = []
    # The serial follows the offsets, also where several tasks have read parts of a partition.
    for made in sorted(staged, key=_order):
        held = by_partition.get((made.topic, made.partition))
        if held is None:
            raise LedgerError(
                f"rows of {made.topic}-{made.partition} came in a batch that has none of its offsets"
            )
        stem = Path(made.folders) / file_stem(held)
        serial = serials[stem]
        serials[stem] += 1
        name = f"{stem}-{serial}.parquet" if serial else f"{stem}.parquet"
        (batch_folder / name).parent.mkdir(parents=True, exist_ok=True)
        os.rename(made.path, batch_folder / name)
        files.append(described(batch_folder, name, made.rows))
    return files


def _order(made: Written) -> tuple[str, int, str, int, int]:
    return made.topic, made.partition, made.folders, made.first, made.serial


def file_stem(held: Range) -> str:
    """Return the name of the file that holds one range, without serial and extension."""
    topic = held.topic
    if len(topic) > NAME_CHARACTERS:
        digest = hashlib.sha256(topic.encode()).hexdigest()[:8]
        topic = f"{topic[: NAME_CHARACTERS - 9]}~{digest}"
    return f"land-{topic}-{held.partition}-{held.begin:020d}-{held.until:020d}"


def described(batch_folder: Path, name: str, rows: int) -> File:
    """Return the ledger's note of the file `name` below `batch_folder`."""
    crc, size_bytes = 0, 0
    with (batch_folder / name).open("rb") as file:
        while piece := file.read(READ_BYTES):
            crc = crc32c.crc32c(piece, crc)
            size_bytes += len(piece)
    return File(path=name, rows=rows, size_bytes=size_bytes, crc32c=crc)
