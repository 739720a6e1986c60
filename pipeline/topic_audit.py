"""`kawal pipe audit` of a job that writes to topics: is the copy what the source holds, in its order?

    source ─ view? ─ without what came home ────────────▶ offset, hash of key, value, headers, timestamp
    target ─ offsets of the target to the source's, by the offset map ─▶ the same

Records of the target that are in no run of the map are other producers' and are left out. Order is compared
as well: the map's runs go up on both sides, so a record in another place has another offset.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

import msgspec
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from pipeline import rows
from pipeline.compacted import HAS_VALUE, KEY, PLACE, compacted_topics, must_be_there
from pipeline.compare import HASH, Bounds, Finding, Place, compared
from pipeline.config import Job
from pipeline.copy_state import CopyState
from pipeline.errors import TargetError
from pipeline.offset_map import MapRecord, Origin, PartitionMap, foreign_pieces, maps_of
from pipeline.positions import Positions, offset_of
from pipeline.shape import shape_of
from pipeline.sources.kafka import read_range, source_options

if TYPE_CHECKING:
    import pyarrow

Batches = Iterator["pyarrow.RecordBatch"]
PLACED = f"topic string, partition int, offset long, hash long, {KEY} long, {HAS_VALUE} boolean"


def audit_topics(spark: SparkSession, job: Job, copy: CopyState, earliest: Positions) -> list[Finding]:
    """Compare the target topics of `job` with its source, which has the offsets from `earliest` on.

    Raises: TargetError when nothing was copied.
    """
    maps = maps_of(copy.copied)
    if not maps:
        raise TargetError(f"{job.name} has copied nothing yet; there is nothing to compare")
    bounds = [_bound(job, place, held, earliest, copy.earliest) for place, held in sorted(maps.items())]
    left_out = {place: _home_pieces(copy.came, place, copy.home) for place in maps}
    read = read_range(spark, job, _positions(bounds, 1), _positions(bounds, 2))
    source = rows.mapped(_hashed(rows.parse(read, shape_of(job))), _staying(left_out), PLACED)
    target = rows.mapped(_hashed(_target(spark, job, maps)), _translated(job, maps, bounds), PLACED)
    ours = compacted_topics(job.source.bootstrap, job.source.security, job.source.topics)
    names = {job.target_topic(topic): topic for topic in job.source.topics}
    theirs = compacted_topics(job.target_bootstrap, job.target_security, names)
    source = must_be_there(source, target, {names[name] for name in theirs})
    return compared(bounds, _compared(source), _compared(target), {}, compacted=ours)


def _bound(
    job: Job, place: Place, held: PartitionMap, earliest: Positions, target_earliest: Positions
) -> tuple[Place, int, int, int]:
    """Return what can be compared: what neither side has deleted since."""
    topic, partition = place
    first = max(held.begin, offset_of(earliest, topic, str(partition)) or 0)
    kept = offset_of(target_earliest, job.target_topic(topic), str(partition)) or 0
    for run in held.runs:
        if run.target + run.length > kept:
            if run.target < kept:
                first = max(first, run.source + kept - run.target)
            break
        first = max(first, run.source + run.length)
    first = min(first, held.until)
    return place, first - held.begin, first, held.until


def _home_pieces(came: list[MapRecord], place: Place, home: Mapping[str, Origin]) -> list[tuple[int, int]]:
    pieces = foreign_pieces(came, place[0]).get(place[1], [])
    return [(piece.begin, piece.until) for piece in pieces if piece.origin == home.get(place[0])]


def _positions(bounds: Bounds, at: int) -> Positions:
    positions: Positions = {}
    for (topic, partition), *offsets in bounds:
        positions.setdefault(topic, {})[str(partition)] = offsets[at]
    return positions


def _target(spark: SparkSession, job: Job, maps: Mapping[Place, PartitionMap]) -> DataFrame:
    begin: Positions = {}
    end: Positions = {}
    for (topic, partition), held in maps.items():
        if held.runs:
            name = job.target_topic(topic)
            last = held.runs[-1]
            begin.setdefault(name, {})[str(partition)] = held.runs[0].target
            end.setdefault(name, {})[str(partition)] = last.target + last.length
    if not begin:
        return spark.createDataFrame([], _record_schema())
    there = msgspec.structs.replace(
        job.source, bootstrap=job.target_bootstrap, security=job.target_security, options={}
    )
    options = {
        **source_options(msgspec.structs.replace(job, source=there)),
        "startingOffsets": json.dumps(begin),
        "endingOffsets": json.dumps(end),
        "assign": json.dumps({topic: sorted(map(int, held)) for topic, held in begin.items()}),
        "failOnDataLoss": "false",  # what the target's retention has deleted is told apart by `_bound`
    }
    del options["subscribe"]
    return spark.read.format("kafka").options(**options).load()


def _record_schema() -> str:
    return (
        "key binary, value binary, topic string, partition int, offset long, timestamp timestamp, "
        "headers array<struct<key: string, value: binary>>"
    )


def _hashed(records: DataFrame) -> DataFrame:
    """Return topic, partition, offset and a hash of all that a copy keeps."""
    parts: list[Column] = [F.col("key"), F.col("value"), F.unix_millis("timestamp")]
    # A null is hashed as nothing at all: what is null is told by texts beside.
    nulls = [F.col(name).isNull().cast("string") for name in ("key", "value")]
    headers = F.to_json(F.struct("headers"), {"ignoreNullFields": "false"})
    hashed = F.xxhash64(*parts, *nulls, headers).alias("hash")
    key = F.xxhash64("key").alias(KEY)
    return records.select(
        "topic", "partition", "offset", hashed, key, F.col("value").isNotNull().alias(HAS_VALUE)
    )


def _compared(placed: DataFrame) -> DataFrame:
    """Return the rows as both sides have them: the source's offset is part of the hash, so order counts."""
    return placed.select("topic", "partition", "offset", F.xxhash64("hash", "offset").alias(HASH))


