"""The Parquet files of a batch, written where its records are read: in Spark's Python workers, one task each.

    records ─counted─▶ view, columns (pipeline.arrow_rows) ─▶ those that fit, by file ──▶ Parquet
                                                          └─▶ the others, as they came ─▶ Parquet (quarantine)

Rows stay in Arrow up to the file.  Sent back to Spark they would become rows of the JVM, be sorted by file,
and be written one by one.

A task yields a row of RESULT for each file, and one with its counts.  Files have names that no other attempt
of the task has: those of an attempt that failed, which has no result, are not looked at, and go with the
folder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pipeline.arrow_rows import REASON, Batches
from pipeline.folder_values import folder_name
from pipeline.landed_columns import bad_columns, landed_columns
from pipeline.rows import chained, readers
from pipeline.shape import Shape
from pipeline.sinks.task_files import FileKey, Layout, TaskFiles

if TYPE_CHECKING:
    import pyarrow

RESULT: Final = (
    "path string, topic string, partition int, folders string, first long, serial int, bad boolean, "
    "records long, payload_bytes long, newest_ms long, late long, kept long, unfit long"
)
"""Of a file: its path, whose rows it has, their folders, the first offset that the task had for it, its
number among the files of these, whether its records are bad.  With the counts, all of these are null."""

NEVER_MS: Final = -(1 << 63)


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesPlan:
    """The facts that a task must know of its batch; they are sent to the workers."""

    shape: Shape
    folder: str
    """The folder of the files, on a disk that driver and workers share."""
    layout: Layout
    topic: str = ""
    """The topic of all records, where they come without its name."""
    late_before_ms: int = NEVER_MS
    keeps_bad: bool = True
    """Whether records that do not fit are written, too."""

    @property
    def folder_columns(self) -> list[str]:
        """The columns that become folders, as the table spells them: Spark's names know no case."""
        names = {name.lower(): name for name in (*self.shape.landed, *self.shape.derived)}
        return [names[name.lower()] for name in self.layout.partition_by]


def files_writer(plan: FilesPlan) -> Callable[[Batches], Batches]:
    """Return the function for `mapInArrow`: records in, rows of RESULT out."""

    def write(batches: Batches) -> Batches:
        counts = _Counts(plan)
        rows = TaskFiles(plan.folder, plan.layout)
        bad = TaskFiles(plan.folder, Layout(compression=plan.layout.compression))
        for batch in chained(readers(plan.shape))(counts.counted(batches)):
            good, unfit = counts.parted(batch)
            for key, offset, part in _by_file(good, plan):
                rows.add(key, offset, part)
            if plan.keeps_bad and unfit.num_rows:
                for key, offset, part in _by_file(unfit, plan, bad=True):
                    bad.add(key, offset, part)
        yield _result([*rows.finished(bad=False), *bad.finished(bad=True), counts.row()])

    return write


def _result(rows: list[dict[str, Any]]) -> pyarrow.RecordBatch:
    import pyarrow as pa

    types = {"string": pa.string(), "int": pa.int32(), "long": pa.int64(), "boolean": pa.bool_()}
    fields = [field.split() for field in RESULT.split(", ")]
    return pa.RecordBatch.from_pylist(rows, schema=pa.schema([(name, types[kind]) for name, kind in fields]))


