"""Plans evaluated over Arrow's record batches, for jobs that read a topic outside the broker.

A batch has the columns of Spark's Kafka source, of which only those that the view reads are needed: `key` and
`value` (binary or string), `timestamp` (timestamp, or milliseconds as int64), `headers` (list of structs of
key and value), `offset`, `partition`.  Other columns are carried along.

pyarrow is imported at the first call: only callers with Arrow batches have it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from views.errors import UnknownColumn
from views.evaluator import build_row_scan
from views.plan import Plan, UnfitPlan
from views.tags import TagTable

if TYPE_CHECKING:
    import pyarrow

_TICKS_IN_MS: Final = {"ms": 1, "us": 1_000, "ns": 1_000_000}
# The column that must be there for each part of a record that a view reads.
_COLUMN_OF: Final = {
    "value": "value",
    "key": "key",
    "headers": "headers",
    "timestamp": "timestamp",
    "offset": "offset",
    "partition": "partition",
}


class Evaluated(NamedTuple):
    """The rows that belong to the view, the number of rows given, and of those that did not fit."""

    batch: pyarrow.RecordBatch
    scanned: int
    unfit: int


def evaluate(plan: Plan, batch: pyarrow.RecordBatch) -> pyarrow.RecordBatch:
    """Return the rows of `batch` that belong to the view, `value` being the view's."""
    return evaluate_counted(plan, batch).batch


def evaluate_counted(plan: Plan, batch: pyarrow.RecordBatch, *, tags: TagTable | None = None) -> Evaluated:
    """Evaluate as `evaluate` does, and count the rows; `tags` is the table of the partition that is read.

    Rows of UNFIT are those that do not fit; a column `headers`, if there is one, has their reasons, as in
    records of the view.

    Raises: UnknownColumn when the batch lacks a column that the view reads.
    """
    count = batch.num_rows
    if plan.is_identity:
        return Evaluated(batch, count, 0)
    if isinstance(plan, UnfitPlan):
        return Evaluated(_unfit(plan, batch), count, 0)
    import pyarrow

    columns = {need: _read(batch, name) for need, name in _COLUMN_OF.items() if need in plan.needs}
    taken: list[int] = []
    made: list[bytes] = []
    unfit = _row_scan(plan)(count, columns, TagTable() if tags is None else tags, taken, made)
    result = batch.take(pyarrow.array(taken, pyarrow.int64()))
    if plan.output is not None:
        at = _position(batch, "value")
        kind = batch.schema.field(at).type
        values = pyarrow.array(made, pyarrow.binary()).cast(kind)
        result = result.set_column(at, batch.schema.field(at), values)
    return Evaluated(result, count, unfit)


def _unfit(plan: UnfitPlan, batch: pyarrow.RecordBatch) -> pyarrow.RecordBatch:
    import pyarrow

    from views.unfit import UNFIT_HEADER
    from views.unfit_judge import judge_of

    judge, names = judge_of(plan), batch.schema.names
    columns = {need: _read(batch, _COLUMN_OF[need]) for need in plan.needs | judge.asks}
    unfit = judge.unfit(columns, batch.num_rows)
    asked = {need: [columns[need][at] for at in unfit] for need in judge.asks}
    taken = [unfit[at] for at in judge.asked_for(asked, len(unfit))]
    result = batch.take(pyarrow.array(taken, pyarrow.int64()))
    if "headers" not in names:
        return result
    headers = []
    for at, own in zip(taken, result.column("headers").to_pylist(), strict=True):
        read = columns["headers"][at] if "headers" in columns else ()
        reason = judge.explain(columns["value"][at], read).encode()
        headers.append([*(own or ()), {"key": UNFIT_HEADER, "value": reason}])
    at = _position(batch, "headers")
    field = batch.schema.field(at)
    return result.set_column(at, field, pyarrow.array(headers, field.type))


@lru_cache(maxsize=64)
def _row_scan(plan: Plan) -> Callable[..., int]:
    return build_row_scan(plan)


def _position(batch: pyarrow.RecordBatch, name: str) -> int:
    at: int = batch.schema.get_field_index(name)
    if at < 0:
        raise UnknownColumn(
            f"the record batch has no column {name!r}, which the view reads; it has {batch.schema.names}"
        )
    return at


def _read(batch: pyarrow.RecordBatch, name: str) -> list[Any]:
    """Return a column as the generated loop takes it."""
    import pyarrow

    column = batch.column(_position(batch, name))
    if name == "timestamp" and pyarrow.types.is_timestamp(column.type):
        return _milliseconds(column)
    if name == "headers":
        return [() if headers is None else tuple(map(_pair, headers)) for headers in column.to_pylist()]
    if name in ("key", "value") and not pyarrow.types.is_binary(column.type):
        column = column.cast(pyarrow.binary())
    found: list[Any] = column.to_pylist()
    return found


def _milliseconds(column: Any) -> list[int]:
    import pyarrow

    numbers = column.cast(pyarrow.int64()).to_pylist()
    if column.type.unit == "s":
        return [-1 if number is None else number * 1_000 for number in numbers]
    ticks = _TICKS_IN_MS[column.type.unit]
    return [-1 if number is None else number // ticks for number in numbers]


def _pair(header: dict[str, Any]) -> tuple[str, bytes | None]:
    return header["key"], header["value"]
