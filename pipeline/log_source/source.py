"""Spark's format `kawal.wal`, for `spark.read` and `spark.readStream`.

    from pipeline.log_source.source import KawalLog
    spark.dataSource.register(KawalLog)
    spark.read.format("kawal.wal").option("subscribe", "flights").load("/var/lib/kawal")
    spark.read.format("kawal.wal").option("subscribe", "flights").load("s3://bucket/prefix")

The columns are those of Spark's Kafka source, and so are the options `subscribe`, `startingOffsets`,
`endingOffsets` and `includeHeaders`. Records of transactions that are open or were aborted are not there. A
gateway may be running: of its directory all is read that its newest checkpoint covers, and of its copy in a
bucket all that was uploaded; the rest comes from the gateway.

Source: Spark 4.2, pyspark.sql.datasource.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from math import floor
from typing import Any

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    InputPartition,
    LessThan,
    LessThanOrEqual,
)

from pipeline.bucket_config import BucketSection, in_bucket, place_of_copy
from pipeline.errors import SourceError
from pipeline.log_source.files import LogPlace
from pipeline.log_source.logs import look_at
from pipeline.log_source.objects import address_of
from pipeline.log_source.plan import EARLIEST, LATEST, OFFSET_MAX, Positions, Snapshot, Split, Wanted
from pipeline.log_source.rows import arrow_batches
from wal.disk import OsDisk

SCHEMA = (
    "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, "
    "timestampType int"
)
HEADERS = ", headers array<struct<key: string not null, value: binary>>"
BUCKET_OPTIONS = {
    "endpoint": "endpoint",
    "region": "region",
    "accesskeyenv": "access_key_env",
    "secretkeyenv": "secret_key_env",
    "sessiontokenenv": "session_token_env",
}
"""The keys of [sink.bucket] of job files, by the names of options."""
OPTIONS = frozenset(
    {
        *("path", "subscribe", "startingoffsets", "endingoffsets", "includeheaders", "pushfilters", "store"),
        *("cluster", *BUCKET_OPTIONS),
    }
)
PUSHDOWN = "spark.sql.python.filterPushdown.enabled"
"""Without this setting Spark refuses readers that take conditions; hence the option `pushFilters`."""


class KawalLog(DataSource):  # type: ignore[misc]  # Spark's classes are not typed here
    """The records of topics in a gateway's data directory, in a backup of it, or in its copy in a bucket."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "kawal.wal"

    def schema(self) -> str:
        """Return the columns of Spark's Kafka source."""
        return SCHEMA + HEADERS * Settings(self.options).with_headers

    def reader(self, schema: Any) -> DataSourceReader:
        """Return the reader of a batch query."""
        settings = Settings(self.options)
        return PruningReader(settings) if settings.push_filters else LogReader(settings)

    def streamReader(self, schema: Any) -> DataSourceStreamReader:
        """Return the reader of a streaming query."""
        return LogStreamReader(Settings(self.options))


class Settings:
    """The options of a query, checked."""

    def __init__(self, options: Mapping[str, str]) -> None:
        """Read them; they have no upper case.  Raises: SourceError."""
        known = {name.lower(): value for name, value in options.items()}
        unknown = sorted(known.keys() - OPTIONS)
        if unknown:
            raise SourceError(f"kawal.wal has no option {unknown[0]!r}; it has {', '.join(sorted(OPTIONS))}")
        self.topics = [name.strip() for name in known.get("subscribe", "").split(",") if name.strip()]
        path = known.get("path", "").rstrip("/")
        if not path or not self.topics:
            missing = (
                "a data directory or a copy, as in load('/var/lib/kawal') or load('s3://BUCKET/PREFIX')"
                if not path
                else "option 'subscribe'"
            )
            raise SourceError(f"kawal.wal needs {missing}")
        self.place = _place(path, known)
        self.starting, self.ending = known.get("startingoffsets"), known.get("endingoffsets")
        self.with_headers = _flag(known, "includeheaders")
        self.push_filters = _flag(known, "pushfilters")

    def snapshot(self) -> Snapshot:
        """Look at the logs.  Raises: SourceError."""
        return Snapshot(look_at(self.place, self.topics))

    def rows_of(self, split: Split) -> Iterator[Any]:
        """Yield the record batches of a task.  Raises: SourceError."""
        store = self.place.store.opened() if split.parts and self.place.store is not None else None
        return arrow_batches(OsDisk(), split, store, with_headers=self.with_headers)


def _place(path: str, options: Mapping[str, str]) -> LogPlace:
    """Return the place that the options name.  Raises: SourceError."""
    store = path if in_bucket(path) else options.get("store", "").rstrip("/")
    given = sorted(options.keys() & {"cluster", *BUCKET_OPTIONS})
    if not store:
        if given:
            raise SourceError(
                f"option {given[0]!r} is of an object store, but neither load(…) nor option 'store' names one"
            )
        return LogPlace(path, None)
    section = BucketSection(
        **{ours: options[name] for name, ours in BUCKET_OPTIONS.items() if name in options}
    )
    if bool(section.access_key_env) != bool(section.secret_key_env):
        raise SourceError(
            "options accessKeyEnv and secretKeyEnv belong together; give both or set both to ''"
        )
    found = place_of_copy(store)
    if found is None:
        raise SourceError(f"{store!r} is not the address of a copy, which is s3://BUCKET/PREFIX")
    address = address_of(found, section, keys="option ")
    return LogPlace("" if in_bucket(path) else path, address, options.get("cluster", ""))


