"""The columns of what lands, made of a record batch: those of the table, and those of the quarantine.

`pipeline.rows` makes the same of DataFrames.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipeline.arrow_rows import FIELD, REASON, RESCUED
from pipeline.shape import SOURCE_NAMES, Shape

if TYPE_CHECKING:
    import pyarrow


def landed_columns(batch: pyarrow.RecordBatch, shape: Shape) -> dict[str, Any]:
    """Return the columns to land: `shape.landed`, and the derived partition columns.

    `batch` has the record's own columns and those of `arrow_rows.read_rows`.
    """
    import pyarrow as pa

    columns = {column.name: batch.column(f"{FIELD}{at}") for at, column in enumerate(shape.declared)}
    if shape.rescue:
        columns[shape.rescue] = batch.column(RESCUED)
    own = {name: batch.column(SOURCE_NAMES.get(name, name)) for name in shape.coordinates}
    if shape.key_as == "string":
        # In mode raw its bytes are kept, whatever they are.
        large = pa.types.is_large_binary(own["key"].type)
        own["key"] = own["key"].view(pa.large_string() if large else pa.string())
    columns |= {f"{shape.prefix}{name}": column for name, column in own.items()}
    derived = {"date": _date, "hour": _hour}
    return columns | {name: derived[name](batch.column("timestamp")) for name in shape.derived}


def _without_zone(times: Any) -> Any:
    """Return timestamps as they are in UTC: an image may have no table of time zones to look that up."""
    import pyarrow as pa

    return times.cast(pa.int64()).cast(pa.timestamp("us"))


def _date(times: Any) -> Any:
    import pyarrow as pa

    return _without_zone(times).cast(pa.date32())


def _hour(times: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.hour(_without_zone(times)).cast(pa.int32())


def bad_columns(batch: pyarrow.RecordBatch) -> dict[str, Any]:
    """Return the columns of the quarantine: the records as they came, each with the reason."""
    headers = ["headers"] if "headers" in batch.schema.names else []
    names = ["key", "value", *headers, "topic", "partition", "offset", "timestamp"]
    return {"reason": batch.column(REASON), **{name: batch.column(name) for name in names}}
