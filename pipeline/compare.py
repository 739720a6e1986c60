"""The comparison of the rows of two sides, partition by partition, by counts and sums that no order changes.

Each side is a DataFrame of topic, partition, offset (the source's) and HASH, a 64-bit hash of a row. Only
where the sums differ are offsets looked at one by one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipeline.compacted import still_there
from pipeline.shape import OURS

HASH = f"{OURS}hash"
SHOWN_OFFSETS = 5
"""The number of offsets that a difference names."""

EXPLAINED_PARTITIONS = 20
"""The number of partitions whose differences are looked at offset by offset: each costs several queries."""

Place = tuple[str, int]
Bounds = list[tuple[Place, int, int, int]]
"""Per partition: the offsets deleted since they landed, the first to compare, and the end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One partition on one side: rows, offsets that have more than one, and sums of the rows' hashes."""

    rows: int = 0
    doubled: int = 0
    total: int = 0
    mixed: int = 0
    bad: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The comparison of one partition; offsets are those of the source that are compared."""

    topic: str
    partition: int
    begin: int
    until: int
    unseen: int
    """Landed offsets that the broker has deleted since."""
    empty: int
    """Offsets without a record: transaction markers, compacted or filtered records."""
    source: Side
    table: Side
    removed: int = 0
    """Rows of the table whose records compaction has removed since; they are not compared."""
    differences: tuple[str, ...] = ()

    @property
    def place(self) -> Place:
        """The partition."""
        return self.topic, self.partition

    @property
    def equal(self) -> bool:
        """Whether both sides hold the same rows, each once."""
        return not self.differences


def compared(
    bounds: Bounds,
    source: DataFrame,
    table: DataFrame,
    bad: Mapping[Place, int],
    *,
    compacted: Collection[str] = (),
) -> list[Finding]:
    """Compare both sides; `bad` is the number of records of each partition that did not fit.

    What is only in the table is no difference in `compacted` topics.
    """
    if any(unseen for _, unseen, _, _ in bounds):
        # Rows older than the broker's first offset have nothing to be compared with.
        table = _bounded(table, bounds)
    landed = _rows(table, compacted)
    table = still_there(table, source, compacted)
    ours, theirs = _sides(table), _sides(source)
    findings = [
        _finding(place, unseen, begin, until, theirs, ours, bad) for place, unseen, begin, until in bounds
    ]
    findings = [
        replace(found, removed=max(0, landed.get(found.place, 0) - found.table.rows)) for found in findings
    ]
    return list(_explained(findings, source, table))


def _rows(table: DataFrame, topics: Collection[str]) -> dict[Place, int]:
    """Return the rows of each partition of some topics."""
    if not topics:
        return {}
    counted = table.where(F.col("topic").isin(*topics)).groupBy("topic", "partition").count()
    return {(row.topic, row.partition): row["count"] for row in counted.collect()}


def _sides(hashed: DataFrame) -> dict[Place, Side]:
    counted = hashed.groupBy("topic", "partition").agg(
        F.count(F.lit(1)).alias("rows"),
        (F.count(F.lit(1)) - F.count_distinct("offset")).alias("doubled"),
        F.sum(F.col(HASH).cast("decimal(38,0)")).alias("total"),
        F.bit_xor(HASH).alias("mixed"),
    )
    return {
        (row.topic, row.partition): Side(
            rows=row.rows, doubled=row.doubled, total=int(row.total), mixed=row.mixed
        )
        for row in counted.collect()
    }


def _bounded(hashed: DataFrame, bounds: Bounds) -> DataFrame:
    """Return the rows that are compared, with one join for all partitions."""
    places = [(*place, begin, until) for place, _, begin, until in bounds]
    compared_places = hashed.sparkSession.createDataFrame(
        places, "topic string, partition int, first_compared long, end_compared long"
    )
    joined = hashed.join(F.broadcast(compared_places), ["topic", "partition"])
    inside = (F.col("offset") >= F.col("first_compared")) & (F.col("offset") < F.col("end_compared"))
    return joined.where(inside).drop("first_compared", "end_compared")


def _finding(
    place: Place,
    unseen: int,
    begin: int,
    until: int,
    theirs: Mapping[Place, Side],
    ours: Mapping[Place, Side],
    bad: Mapping[Place, int],
) -> Finding:
    before, landed = theirs.get(place, Side()), ours.get(place, Side())
    differences: tuple[str, ...] = ()
    if landed != before:
        differences = (f"{before.rows:,} rows in the source and {landed.rows:,} in the table differ",)
    return Finding(
        topic=place[0],
        partition=place[1],
        begin=begin,
        until=until,
        unseen=unseen,
        empty=until - begin - before.rows - bad.get(place, 0),
        source=replace(before, bad=bad.get(place, 0)),
        table=landed,
        differences=differences,
    )


def _explained(findings: list[Finding], source: DataFrame, table: DataFrame) -> Iterator[Finding]:
    """Yield the findings, the first of those that differ with the offsets at which they do."""
    left = EXPLAINED_PARTITIONS
    for found in findings:
        if found.equal or not left:
            yield found
            continue
        left -= 1
        place = (found.topic, found.partition)
        sides = [_within(side, place, found.begin, found.until) for side in (source, table)]
        yield replace(found, differences=tuple(_differences(*sides)) or found.differences)


def _within(hashed: DataFrame, place: Place, begin: int, until: int) -> DataFrame:
    topic, partition = place
    offset = F.col("offset")
    return hashed.where(
        (F.col("topic") == topic) & (F.col("partition") == partition) & (offset >= begin) & (offset < until)
    )


def _differences(source: DataFrame, table: DataFrame) -> Iterator[str]:
    """Yield a sentence for each kind of difference, with the first offsets that have it."""
    doubled = table.groupBy("offset").count().where(F.col("count") > 1)
    yield from _sentence("landed more than once", doubled)
    yield from _sentence("missing in the table", source.join(table, "offset", "left_anti"))
    yield from _sentence(
        "extra in the table: their records are no longer there", table.join(source, "offset", "left_anti")
    )
    other = source.alias("s").join(table.alias("t"), "offset").where(F.col(f"s.{HASH}") != F.col(f"t.{HASH}"))
    yield from _sentence("different in the table", other)


def _sentence(what: str, found: DataFrame) -> Iterator[str]:
    offsets = found.select("offset").distinct()
    count = offsets.count()
    if count:
        shown = [row.offset for row in offsets.orderBy("offset").take(SHOWN_OFFSETS)]
        more = ", …" if count > len(shown) else ""
        yield f"{count:,} offsets {what}: {', '.join(map(str, shown))}{more}"
