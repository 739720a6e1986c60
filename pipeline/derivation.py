"""The result of a view's query, made by Spark's workers: the gateway's own plan over Arrow's record batches.

The topic may be any broker's. What the query takes and what it makes of it is what a view of this statement
on the gateway would show: the same records, with the same offsets, keys and headers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from pipeline.columns import parse_columns as parse_table_columns
from pipeline.config import SourceSection
from pipeline.errors import JobFileError
from views.arrow import evaluate
from views.column_types import Kind as ValueKind
from views.columns import parse_columns
from views.errors import ViewError
from views.plan import Plan, plan_view
from views.statement import Kind, parse_view

if TYPE_CHECKING:
    import pyarrow

Batches = Iterator["pyarrow.RecordBatch"]


NUMBERS = frozenset({"tinyint", "smallint", "int", "bigint", "float", "double"})
UNFIT = {ValueKind.STRING: "number", ValueKind.INT: "string", ValueKind.DOUBLE: "string"}
"""By kind of a result's value, the types of columns that none of it fits."""


@lru_cache(maxsize=16)
def plan_of(statement: str, columns: str) -> Plan:
    """Return the plan of a query over a topic whose values have these columns ("": none are declared).

    Raises: JobFileError naming what cannot be evaluated.
    """
    try:
        declared = parse_columns(columns) if columns.strip() else None
        if declared is not None and any(column.is_tag for column in declared):
            raise JobFileError(
                "source.view_columns declares tags, which records may have from earlier ones of their key; "
                "only a "
                "view on the gateway knows them: create it there and land its topic"
            )
        parsed = parse_view(statement)
        if parsed.kind is not Kind.QUERY:
            raise JobFileError("source.view must be SELECT … FROM topic; create other views on the gateway")
        return plan_view(parsed, declared)
    except ViewError as error:
        raise JobFileError(f"source.view cannot be evaluated: {error}") from error


def check_view(source: SourceSection) -> None:
    """Refuse a view that does not fit the job's topics.  Raises: JobFileError."""
    if not source.view:
        if source.view_columns:
            raise JobFileError("source.view_columns is given without source.view")
        return
    topic = plan_of(source.view, source.view_columns).statement.source
    if source.topics != [topic]:
        raise JobFileError(
            f"source.view reads {topic!r}, but source.topics is {source.topics}; name that topic alone"
        )


def check_result(source: SourceSection, columns: str) -> None:
    """Refuse columns of the table that a view's result does not have, or has as something else.

    Rows would have null in each, or every record would be bad.  Raises: JobFileError.
    """
    output = plan_of(source.view, source.view_columns).output
    if output is None:
        return
    kinds = {column.name: column.expression.type.kind for column in output}
    for column in parse_table_columns(columns):
        kind = kinds.get(column.name)
        if kind is None:
            raise JobFileError(
                f"schema.columns declares {column.name!r}, which the result of source.view does not have; "
                f"its columns are {', '.join(kinds)}"
            )
        if UNFIT.get(kind) == _family(column.type.name):
            raise JobFileError(
                f"schema.columns declares {column.name!r} as {column.type.name}, but it is {kind.value} in "
                "the result of source.view: no record would fit; declare it so"
            )


def _family(name: str) -> str:
    return "number" if name in NUMBERS else name


def view_reader(statement: str, columns: str) -> Callable[[Batches], Batches]:
    """Return the function for `mapInArrow`: it is sent to the workers as two texts."""

    def read(batches: Batches) -> Batches:
        plan = plan_of(statement, columns)
        for batch in batches:
            yield evaluate(plan, batch)

    return read