def _flag(options: Mapping[str, str], name: str) -> bool:
    text = options.get(name, "false").strip().lower()
    if text not in ("true", "false"):
        raise SourceError(f"option {name} is {text!r}; it must be true or false")
    return text == "true"


class LogReader(DataSourceReader):  # type: ignore[misc]  # Spark's classes are not typed here
    """The reader of a batch query."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.wanted = Wanted()

    def partitions(self) -> list[InputPartition]:
        """Return a task for each segment.  Raises: SourceError."""
        settings = self.settings
        found = settings.snapshot()
        begins = found.resolve(settings.starting, EARLIEST, "startingOffsets")
        ends = found.resolve(settings.ending, LATEST, "endingOffsets")
        return [*found.splits(begins, ends, self.wanted)]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Yield the record batches of a task.  Raises: SourceError."""
        if not isinstance(partition, Split):  # Spark's stand-in where there is no task
            return iter(())
        return self.settings.rows_of(partition)


class PruningReader(LogReader):
    """A reader that is told the conditions of the query; Spark demands a setting for that (PUSHDOWN)."""

    def pushFilters(self, filters: list[Filter]) -> Iterator[Filter]:
        """Take what is said of partition, offset and time; Spark looks at all conditions again."""
        for found in filters:
            self.wanted = narrowed(self.wanted, found)
            yield found


class LogStreamReader(DataSourceStreamReader):  # type: ignore[misc]  # Spark's classes are not typed here
    """The reader of a streaming query; its offsets are {topic: {partition: offset}}."""

    def __init__(self, settings: Settings) -> None:
        if settings.ending is not None:
            raise SourceError("endingOffsets is for batch queries: a stream has no end")
        self.settings = settings

    def initialOffset(self) -> dict[str, Any]:
        """Return where a new query begins.  Raises: SourceError."""
        found = self.settings.snapshot()
        return _as_offset(found.resolve(self.settings.starting, LATEST, "startingOffsets"))

    def latestOffset(self, start: dict[str, Any], limit: Any) -> dict[str, Any]:
        """Return the end of what can be read now.  Raises: SourceError."""
        return _as_offset(self.settings.snapshot().resolve(None, LATEST, "latest"))

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """Return a task for each segment.  Raises: SourceError."""
        return [*self.settings.snapshot().splits(_positions(start), _positions(end), Wanted())]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Yield the record batches of a task.  Raises: SourceError."""
        assert isinstance(partition, Split)
        return self.settings.rows_of(partition)


def _as_offset(positions: Positions) -> dict[str, Any]:
    return {
        topic: {str(index): offset for index, offset in offsets.items()}
        for topic, offsets in positions.items()
    }


def _positions(offset: Mapping[str, Mapping[str, int]]) -> Positions:
    return {topic: {int(index): at for index, at in found.items()} for topic, found in offset.items()}


def narrowed(wanted: Wanted, found: Filter) -> Wanted:
    """Return what is wanted if this condition holds, too; conditions that say nothing change nothing."""
    match found:
        case EqualTo(attribute=("partition",), value=int(value)):
            return _only(wanted, {value})
        case In(attribute=("partition",), value=values):
            return _only(wanted, set(values))
        case EqualTo(attribute=("offset",), value=int(value)):
            return _between(wanted, value, value + 1)
        case GreaterThan(attribute=("offset",), value=int(value)):
            return _between(wanted, value + 1, OFFSET_MAX)
        case GreaterThanOrEqual(attribute=("offset",), value=int(value)):
            return _between(wanted, value, OFFSET_MAX)
        case LessThan(attribute=("offset",), value=int(value)):
            return _between(wanted, 0, value)
        case LessThanOrEqual(attribute=("offset",), value=int(value)):
            return _between(wanted, 0, value + 1)
        case (
            EqualTo(attribute=("timestamp",), value=datetime() as value)
            | GreaterThan(attribute=("timestamp",), value=datetime() as value)
            | GreaterThanOrEqual(attribute=("timestamp",), value=datetime() as value)
        ):
            since_ms = floor(value.timestamp() * 1_000)
            return replace(wanted, time_min_ms=max(since_ms, wanted.time_min_ms or since_ms))
        case _:
            return wanted


def _only(wanted: Wanted, partitions: set[int]) -> Wanted:
    known = wanted.partitions
    return replace(wanted, partitions=frozenset(partitions if known is None else partitions & known))


def _between(wanted: Wanted, begin: int, end: int) -> Wanted:
    return replace(wanted, offset_min=max(begin, wanted.offset_min), offset_end=min(end, wanted.offset_end))
