"""`kawal pipe compact`: the small files of many batches become few large ones, and no reader sees half of it.

    batches ─▶ groups of neighbours, up to the size asked for ─▶ each written anew as one batch ─▶ all at once

Plain Parquet: a second table is made beside the first, in which all other files are hard links, and the two
exchange their places by one call of the system. A reader that has listed the old files meanwhile may miss
them and fail, but never reads rows twice or not at all. Delta: one commit of the log adds the new files and
removes the old ones.

Rows are ordered by topic, partition and offset. A compacted batch has the number of its last one, and its
entry names those it consists of, so that Spark may still repeat any of them.
"""

from __future__ import annotations

import os
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import msgspec

from pipeline.bucket_config import in_bucket
from pipeline.config import Job
from pipeline.errors import DONE, JobFileError, LedgerError
from pipeline.exchange import exchange
from pipeline.jars import find_jars
from pipeline.ledger import ENTRY, SCHEMA, Entry, File, Ledger, Totals, entry_text, landed_batches, sync_tree
from pipeline.lock import job_lock
from pipeline.places import Places, places_of, uri
from pipeline.positions import Range
from pipeline.probe import Probe, no_probe
from pipeline.quarantine import claim
from pipeline.report import size
from pipeline.session import require_pyspark, spark_session
from pipeline.shape import shape_of
from pipeline.sinks.tables import ledger_of
from pipeline.table_note import TableNote, note_of
from pipeline.table_rows import read_files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

REMEMBERED_BATCHES = 100
"""Spark keeps this many batches in its checkpoint, and can repeat none that is older."""


@dataclass(frozen=True, slots=True)
class Group:
    """Neighbouring batches that become one."""

    entries: tuple[Entry, ...]

    @property
    def files(self) -> int:
        """The files that the batches have now."""
        return sum(len(entry.files) for entry in self.entries)


def compact_job(job: Job, target_bytes: int, out: TextIO, *, probe: Probe = no_probe) -> int:
    """Merge small batches of the table of `job` into batches of up to `target_bytes`.

    Raises: PipelineError; the table is then as it was.
    """
    if job.writes_topics:
        raise JobFileError(f"job.kind is {job.job.kind!r}: there is no table to compact")
    if job.sink.kind == "iceberg":
        raise JobFileError(
            "compact is for tables of Parquet and Delta; an Iceberg table is compacted by its engine, as "
            "with "
            "rewrite_data_files of Spark"
        )
    if in_bucket(job.sink.path) and job.sink.kind == "parquet":
        raise JobFileError(
            f"{job.sink.path} has no log, and a bucket has no rename by which a compacted table could take "
            "its place at once; land in a Delta table there (sink.kind = 'delta'), which can be compacted"
        )
    require_pyspark()
    jars = find_jars(os.environ)
    places = places_of(job)
    places.prepare()
    with job_lock(places.lock, job.name):
        shutil.rmtree(places.leftovers, ignore_errors=True)
        ledger = ledger_of(job)
        groups = groups_of(ledger, target_bytes)
        if not groups:
            print(f"{job.name}: no two neighbouring batches are below {size(target_bytes)}", file=out)
            return DONE
        with spark_session(job.name, job.spark, jars, log_path=places.log) as spark:
            probe("planned", 0)
            made = [_write(spark, job, ledger, group, places, at) for at, group in enumerate(groups)]
        probe("written", 0)
        _publish(ledger, places, groups, made, probe)
        probe("landed", 0)
        shutil.rmtree(places.staging, ignore_errors=True)
    before, after = sum(group.files for group in groups), sum(len(entry.files) for entry in made)
    batches = sum(len(group.entries) for group in groups)
    print(
        f"{job.name}: {before:,} files of {batches:,} batches are now {after:,}, "
        f"{size(sum(entry.landed.size_bytes for entry in made))}",
        file=out,
    )
    return DONE


def groups_of(ledger: Ledger, target_bytes: int) -> list[Group]:
    """Return the groups of neighbouring batches of two files or more that fit into `target_bytes`.

    A reset of a topic is a boundary: rows of two generations stay in batches of their own, and in a table
    with a log those of the older one stay as they are.
    """
    groups: list[list[Entry]] = [[]]
    total = 0
    for batch in _live_batches(ledger):
        entry = ledger.read(batch)
        if entry.kind == "reset" and ledger.log is not None:
            groups = []  # what is merged gets a new number, as if it were of the new topic
        if not groups or (
            groups[-1] and (entry.kind == "reset" or total + entry.landed.size_bytes > target_bytes)
        ):
            groups.append([])
            total = 0
        if entry.kind != "reset":
            groups[-1].append(entry)
            total += entry.landed.size_bytes
    found = [Group(tuple(entries)) for entries in groups if len(entries) > 1]
    return [group for group in found if group.files > 1]


def _live_batches(ledger: Ledger) -> list[int]:
    """Return the batches whose files belong to the table: in Delta, those that no compaction has replaced."""
    batches = ledger.batches()
    replaced = {
        landed.batch
        for batch in batches
        if (entry := ledger.read(batch)).kind == "compacted"
        for landed in entry.merged
        if landed.batch != batch
    }
    return [batch for batch in batches if batch not in replaced]


