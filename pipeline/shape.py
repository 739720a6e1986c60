"""The shape of the rows a job lands: the columns, their types and their order.  It needs no Spark.

    mode raw    key value [headers] topic partition offset timestamp timestamp_type
    mode json   declared columns… [rescue] [key] [headers] topic partition offset timestamp

`coordinates_prefix` is put before the columns that come from the record and not from its value.
"""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.columns import Column, parse_columns
from pipeline.config import Job
from pipeline.errors import JobFileError

OURS = "_kawal_"
"""Columns with this prefix exist only while a batch is being written."""

BATCH = f"{OURS}batch"
"""The column of the number of a row's batch, for those who ask for it."""

DERIVED_TYPES = {"date": "date", "hour": "int"}
DELTA_EXCLUDED = frozenset(" ,;{}()\n\t=")

DERIVED = tuple(DERIVED_TYPES)
"""Partition columns made from the record timestamp where no declared column has the name."""


SOURCE_NAMES = {"timestamp_type": "timestampType"}
"""Our names for the columns of Spark's Kafka source, where they differ."""

HEADERS = "array<struct<key:string,value:binary>>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The facts about the rows that `pipeline.rows` needs; every name in it is checked."""

    mode: str
    declared: tuple[Column, ...]
    rescue: str
    key_as: str
    headers: bool
    prefix: str
    partition_by: tuple[str, ...]
    registry: str = ""
    view: str = ""
    view_columns: str = ""

    @property
    def required(self) -> list[str]:
        """The declared columns that must not be null."""
        return [field.name for field in self.declared if not field.nullable]

    @property
    def derived(self) -> list[str]:
        """The partition columns to make from the record timestamp."""
        landed = {name.lower() for name in self.landed}
        return [name for name in self.partition_by if name in DERIVED and name not in landed]

    @property
    def key_folder(self) -> str:
        """The column of the record's key, if it is one of `partition_by`; else ""."""
        name = self.prefix + "key"
        folders = {folder.lower() for folder in self.partition_by}
        return name if self.key_as == "string" and name.lower() in folders else ""

    @property
    def coordinates(self) -> list[str]:
        """The columns taken from the record itself, without their prefix, in the order they land."""
        names = ["key"] if self.key_as != "none" else []
        names += ["value"] if self.mode == "raw" else []
        names += ["headers"] if self.headers else []
        names += ["topic", "partition", "offset", "timestamp"]
        return [*names, "timestamp_type"] if self.mode == "raw" else names

    @property
    def stored(self) -> dict[str, str]:
        """The columns of the table, in order, with the types in which they are stored."""
        own = {
            "key": "string" if self.key_as == "string" else "binary",
            "value": "binary",
            "headers": HEADERS,
            "topic": "string",
            "partition": "int",
            "offset": "bigint",
            "timestamp": "timestamp",
            "timestamp_type": "int",
        }
        found = {column.name: str(column.type) for column in self.declared}
        found |= {self.rescue: "map<string,string>"} if self.rescue else {}
        return found | {self.prefix + name: own[name] for name in self.coordinates}

    @property
    def landed(self) -> list[str]:
        """The columns of the table, in order, without derived partition columns and the batch column."""
        rescue = [self.rescue] if self.rescue else []
        return [
            *(column.name for column in self.declared),
            *rescue,
            *(self.prefix + name for name in self.coordinates),
        ]


def shape_of(job: Job) -> Shape:
    """Return the shape of the job's rows.  Raises: JobFileError for columns that cannot be landed."""
    shape = Shape(
        mode=job.schema.mode,
        declared=parse_columns(job.schema.columns),
        rescue=job.schema.rescue,
        key_as=job.key_as,
        headers=job.schema.headers,
        prefix=job.schema.coordinates_prefix,
        registry=job.schema.registry,
        partition_by=tuple(job.sink.partition_by),
        view=job.source.view,
        view_columns=job.source.view_columns,
    )
    _check_names(shape, job.sink.batch_column)
    if job.sink.kind == "delta":
        _check_delta_names(shape)
    _check_partition_columns(shape)
    return shape


def _check_names(shape: Shape, batch_column: str) -> None:
    """Refuse names that clash: to Spark, names that differ only in case are one.  Raises: JobFileError."""
    declared = [*(column.name for column in shape.declared), *([shape.rescue] if shape.rescue else [])]
    if shape.mode == "json" and not shape.declared:
        raise JobFileError("schema.columns declares no column")
    taken = {(shape.prefix + name).lower(): "the record's own" for name in shape.coordinates}
    taken[batch_column.lower()] = "the folder level of a batch"
    for name in declared:
        key = name.lower()
        if key == batch_column.lower():
            raise JobFileError(
                f"the column {name!r} is also sink.batch_column; give that another name, as 'landed_batch'"
            )
        if key in taken:
            raise JobFileError(_two_columns(shape, name, is_own=taken[key] != "declared"))
        if key.startswith(OURS):
            raise JobFileError(f"the column {name!r}: names beginning with {OURS!r} are used while landing")
        taken[key] = "declared"


def _check_delta_names(shape: Shape) -> None:
    """Refuse names that readers of Delta do not take: the protocol excludes them, without column mapping."""
    for name in shape.landed:
        if wrong := next((letter for letter in name if letter in DELTA_EXCLUDED), ""):
            raise JobFileError(
                f"the column {name!r} of schema.columns has {wrong!r}, which no column of a Delta table may "
                "have; rename it, or set sink.kind = 'parquet'"
            )


def _two_columns(shape: Shape, name: str, *, is_own: bool) -> str:
    """Say that a column has the name of another one; `is_own`: of one that comes from the record itself."""
    subject = f"schema.rescue is {name!r}" if name == shape.rescue else f"schema.columns declares {name!r}"
    if is_own:
        return f"{subject}, the record's own column; give schema.coordinates_prefix, such as 'kafka_'"
    return f"{subject}, but there is a column of that name; rename one"


def _check_partition_columns(shape: Shape) -> None:
    folders = {name.lower() for name in shape.partition_by}
    known = {name.lower() for name in shape.landed}
    types = {column.name.lower(): column.type.name for column in shape.declared}
    binary = {shape.prefix + "value", shape.prefix + "headers"}
    if shape.key_as == "binary":
        binary.add(shape.prefix + "key")
    if len(folders) < len(shape.partition_by):
        raise JobFileError(f"sink.partition_by is {list(shape.partition_by)}, which names a column twice")
    for name in shape.partition_by:
        if name.lower() not in known and name not in DERIVED:
            raise JobFileError(
                f"sink.partition_by names {name!r}, which is not a column; the columns are "
                f"{', '.join([*shape.landed, *shape.derived])}, and date and hour of the record timestamp"
            )
        nested = types.get(name.lower()) in ("array", "map", "struct")
        if nested or name in binary or name == shape.rescue:
            raise JobFileError(f"sink.partition_by names {name!r}, whose values cannot be names of folders")
    if folders >= known:
        raise JobFileError("sink.partition_by names every column; leave at least one for the files")