class _Counts:
    """The counts that the driver compares and reports, made of whole batches."""

    def __init__(self, plan: FilesPlan) -> None:
        self._plan = plan
        self.records = self.payload_bytes = self.newest_ms = self.late = self.kept = self.unfit = 0

    def counted(self, batches: Batches) -> Batches:
        """Yield the batches, counted as they came."""
        import pyarrow as pa
        import pyarrow.compute as pc

        for batch in batches:
            if not batch.num_rows:
                continue
            self.records += batch.num_rows
            for name in ("key", "value"):
                self.payload_bytes += pc.sum(pc.binary_length(batch.column(name))).as_py() or 0
            times = batch.column("timestamp").cast(pa.int64())
            newest = pc.max(times).as_py()
            if newest is not None:
                self.newest_ms = max(self.newest_ms, newest // 1_000)
                late = pc.less(times, pa.scalar(max(NEVER_MS, 1_000 * self._plan.late_before_ms), pa.int64()))
                self.late += pc.sum(late).as_py() or 0
            yield batch if "topic" in batch.schema.names else _with_topic(batch, self._plan.topic)

    def parted(self, batch: pyarrow.RecordBatch) -> tuple[pyarrow.RecordBatch, pyarrow.RecordBatch]:
        """Return the rows that fit, and those that do not."""
        import pyarrow.compute as pc

        self.kept += batch.num_rows
        if REASON not in batch.schema.names or batch.column(REASON).null_count == batch.num_rows:
            return batch, batch.slice(0, 0)
        fits = pc.is_null(batch.column(REASON))
        good, unfit = batch.filter(fits), batch.filter(pc.invert(fits))
        self.unfit += unfit.num_rows
        return good, unfit

    def row(self) -> dict[str, Any]:
        """Return the row of RESULT."""
        names = ("records", "payload_bytes", "newest_ms", "late", "kept", "unfit")
        return {name: getattr(self, name) for name in names}


def _with_topic(batch: pyarrow.RecordBatch, topic: str) -> pyarrow.RecordBatch:
    import pyarrow as pa

    return batch.append_column("topic", pa.repeat(pa.scalar(topic), batch.num_rows))


def _by_file(
    batch: pyarrow.RecordBatch, plan: FilesPlan, *, bad: bool = False
) -> Iterator[tuple[FileKey, int, pyarrow.RecordBatch]]:
    """Yield the rows of each file, with the offset of the first."""
    import pyarrow as pa

    if not batch.num_rows:
        return
    columns = bad_columns(batch) if bad else landed_columns(batch, plan.shape)
    folders = [] if bad else plan.folder_columns
    named = [(name, _nameable(columns[name])) for name in folders]
    kept = {
        name: column for name, column in columns.items() if plan.layout.keeps_columns or name not in folders
    }
    rows = pa.RecordBatch.from_arrays(list(kept.values()), names=list(kept))
    offsets = batch.column("offset")
    for key, places in _keys(batch, named):
        part = rows if places is None else rows.take(pa.array(places))
        yield key, offsets[0 if places is None else places[0]].as_py(), part


def _keys(
    batch: pyarrow.RecordBatch, named: list[tuple[str, tuple[str, Any]]]
) -> Iterable[tuple[FileKey, list[int] | None]]:
    """Return the files of the rows of a batch, each with the places of its rows (None: of all)."""
    columns = [batch.column("topic"), batch.column("partition"), *(column for _, (_, column) in named)]
    if all(map(_is_constant, columns)):
        topic, partition, *values = (column[0].as_py() for column in columns)
        return [(FileKey(topic, partition, _folders(named, values)), None)]
    found: dict[FileKey, list[int]] = {}
    known: dict[tuple[Any, ...], FileKey] = {}
    for at, row in enumerate(zip(*(column.to_pylist() for column in columns), strict=True)):
        key = known.get(row)
        if key is None:
            # Other values may have the same name: rows without a number (NaN) are not equal to each other.
            key = known[row] = FileKey(row[0], row[1], _folders(named, row[2:]))
        found.setdefault(key, []).append(at)
    return found.items()


def _is_constant(column: Any) -> bool:
    import pyarrow.compute as pc

    if column.null_count:
        return bool(column.null_count == len(column))
    return bool(pc.all(pc.equal(column, column[0])).as_py())


def _folders(named: list[tuple[str, tuple[str, Any]]], values: Iterable[Any]) -> str:
    return "/".join(
        folder_name(name, value, kind) for (name, (kind, _)), value in zip(named, values, strict=True)
    )


def _nameable(column: Any) -> tuple[str, Any]:
    """Return the kind of a column, for the names of folders, and its values: of times, numbers."""
    import pyarrow as pa

    if pa.types.is_timestamp(column.type):
        return "timestamp", column.cast(pa.int64())
    return str(column.type), column
