"""The facts about a table that every entry of its ledger repeats: columns, folders, format.

A job file that has been edited since the table was begun is compared with them. What every reader of the
table takes as it is may change, and widens the note:

    a new column that may be null          a column that may now be null
    tinyint → smallint → int → bigint      float → double          decimal(p,s) → decimal(q,s), q > p

Everything else is refused, each difference by name: files of one table that contradict each other cannot be
read together.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from pipeline.config import Job
from pipeline.errors import LedgerError
from pipeline.shape import Shape

INTEGERS: Final = ("tinyint", "smallint", "int", "bigint")
FLOATS: Final = ("float", "double")
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")


class TableNote(msgspec.Struct, frozen=True, kw_only=True):
    """The columns of a table with their stored types, those that are never null, and its layout."""

    columns: dict[str, str]
    required: list[str] = []
    partition_by: list[str] = []
    batch_column: str = "batch"
    kind: str = "parquet"
    view: str = ""
    """The query whose result the table holds."""


def note_of(job: Job, shape: Shape) -> TableNote:
    """Return the note of the table that `job` would make."""
    return TableNote(
        columns=shape.stored,
        required=shape.required,
        partition_by=list(job.sink.partition_by),
        batch_column=job.sink.batch_column,
        kind=job.sink.kind,
        view=job.source.view,
    )


def fitted(table: str, before: TableNote, now: TableNote) -> tuple[TableNote, list[str]]:
    """Return the note of the table once the job has landed in it, and a sentence for each thing that widens.

    Raises: LedgerError naming every difference that the table cannot take.
    """
    refused = _layout(before, now)
    widened: list[str] = []
    columns = dict(before.columns)
    for name, kind in now.columns.items():
        known = columns.get(name)
        if known is None:
            if name in now.required:
                refused.append(f"column {name!r} is new and declared not null, but the rows so far have none")
            else:
                widened.append(f"new column {name!r} {kind}, null in the rows so far")
        elif known != kind and not (widens(known, kind) and before.kind != "delta"):
            refused.append(f"column {name!r} is {known} in the table, but {kind} in the job")
        elif known != kind:
            widened.append(f"column {name!r} becomes {kind}, from {known}")
        columns[name] = kind
    refused += [
        f"column {name!r} ({kind}) of the table is missing in the job"
        for name, kind in before.columns.items()
        if name not in now.columns
    ]
    for name in before.columns.keys() & now.columns.keys():
        if name in now.required and name not in before.required:
            refused.append(f"column {name!r} is declared not null, but rows of the table may have none")
        elif name in before.required and name not in now.required:
            widened.append(f"column {name!r} may be null from now on")
    if refused:
        raise LedgerError(
            f"{table} was landed with other columns or another layout: {'; '.join(refused)}. Undo these "
            "changes "
            "of the job file, or give the job another sink.path"
        )
    required = [name for name in before.required if name in now.required]
    return msgspec.structs.replace(before, columns=columns, required=required), widened


def widens(before: str, now: str) -> bool:
    """Return whether every value of type `before` is one of type `now` that readers convert by themselves."""
    for family in (INTEGERS, FLOATS):
        if before in family and now in family:
            return family.index(before) < family.index(now)
    old, new = _DECIMAL.fullmatch(before), _DECIMAL.fullmatch(now)
    return bool(old and new and old[2] == new[2] and int(old[1]) < int(new[1]))


def _layout(before: TableNote, now: TableNote) -> list[str]:
    differences = []
    for key, old, new in (
        ("sink.kind", before.kind, now.kind),
        ("sink.partition_by", before.partition_by, now.partition_by),
        ("source.view", before.view, now.view),
        ("sink.batch_column", before.batch_column, now.batch_column),
    ):
        if old != new:
            differences.append(f"{key} is {old!r} in the table, but {new!r} in the job")
    return differences
