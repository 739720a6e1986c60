"""The Parquet files of one batch: written by Spark, then named after their offsets.

Spark names its files at random and by task. `stage` keeps those of one topic partition in a folder of their
own, whatever the number of tasks, and `arrange` gives them the name

    land-TOPIC-PARTITION-FROM-UNTIL[-SERIAL].parquet      offsets FROM up to, not including, UNTIL

under the folders that `partition_by` asks for, which Spark has made. The same batch gives the same names.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import crc32c
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipeline.errors import LedgerError
from pipeline.ledger import File
from pipeline.places import uri
from pipeline.positions import Range
from pipeline.rows import STAGED_PARTITION, STAGED_TOPIC
from pipeline.shape import OURS

NAME_CHARACTERS = 160
"""Longest topic kept whole in a file name: with offsets and serial it stays under 255, the limit of ext4."""

READ_BYTES = 1 << 20

COPY = f"{OURS}copy_"
"""Spark leaves the columns of folders out of files: where they must stay, copies of them name the folders."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The layout of a batch's files; see the keys of table [sink]."""

    partition_by: tuple[str, ...] = ()
    keeps_columns: bool = False
    """Whether partition columns are in the files as well: Iceberg reads them there."""
    compression: str = "zstd"
    max_rows_per_file: int = 0


def stage(rows: DataFrame, folder: Path, layout: Layout) -> dict[Path, int]:
    """Write `rows` (with the staging columns) below `folder`; return the files with their rows.

    The rows are counted from the footers of the files written, not from what was to be written.
    """
    folders = list(layout.partition_by)
    if layout.keeps_columns:
        folders = [f"{COPY}{name}" for name in layout.partition_by]
        rows = rows.select("*", *(F.col(name).alias(f"{COPY}{name}") for name in layout.partition_by))
    writer = rows.write.mode("overwrite").partitionBy(STAGED_TOPIC, STAGED_PARTITION, *folders)
    writer = writer.option("compression", layout.compression)
    if layout.max_rows_per_file:
        writer = writer.option("maxRecordsPerFile", layout.max_rows_per_file)
    writer.parquet(uri(folder))
    return written_files(folder)


def written_files(folder: Path) -> dict[Path, int]:
    """Return the Parquet files below `folder` with their rows, as their footers count them."""
    import pyarrow.parquet as pq

    return {path: pq.read_metadata(path).num_rows for path in folder.rglob("*.parquet")}


def arrange(staged: dict[Path, int], folder: Path, batch_folder: Path, ranges: list[Range]) -> list[File]:
    """Move the files that `stage` wrote below `folder` to their names below `batch_folder`.

    Raises: LedgerError when a file holds rows of a partition that is not in `ranges`.
    """
    by_partition = {(held.topic, held.partition): held for held in ranges}
    serials: Counter[Path] = Counter()
    files = []
    # Spark numbers files by task and, within a task, in the order written: the serial follows the offsets.
    for path in sorted(staged):
        topic, partition, *folders = path.parent.relative_to(folder).parts
        key = (topic.partition("=")[2], int(partition.partition("=")[2]))
        if key not in by_partition:
            raise LedgerError(f"rows of {key[0]}-{key[1]} came in a batch that has none of its offsets")
        stem = Path(*(level.removeprefix(COPY) for level in folders)) / file_stem(by_partition[key])
        serial = serials[stem]
        serials[stem] += 1
        name = f"{stem}-{serial}.parquet" if serial else f"{stem}.parquet"
        (batch_folder / name).parent.mkdir(parents=True, exist_ok=True)
        os.rename(path, batch_folder / name)
        files.append(described(batch_folder, name, staged[path]))
    return files


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