def _write(spark: SparkSession, job: Job, ledger: Ledger, group: Group, places: Places, at: int) -> Entry:
    """Write the rows of a group into staging and return the entry of the batch that they become."""
    note = (ledger.last and ledger.last.table) or note_of(job, shape_of(job))
    files = [
        f"{ledger.folder_name(entry.batch)}/{file.path}" for entry in group.entries for file in entry.files
    ]
    frame = read_files(spark, job, note, files)
    target = places.staging / f"group-{at}"
    made = _stage(frame, job, note, places.staging / f"written-{at}", target, group)
    rows = sum(file.rows for file in made)
    expected = sum(entry.landed.rows for entry in group.entries)
    if rows != expected:
        raise LedgerError(
            f"batches {group.entries[0].batch} to {group.entries[-1].batch} have {expected:,} rows, but "
            f"{rows:,} were "
            "written; the table is left as it was. 'kawal pipe audit' tells whether files were lost"
        )
    return merged_entry(ledger, group, made)


def _stage(
    frame: DataFrame, job: Job, note: TableNote, written: Path, target: Path, group: Group
) -> list[File]:
    from pipeline.sinks.parquet import described, written_files

    prefix = job.schema.coordinates_prefix
    order = [f"{prefix}{name}" for name in ("topic", "partition", "offset")]
    writer = frame.coalesce(1).sortWithinPartitions(*note.partition_by, *order).write.mode("overwrite")
    writer = writer.partitionBy(*note.partition_by).option("compression", job.sink.compression)
    writer.parquet(uri(written))
    first, last = group.entries[0].batch, group.entries[-1].batch
    files: list[File] = []
    for path, rows in sorted(written_files(written).items()):
        folders = path.parent.relative_to(written)
        serial = sum(Path(file.path).parent == folders for file in files)
        name = f"{folders / f'compact-{first:010d}-{last:010d}'}{f'-{serial}' if serial else ''}.parquet"
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        os.rename(path, target / name)
        files.append(described(target, name, rows))
    return files


def merged_entry(ledger: Ledger, group: Group, files: list[File]) -> Entry:
    """Return the entry of the batch that a group becomes; in a table with a log it is a new, last one."""
    last = group.entries[-1]
    merged = [landed for entry in group.entries for landed in landed_batches(entry)]
    landed = Totals()
    for entry in group.entries:
        landed = landed.plus(entry.landed)
    landed = msgspec.structs.replace(
        landed, files=len(files), size_bytes=sum(file.size_bytes for file in files)
    )
    return msgspec.structs.replace(
        last,
        format=2,
        kind="compacted",
        ranges=_joined([held for entry in group.entries for held in entry.ranges]),
        files=files,
        landed=landed,
        landed_at_ms=time.time_ns() // 1_000_000 if ledger.log else last.landed_at_ms,
        merged=merged[-REMEMBERED_BATCHES:],
    )


def _joined(ranges: list[Range]) -> list[Range]:
    """Return one range per partition, from its first offset to its last."""
    joined: dict[tuple[str, int], Range] = {}
    for held in ranges:
        known = joined.get((held.topic, held.partition))
        joined[held.topic, held.partition] = (
            msgspec.structs.replace(known, until=held.until) if known else held
        )
    return sorted(joined.values(), key=lambda held: (held.topic, held.partition))


def _publish(ledger: Ledger, places: Places, groups: list[Group], made: list[Entry], probe: Probe) -> None:
    if ledger.log is None:
        _exchange(ledger, places, groups, made, probe)
        return
    claim(ledger, places.quarantine)
    ledger.on_placed = lambda: probe("placed", 0)
    for at, (group, entry) in enumerate(zip(groups, made, strict=True)):
        assert ledger.last is not None
        newest = ledger.last
        replaced = {ledger.folder_name(old.batch): old for old in group.entries}
        state = {
            name: getattr(newest, name) for name in ("total", "positions", "topics", "table", "newest_ms")
        }
        probe("staged", 0)
        counted = msgspec.structs.replace(entry, batch=ledger.next_batch, **state)
        ledger.publish(places.staging / f"group-{at}", counted, replaced)


def _exchange(ledger: Ledger, places: Places, groups: list[Group], made: list[Entry], probe: Probe) -> None:
    """Make the table with its compacted batches beside it, and let the two exchange their places."""
    other = places.staging / "table"
    other.mkdir(parents=True)
    gone = {entry.batch for group in groups for entry in group.entries}
    for batch in ledger.batches():
        if batch not in gone:
            _link(ledger.batch_folder(batch), other)
    if (ledger.folder / SCHEMA).is_file():
        os.link(ledger.folder / SCHEMA, other / SCHEMA)
    for at, entry in enumerate(made):
        staged = places.staging / f"group-{at}"
        staged.mkdir(exist_ok=True)
        (staged / ENTRY).write_bytes(entry_text(entry))
        os.rename(staged, other / ledger.batch_folder(entry.batch).name)
    sync_tree(other)
    probe("staged", 0)
    exchange(ledger.folder, other)
    probe("placed", 0)


def _link(folder: Path, into: Path) -> None:
    shutil.copytree(folder, into / folder.name, copy_function=os.link)
