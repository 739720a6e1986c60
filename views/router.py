"""The records of a batch by the value of one expression, for many views that compare it.

    router = build_router(plan, expression)        `device`, of the views `... WHERE device = 'd1'`, 'd2', ...
    routed = yield from route_steps(router, batch)
    routed.records("d1")                           a batch of just the records for which it is 'd1'

Records keep their bytes.  The body of the batch is kept as it is, with the places of the records in it: a
value's records are cut out only for views that want them.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import partial
from struct import Struct
from typing import Any, Final

from protocol.errors import Malformed
from protocol.records import HEADER_BYTES, PREFIX_BYTES, BatchHeader, read_batch_header
from views.bounds import EVERYTHING
from views.code_expressions import Coder
from views.code_scan import route_source
from views.columns import Column
from views.evaluator import LoopCompiler, first_records
from views.expressions import Expression, OutputColumn
from views.filtering import DEFAULT_LIMITS, Limits, scan_in_slices, start_scan
from views.opening import Opened, opened
from views.plan import Plan
from views.statement import parse_view

_LENGTH: Final = Struct(">i")
_LENGTH_AT, _ATTRIBUTES_AT, _COUNT_AT = 8, 21, 57
_CODEC_LOW_BYTE: Final = 0x07
_RANGE_BYTES: Final = 70
"""The memory that the place of a record takes: two numbers in a list."""


@dataclass(frozen=True, slots=True)
class Router:
    """A compiled expression; it has no state."""

    scan: Callable[..., None]
    record_bytes_max: int
    first_records: int


def build_router(plan: Plan, expression: Expression) -> Router:
    """Compile `expression`, a part of the plan's predicate; takes about 2 ms."""
    alone = Plan(plan.statement, _uses(plan, expression), None, (OutputColumn("r", expression),), EVERYTHING)
    write = partial(route_source, record_bytes_max=alone.record_bytes_max)
    scan = _RouteCompiler(alone).build("scan", write)
    return Router(scan, alone.record_bytes_max, first_records(alone.weight))


def routed_plan(plan: Plan, expression: Expression) -> Plan:
    """Return a plan from which the router of the expression can be built, and nothing else."""
    return Plan(parse_view("SELECT * FROM topic"), _uses(plan, expression), None, None, EVERYTHING)


def _uses(plan: Plan, expression: Expression) -> tuple[Column, ...]:
    used = {node.value for node in expression.walk() if node.op in ("column", "tag")}
    return tuple(column for column in plan.uses if column.name in used)


class _RouteCompiler(LoopCompiler):
    """A compiler of just the only column's value, where others compile the object that holds the columns."""

    def value(self, coder: Coder) -> ast.expr:
        assert self.plan.output is not None
        return coder.value(self.plan.output[0].expression)


@dataclass(frozen=True, slots=True)
class RoutedBatch:
    """A routed batch; `places` has the start and end of each record, by the value of the expression."""

    header: BatchHeader
    head: bytes
    body: bytes
    places: dict[Any, list[int]]
    unfit: int

    @property
    def size_bytes(self) -> int:
        """The memory that it takes, about."""
        return len(self.body) + self.header.record_count * _RANGE_BYTES + 500

    def records(self, value: int | str) -> memoryview | None:
        """Return the value's records as a batch, not compressed and without a CRC; None if there are none."""
        places = self.places.get(value)
        if places is None:
            return None
        body, numbers = self.body, iter(places)
        cut = [body[start:end] for start, end in zip(numbers, numbers, strict=True)]
        made = bytearray().join([self.head, *cut])
        _LENGTH.pack_into(made, _LENGTH_AT, len(made) - PREFIX_BYTES)
        _LENGTH.pack_into(made, _COUNT_AT, len(cut))
        made[_ATTRIBUTES_AT + 1] &= ~_CODEC_LOW_BYTE
        return memoryview(made)


def route_steps(
    router: Router,
    batch: memoryview,
    *,
    partition: int = 0,
    limits: Limits = DEFAULT_LIMITS,
    content: Opened | None = None,
) -> Generator[None, None, RoutedBatch]:
    """Route each record of `batch`, one whole v2 batch of any codec; yield after each slice.

    Records for which the expression is NULL are left out; those for which it cannot be evaluated are unfit,
    and so are all records of a batch that cannot be opened.  `content`: its records, if it has been opened.
    """
    header, head = read_batch_header(batch), bytes(batch[:HEADER_BYTES])
    none = RoutedBatch(header, head, b"", {}, header.record_count)
    body = opened(batch, limits.decompressed_bytes_max) if content is None else content
    if isinstance(body, Malformed):
        return none
    state = start_scan(header, body, None, partition, limits, router.record_bytes_max)
    places: defaultdict[Any, list[int]] = defaultdict(list)
    state.out = places.__getitem__
    count = header.record_count
    if not (yield from scan_in_slices(router.scan, state, count, limits, router.first_records)):
        return none
    places.pop(None, None)
    return RoutedBatch(header, head, body, dict(places), state.unfit)