def _staying(left_out: Mapping[Place, list[tuple[int, int]]]) -> Callable[[Batches], Batches]:
    """Return the function that leaves out what came home."""

    def move(place: Place, offset: int) -> tuple[str, int] | None:
        pieces = left_out.get(place, [])
        at = bisect_right(pieces, (offset, 1 << 63)) - 1
        return None if at >= 0 and offset < pieces[at][1] else (place[0], offset)

    return _moving(move)


def _translated(job: Job, maps: Mapping[Place, PartitionMap], bounds: Bounds) -> Callable[[Batches], Batches]:
    """Return the function that gives the target's rows the topic and the offset of the source.

    Rows that have nothing to be compared with are left out.
    """
    compared_from = {place: (begin, until) for place, _, begin, until in bounds}
    sources = {job.target_topic(topic): topic for topic, _ in maps}
    runs = {
        place: [(run.target, run.source, run.length) for run in held.runs] for place, held in maps.items()
    }

    def move(place: Place, offset: int) -> tuple[str, int] | None:
        topic = sources[place[0]]
        known = runs[topic, place[1]]
        at = bisect_right(known, (offset, 1 << 63, 0)) - 1
        if at < 0 or offset >= known[at][0] + known[at][2]:
            return None
        begin, until = compared_from[topic, place[1]]
        moved = known[at][1] + offset - known[at][0]
        return (topic, moved) if begin <= moved < until else None

    return _moving(move)


def _moving(move: Callable[[Place, int], tuple[str, int] | None]) -> Callable[[Batches], Batches]:
    def moved(batches: Batches) -> Batches:
        import pyarrow

        for batch in batches:
            places = zip(*(batch.column(name).to_pylist() for name in PLACE), strict=True)
            found = [move((topic, partition), offset) for topic, partition, offset in places]
            taken = pyarrow.array([at for at, to in enumerate(found) if to is not None], pyarrow.int64())
            topics = pyarrow.array([to[0] for to in found if to is not None], pyarrow.string())
            offsets = pyarrow.array([to[1] for to in found if to is not None], pyarrow.int64())
            rest = batch.take(taken)
            given = {"topic": topics, "offset": offsets}
            arrays = [given.get(name, rest.column(name)) for name in batch.schema.names]
            yield pyarrow.RecordBatch.from_arrays(arrays, names=batch.schema.names)

    return moved
