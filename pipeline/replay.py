"""`kawal pipe replay`: the records in the quarantine are read again by the job file as it is now.

Those that fit become a batch of the table; the others stay in the quarantine, as bad records of that batch,
with their new reasons. Exactly once, as landing is: the new quarantine is put in place first, then the batch
appears together with its entry, which names the quarantined batches that it replaces, and then those are
removed. After a crash the next replay, knowing the entry, finishes the removal or begins anew.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

import msgspec
from pyspark.sql import functions as F

from pipeline.config import Job
from pipeline.errors import DONE, LedgerError
from pipeline.ledger import Entry, File, Ledger, Totals
from pipeline.places import Places, uri
from pipeline.positions import Range
from pipeline.probe import Probe, no_probe
from pipeline.quarantine import claim, publish_quarantine, quarantine_folder
from pipeline.shape import Shape, shape_of
from pipeline.sinks.file_writer import FilesPlan
from pipeline.sinks.parquet import arrange, stage
from pipeline.sinks.task_files import Layout
from pipeline.table_files import write_schema
from pipeline.table_note import TableNote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class Replayed:
    """The outcome: rows that landed, and records that are still bad."""

    landed: int
    bad: int


def replay(
    spark: SparkSession,
    job: Job,
    ledger: Ledger,
    places: Places,
    note: TableNote,
    *,
    probe: Probe = no_probe,
) -> Replayed:
    """Land what fits of the quarantine of `job`, whose lock is held.

    Raises: LedgerError when there is nothing to replay, or the table has never been landed in.
    """
    if ledger.last is None:
        raise LedgerError(f"nothing has landed in {ledger.shown}; run the job first")
    if not quarantined(places, job.name):
        return Replayed(0, 0)
    claim(ledger, places.quarantine)
    finish_removals(ledger, places, job.name)
    batches = quarantined(places, job.name)
    if not batches:
        return Replayed(0, 0)
    probe("planned", 0)
    shape = shape_of(job)
    records = _records(spark, places, job.name, batches)
    ranges = _ranges(records)
    files, bad = _stage(records, job, shape, places, ranges)
    good = sum(file.rows for file in files)
    count = records.count()
    if good + bad != count:
        raise LedgerError(
            f"the quarantine has {count:,} records, but {good:,} fit and {bad:,} do not; run it again"
        )
    if good == 0:
        return Replayed(0, bad)
    entry = _entry(ledger, note, files, good, batches)
    probe("staged", 0)
    publish_quarantine(places.staging / "bad", places.quarantine, job=job.name, batch=entry.batch)
    probe("quarantined", 0)
    if ledger.log is None:
        write_schema(
            ledger, places.staging / "schema", [places.staging / "batch" / file.path for file in files]
        )
    ledger.on_placed = lambda: probe("placed", 0)
    ledger.publish(places.staging / "batch", entry)
    probe("landed", 0)
    shutil.rmtree(places.staging, ignore_errors=True)
    finish_removals(ledger, places, job.name)
    return Replayed(good, bad)


def print_replay(job: Job, done: Replayed, out: TextIO) -> int:
    """Say what a replay has done."""
    where = f", in {job.errors.path}" if done.bad else ""
    print(
        f"{job.name}: {done.landed:,} records landed from the quarantine, {done.bad:,} are still bad{where}",
        file=out,
    )
    return DONE


def quarantined(places: Places, job: str) -> list[int]:
    """Return the batches that have a quarantine, in order."""
    names = [path.name.removeprefix("batch=") for path in (places.quarantine / f"job={job}").glob("batch=*")]
    return sorted(int(name) for name in names if name.isdigit())


def finish_removals(ledger: Ledger, places: Places, job: str) -> None:
    """Remove the quarantines that replayed batches have replaced, and one of a batch that never landed."""
    replaced: set[int] = set()
    for batch in ledger.batches():
        replaced |= set(ledger.read(batch).replayed)
    for batch in quarantined(places, job):
        if batch in replaced or batch >= ledger.next_batch:
            shutil.rmtree(quarantine_folder(places.quarantine, job=job, batch=batch))


def _records(spark: SparkSession, places: Places, job: str, batches: Iterable[int]) -> DataFrame:
    """Return the records of quarantines as Spark's Kafka source gives them."""
    folders = [uri(quarantine_folder(places.quarantine, job=job, batch=batch)) for batch in batches]
    found = spark.read.option("mergeSchema", "true").option("recursiveFileLookup", "true").parquet(*folders)
    headers = ["headers"] if "headers" in found.columns else []
    columns = ["key", "value", "topic", "partition", "offset", "timestamp", *headers]
    return found.select(*columns).withColumn("timestampType", F.lit(0))


def _ranges(records: DataFrame) -> list[Range]:
    """Return per partition the range that spans its records: by it the files are named."""
    spans = records.groupBy("topic", "partition").agg(
        F.min("offset").alias("first"), F.max("offset").alias("last")
    )
    return [
        Range(topic=row.topic, partition=row.partition, begin=row["first"], until=row["last"] + 1)
        for row in spans.collect()
    ]


def _stage(
    records: DataFrame, job: Job, shape: Shape, places: Places, ranges: list[Range]
) -> tuple[list[File], int]:
    """Make the batch and what stays in quarantine; return the files and the count of bad records."""
    shutil.rmtree(places.staging, ignore_errors=True)
    batch_folder = places.staging / "batch"
    batch_folder.mkdir(parents=True)
    layout = Layout(
        partition_by=shape.partition_by,
        compression=job.sink.compression,
        max_rows_per_file=job.sink.max_rows_per_file,
        keeps_columns=job.sink.kind == "iceberg",
    )
    plan = FilesPlan(shape=shape, folder=str(places.staging / "written"), layout=layout)
    staged = stage(records, plan)
    if staged.bad:
        arrange(staged.bad, places.staging / "bad", ranges)
    return arrange(staged.good, batch_folder, ranges), sum(made.rows for made in staged.bad)


def _entry(ledger: Ledger, note: TableNote, files: list[File], good: int, batches: list[int]) -> Entry:
    assert ledger.last is not None
    landed = Totals(
        batches=1, rows=good, bad=-good, files=len(files), size_bytes=sum(file.size_bytes for file in files)
    )
    return msgspec.structs.replace(
        ledger.last,
        format=2,
        kind="replayed",
        batch=ledger.next_batch,
        ranges=[],
        files=files,
        landed=landed,
        total=ledger.total.plus(landed),
        landed_at_ms=time.time_ns() // 1_000_000,
        table=note,
        reset=None,
        merged=[],
        replayed=batches,
    )
