"""Views over a few records, for the tests of this folder."""

from __future__ import annotations

import json
from collections.abc import Generator, Sequence
from typing import Any, TypeVar

from hypothesis import settings

from protocol.record_reader import Record, iter_records
from protocol.record_writer import encode_batch
from protocol.records import check_crc
from views.columns import parse_columns
from views.evaluator import Evaluator, build_evaluator
from views.filtering import Filtered, filter_batch
from views.plan import Plan, plan_view
from views.statement import parse_view
from views.tags import TagTable

T = TypeVar("T")

# Machines may be slow: no test fails because it takes long.
UNHURRIED = settings(max_examples=60, deadline=None)
METERS = "ts timestamp, current double, voltage int, location string tag, live bool, payload json"


def make_plan(sql: str, columns: str | None = METERS) -> Plan:
    return plan_view(parse_view(sql), None if columns is None else parse_columns(columns))


def make_view(sql: str, columns: str | None = METERS) -> Evaluator:
    return build_evaluator(make_plan(sql, columns))


def records(*values: Any, key: bytes | None = b"d1") -> list[Record]:
    """Return records with offsets from 0, timestamps from 1000, and values as JSON unless bytes or None."""
    return [Record(at, 1_000 + at, key, content(value)) for at, value in enumerate(values)]


def content(value: Any) -> bytes | None:
    """Return the value of a record: JSON unless bytes or None."""
    return value if value is None or isinstance(value, bytes) else encoded(value)


def encoded(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")


def run(view: Evaluator, given: Sequence[Record], tags: TagTable | None = None, **how: Any) -> Filtered:
    return filter_batch(view, memoryview(encode_batch(given, **how)), tags=tags)


def finished(steps: Generator[None, None, T]) -> tuple[T, int]:
    """Do all steps; return their result, and how many pauses there were between them."""
    pauses = 0
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value, pauses
        pauses += 1


def survivors(filtered: Filtered) -> list[Record]:
    if filtered.batch is None:
        return []
    assert check_crc(filtered.batch)
    return list(iter_records(filtered.batch))


def values(filtered: Filtered) -> list[Any]:
    return [json.loads(record.value or b"null") for record in survivors(filtered)]


def evaluate(expression: str, row: dict[str, Any] | None = None, columns: str | None = METERS) -> Any:
    """Return the value of one expression for one record."""
    filtered = run(make_view(f"SELECT {expression} AS x FROM t", columns), records(row or {}))
    assert filtered.unfit == 0
    return values(filtered)[0]["x"]
