"""Record batches of Spark's Kafka source to record batches of rows: what `mapInArrow` runs in Python workers.

    in     key value topic partition offset timestamp timestampType [headers] …
    out    the same columns, then one for each declared column (FIELD + number), RESCUED and REASON

REASON is null where the value fits; there `value` becomes null, as nothing needs it any more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from pipeline.columns import Column, ColumnType
from pipeline.folder_checks import folder_problems
from pipeline.framed_values import framed_values
from pipeline.json_reader import JsonReader
from pipeline.shape import OURS, Shape

if TYPE_CHECKING:
    import pyarrow

FIELD: Final = f"{OURS}field_"
RESCUED: Final = f"{OURS}rescued"
REASON: Final = f"{OURS}reason"

Batches = Iterator["pyarrow.RecordBatch"]

_PLAIN: Final = {
    "boolean": "bool_",
    "tinyint": "int8",
    "smallint": "int16",
    "int": "int32",
    "bigint": "int64",
    "float": "float32",
    "double": "float64",
    "string": "string",
    "date": "date32",
    "binary": "binary",
}


def arrow_type(kind: ColumnType) -> Any:
    """Return the type of a column in Arrow."""
    import pyarrow as pa

    match kind.name:
        case "timestamp":
            return pa.timestamp("us", tz="UTC")
        case "timestamp_ntz":
            return pa.timestamp("us")
        case "decimal":
            return pa.decimal128(kind.digits, kind.scale)
        case "array":
            return pa.list_(arrow_type(kind.fields[0].type))
        case "map":
            return pa.map_(pa.string(), arrow_type(kind.fields[0].type))
        case "struct":
            return pa.struct([(field.name, arrow_type(field.type)) for field in kind.fields])
    return getattr(pa, _PLAIN[kind.name])()


def row_reader(shape: Shape) -> Callable[[Batches], Batches]:
    """Return the function for `mapInArrow`: it is sent to the workers, so it carries nothing but the
    shape."""

    def read(batches: Batches) -> Batches:
        for batch in batches:
            yield read_rows(batch, shape)

    return read


def raw_reader(shape: Shape) -> Callable[[Batches], Batches]:
    """Return what adds REASON to raw records for `mapInArrow`: some have a key that cannot name a folder."""
    import pyarrow as pa

    def read(batches: Batches) -> Batches:
        for batch in batches:
            problems = folder_problems({shape.key_folder: batch.column("key")})
            reasons = [problems.get(at) for at in range(batch.num_rows)]
            yield batch.append_column(REASON, pa.array(reasons, pa.string()))

    return read


def read_rows(batch: pyarrow.RecordBatch, shape: Shape) -> pyarrow.RecordBatch:
    """Read the values of one batch; see the top of this module."""
    import pyarrow as pa
    import pyarrow.compute as pc

    values = batch.column("value")
    content: list[bytes | None] = values.to_pylist()
    problems: dict[int, str] = {}
    if shape.registry:
        content, problems = framed_values(shape.registry).read(content)
    columns, rest, reasons = _reader(shape.declared, bool(shape.rescue)).read(content)
    for at, problem in problems.items():
        reasons[at] = problem
    if shape.key_as == "string" and not _are_texts(batch.column("key")):
        reasons = [
            reason if reason or _is_text(key) else "the key is not UTF-8"
            for key, reason in zip(batch.column("key").to_pylist(), reasons, strict=True)
        ]
    declared = [pa.array(columns[at], arrow_type(column.type)) for at, column in enumerate(shape.declared)]
    for at, problem in _folder_problems(batch, shape, declared).items():
        reasons[at] = reasons[at] or problem
    why = pa.array(reasons, pa.string())
    kept = pc.if_else(pc.is_null(why), pa.scalar(None, values.type), values)
    arrays = [kept if name == "value" else batch.column(name) for name in batch.schema.names]
    names = list(batch.schema.names)
    arrays += declared
    names += [f"{FIELD}{at}" for at in range(len(declared))]
    arrays += [pa.array(rest, pa.map_(pa.string(), pa.string())), why]
    return pa.RecordBatch.from_arrays(arrays, names=[*names, RESCUED, REASON])


def _folder_problems(
    batch: pyarrow.RecordBatch, shape: Shape, declared: list[pyarrow.Array]
) -> dict[int, str]:
    folders = {name.lower() for name in shape.partition_by}
    named = {
        column.name: values
        for column, values in zip(shape.declared, declared, strict=True)
        if column.name.lower() in folders and column.type.name in ("string", "binary")
    }
    if shape.key_folder:
        named[shape.key_folder] = batch.column("key")
    return folder_problems(named)


@lru_cache(maxsize=8)
def _reader(declared: tuple[Column, ...], rescue: bool) -> JsonReader:
    return JsonReader(declared, rescue=rescue)


def _are_texts(keys: pyarrow.Array) -> bool:
    """Return whether all keys are UTF-8, as a rule without a look at each."""
    import pyarrow as pa

    try:
        keys.cast(pa.string())
    except pa.ArrowInvalid:
        return False
    return True


def _is_text(key: bytes | None) -> bool:
    try:
        str(key or b"", "utf-8")
    except UnicodeDecodeError:
        return False
    return True
