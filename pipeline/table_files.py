"""The Parquet files of a table as pyarrow sees them: their columns, and the file that names those of all.

`_common_metadata` is a Parquet file without rows. Spark takes a table's columns from it; without it, from
any one file, which may be older than the newest column. DuckDB reads a table that has been widened with
`union_by_name = true`, pyarrow with the schema of this file.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.ledger import Entry, Ledger
from pipeline.table_note import TableNote, widens

if TYPE_CHECKING:
    import pyarrow

_NAMES = {
    "bool": "boolean",
    "int8": "tinyint",
    "int16": "smallint",
    "int32": "int",
    "int64": "bigint",
    "float": "float",
    "double": "double",
    "string": "string",
    "binary": "binary",
    "date32[day]": "date",
    "large_string": "string",
    "large_binary": "binary",
}


def note_of_files(ledger: Ledger, expected: TableNote) -> TableNote | None:
    """Return the note of a table landed by a version that wrote none, from the newest file; None without
    files.

    Folders hold no types: columns of `partition_by` are taken to be as `expected`. Whether a column may be
    null is not in the files, either: those that `expected` declares not null are taken to have been so.
    """
    for batch in reversed(ledger.batches()):
        entry = ledger.read(batch)
        if entry.files:
            return _note(ledger.batch_folder(batch), entry, expected)
    return None


def _note(folder: Path, entry: Entry, expected: TableNote) -> TableNote:
    import pyarrow.parquet as pq

    path = entry.files[0].path
    folders = [part.partition("=")[0] for part in Path(path).parts[:-1]]
    columns = {field.name: type_name(field.type) for field in pq.read_schema(folder / path)}
    inside = {name: expected.columns[name] for name in folders if name in expected.columns}
    ordered = {name: (columns | inside)[name] for name in expected.columns if name in columns | inside}
    return TableNote(
        columns=ordered | columns,
        required=[name for name in expected.required if name in columns | inside],
        partition_by=folders,
        batch_column=expected.batch_column,
    )


def type_name(kind: pyarrow.DataType) -> str:
    """Return Spark's name of a type."""
    import pyarrow as pa

    if pa.types.is_timestamp(kind):
        return "timestamp" if kind.tz else "timestamp_ntz"
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if pa.types.is_map(kind):
        return f"map<{type_name(kind.key_type)},{type_name(kind.item_type)}>"
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return f"array<{type_name(kind.value_type)}>"
    if pa.types.is_struct(kind):
        members = [kind.field(at) for at in range(len(kind))]
        return f"struct<{','.join(f'{member.name}:{type_name(member.type)}' for member in members)}>"
    return _NAMES.get(str(kind), str(kind))


def write_schema(ledger: Ledger, scratch: Path, files: list[Path]) -> None:
    """Write the columns of the table and of new `files` into its `_common_metadata`, unless they are there
    already.

    It is replaced at once, before files with the new columns appear: the older ones can be read as the
    newer.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    content = ledger.columns()
    known = None if content is None else pq.read_schema(pa.BufferReader(content))
    if not files and known is None:
        return
    merged = known
    for path in files[:1]:
        merged = _merged(known, pq.read_schema(path))
    if merged is None or (known is not None and merged.equals(known)):
        return
    written = pa.BufferOutputStream()
    pq.write_metadata(merged, written)
    ledger.write_columns(written.getvalue().to_pybytes(), scratch)


def _merged(known: Any, new: Any) -> Any:
    """Return both schemas as one: every column, in the wider of its types."""
    import pyarrow as pa

    # Spark's own description of a file's columns would be read in place of the columns.
    new = new.remove_metadata()
    if known is None:
        return new
    fields = {field.name: field for field in known.remove_metadata()}
    for field in new:
        before = fields.get(field.name)
        if before is None or widens(type_name(before.type), type_name(field.type)):
            fields[field.name] = field
    return pa.schema(list(fields.values()))
