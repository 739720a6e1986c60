"""`kawal pipe audit`: is what landed what the topics hold?  It reads both and changes nothing.

For each topic partition, from where its table begins to where it ends:

    offsets = rows that landed + bad records + offsets without a record

Source and table are compared by counts and by two sums that no order changes: the sum and the exclusive or
of a 64-bit hash of each row, its offset included. The source's rows are made by the very code that lands.
Only where they differ are offsets looked at one by one, to tell what is missing, extra, doubled or changed.

What the broker has deleted since cannot be compared and is told apart from loss: rows of offsets before the
earliest are left out, and so are rows of a compacted topic whose record has vanished in between; elsewhere
those are `extra`.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import MapType

from pipeline import rows
from pipeline.compacted import compacted_topics
from pipeline.compare import HASH, Bounds, Finding, Place, compared
from pipeline.config import Job
from pipeline.errors import LedgerError
from pipeline.ledger import Ledger
from pipeline.positions import Positions, offset_of
from pipeline.shape import BATCH, Shape, shape_of
from pipeline.sources.kafka import read_range
from pipeline.table_note import note_of
from pipeline.table_rows import files_of, read_files


def audit(spark: SparkSession, job: Job, ledger: Ledger, earliest: Positions) -> list[Finding]:
    """Compare the table of `job` with its topics, of which the broker has the offsets from `earliest` on.

    Raises: LedgerError when nothing has landed.
    """
    if ledger.last is None:
        raise LedgerError(f"nothing has landed in {ledger.shown}; there is nothing to compare")
    if not ledger.is_settled():
        raise LedgerError(
            f"{ledger.shown} has landed batch {ledger.last.batch}, which is not in the table's log yet, as "
            "its run was killed in between; run the job again, which makes it good, and then compare"
        )
    shape, bounds = shape_of(job), _bounds(ledger, job, earliest)
    parsed = rows.parse(read_range(spark, job, _positions(bounds, 1), _positions(bounds, 2)), shape)
    source = _hashed(rows.good_rows(parsed, shape), shape)
    first = _first_batches(ledger)
    table = _hashed(_landed(spark, job, ledger, first), shape)
    bad = {(row.topic, row.partition): row["count"] for row in _bad(parsed).collect()}
    compacted = compacted_topics(job.source.bootstrap, job.source.security, job.source.topics)
    return compared(bounds, source, table, bad, compacted=compacted)


def _bounds(ledger: Ledger, job: Job, earliest: Positions) -> Bounds:
    """Return per partition: the offsets deleted since they landed, the first to compare, and the end."""
    begins = _begins(ledger)
    found = []
    for topic, partitions in sorted(ledger.positions.items()):
        if topic not in job.source.topics:
            continue
        for partition, until in sorted(partitions.items(), key=lambda held: int(held[0])):
            begin = begins.get((topic, int(partition)), until)
            first = min(until, max(begin, offset_of(earliest, topic, partition) or 0))
            found.append(((topic, int(partition)), first - begin, first, until))
    return found


def _begins(ledger: Ledger) -> dict[Place, int]:
    begins: dict[Place, int] = {}
    for batch in ledger.batches():
        entry = ledger.read(batch)
        if entry.reset is not None:
            begins = {place: begin for place, begin in begins.items() if place[0] != entry.reset.topic}
        for held in entry.ranges:
            begins.setdefault((held.topic, held.partition), held.begin)
    return begins


def _first_batches(ledger: Ledger) -> dict[str, int]:
    """Return the first batch of the present generation of each topic that was made again."""
    resets = [entry for batch in ledger.batches() if (entry := ledger.read(batch)).reset is not None]
    return {entry.reset.topic: entry.batch for entry in resets if entry.reset is not None}


def _positions(bounds: Bounds, at: int) -> Positions:
    positions: Positions = {}
    for (topic, partition), *offsets in bounds:
        positions.setdefault(topic, {})[str(partition)] = offsets[at]
    return positions


def _landed(spark: SparkSession, job: Job, ledger: Ledger, first: dict[str, int]) -> DataFrame:
    """Return the rows of the table, without those of topics that were made again since."""
    note = (ledger.last and ledger.last.table) or note_of(job, shape_of(job))
    prefix = job.schema.coordinates_prefix
    landed = read_files(spark, job, note, files_of(ledger), with_batch=bool(first))
    for topic, after in first.items():
        landed = landed.where((F.col(f"{prefix}topic") != topic) | (F.col(BATCH) > after))
    return landed


def _hashed(frame: DataFrame, shape: Shape) -> DataFrame:
    """Return topic, partition, offset and a hash of each row."""
    place = [F.col(f"{shape.prefix}{name}").alias(name) for name in ("topic", "partition", "offset")]
    hashed = F.xxhash64(*(_hashable(frame, name) for name in shape.landed))
    return frame.select(*place, hashed.alias(HASH))


def _hashable(frame: DataFrame, name: str) -> Column:
    column = F.col(f"`{name}`")
    if isinstance(frame.schema[name].dataType, MapType):
        return F.sort_array(F.map_entries(column))
    return column


def _bad(parsed: DataFrame) -> DataFrame:
    return parsed.where(rows.is_bad()).groupBy("topic", "partition").count()
