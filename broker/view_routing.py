"""Many views over one topic that ask the same of every record, each for another answer, looked at together.

A thousand views `… WHERE device = 'd1' …`, `… WHERE device = 'd2' …` would each look at every record.  They
share a route, the expression `device`: it is evaluated once for each record, and only the view whose value
came out looks at the record itself, with all of its condition.

    batch --route--> {value: records}        one evaluation for all
    records of a value --evaluator of its view--> what the view shows
    every other view: nothing, which costs next to nothing

Only views that somebody waits for, at the end of the topic, are looked at together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from broker.scanned_view import SCAN_BYTES, is_aborted
from broker.slices import Steps
from broker.view_cache import Evaluated
from protocol.record_reader import Record, iter_records
from protocol.record_writer import encode_batch
from protocol.records import BatchHeader, iter_batches, read_batch_header
from wal.disk import DiskError
from wal.errors import OffsetOutOfRange, WalError
from wal.segment import FileRange

if TYPE_CHECKING:
    from broker.query_view import QueryPartition
    from broker.view_hub import SliceBudget
    from views.evaluator import Evaluator
    from views.expressions import Expression
    from views.plan import Plan

UNITS_OF_SHOWING: Final = 60
"""What it costs to show a view some records, in the units of `SliceBudget`."""

_decode: Final = msgspec.json.Decoder(dict[str, int | str | bool | None]).decode


@dataclass(frozen=True, slots=True)
class Route:
    """What a view asks of every record, and the answer it wants."""

    expression: Expression
    number: int
    """Stands for the expression."""
    value: int | str


def route_of(plan: Plan, number_of: Callable[[Expression], int]) -> Route | None:
    """The first `expression = constant` that every record of a view must fulfil; None when there is none."""
    pending = [] if plan.predicate is None or "tags" in plan.needs else [plan.predicate]
    while pending:
        one = pending.pop()
        if one.op == "and":
            pending += reversed(one.args)
        elif one.op == "eq":
            for wanted, asked in (one.args, one.args[::-1]):
                if _is_routable(wanted, asked):
                    return Route(asked, number_of(asked), wanted.value)
    return None


def _is_routable(wanted: Expression, asked: Expression) -> bool:
    """Whether both are whole numbers, or both texts: what is equal then is the same key of a dictionary."""
    kinds = wanted.type.kind.value, asked.type.kind.value
    return (
        wanted.op == "literal"
        and asked.op != "literal"
        and kinds in (("int", "int"), ("string", "string"))
        and type(wanted.value) in (int, str)
    )


def route_evaluator(plan: Plan, expression: Expression) -> Evaluator:
    """What gives the value of the expression for each record, as the only column of a result."""
    from views.bounds import EVERYTHING
    from views.evaluator import build_evaluator
    from views.expressions import OutputColumn
    from views.plan import Plan as Made

    used = {one.value for one in expression.walk() if one.op in ("column", "tag")}
    uses = tuple(column for column in plan.uses if column.name in used)
    return build_evaluator(Made(plan.statement, uses, None, (OutputColumn("r", expression),), EVERYTHING))


def catch_up_together(
    views: Sequence[QueryPartition], evaluator: Evaluator, budget: SliceBudget
) -> Iterator[None]:
    """Look at what is new for all of them; they wait at one offset and share the route of `evaluator`."""
    lead = views[0]
    while lead.seen < lead.high_watermark:
        try:
            yield from _next_batches(views, evaluator, budget)
        except (OffsetOutOfRange, WalError, DiskError):
            # Each finds out for itself; those who wait read again when their time is up.
            return


class Routed(NamedTuple):
    """A batch after its route: the records by their values, and the offsets that it stands for."""

    header: BatchHeader
    start: int
    records: dict[Any, list[Record]]
    unfit: int


def _next_batches(
    views: Sequence[QueryPartition], evaluator: Evaluator, budget: SliceBudget
) -> Iterator[None]:
    lead = views[0]
    log, stream_id = lead.vnode.log, lead.stream_id
    offset = begin = lead.seen
    end = lead.high_watermark
    result = log.read(stream_id, offset, SCAN_BYTES)
    aborted = log.producers(stream_id).aborted_between(offset, max(result.next_offset, offset + 1))
    data = b"".join(part.read() if isinstance(part, FileRange) else part for part in result.parts)
    chunk: list[Routed] = []
    for batch in iter_batches(data):
        header = read_batch_header(batch)
        if header.base_offset >= end:
            break
        found: dict[Any, list[Record]] = {}
        unfit = 0
        if not (header.is_control or is_aborted(header, aborted)):
            found, unfit = yield from _routed(batch, header, lead.index, evaluator)
            if budget.spend(records=3 * header.record_count, size_bytes=header.size_bytes):
                yield
        chunk.append(Routed(header, min(offset, header.base_offset), found, unfit))
        offset = header.last_offset + 1
    # Where nothing is stored any more, compaction has removed it.
    yield from _tell(views, chunk, begin, offset if chunk else end, budget)


def _routed(batch: memoryview, header: BatchHeader, partition: int, evaluator: Evaluator) -> Steps:
    """(records by the value of the route, how many did not fit); records without a value are left out."""
    from broker.query_view import in_pairs
    from views.filtering import filter_steps

    routed = yield from in_pairs(filter_steps(evaluator, batch, partition=partition))
    found: dict[Any, list[Record]] = {}
    if routed.batch is None:
        return found, routed.unfit
    values = {record.offset: _decode(record.value or b"{}")["r"] for record in iter_records(routed.batch)}
    for record in iter_records(batch):
        value = values.get(record.offset)
        if value is not None:
            found.setdefault(value, []).append(record)
    return found, routed.unfit


def _tell(
    views: Sequence[QueryPartition], chunk: list[Routed], begin: int, end: int, budget: SliceBudget
) -> Iterator[None]:
    """Let every view remember what the batches show it, and wake those who wait for it."""
    present = {value for one in chunk for value in one.records}
    scanned, unfit = sum(one.header.record_count for one in chunk), sum(one.unfit for one in chunk)
    for view in views:
        counters = view.counters
        counters.scanned += scanned
        counters.unfit += unfit
        assert view.route is not None
        if view.route.value in present:
            _show(view, chunk)
            is_over = budget.spend_units(UNITS_OF_SHOWING)
        else:
            view.ranges.add_nothing(begin, end)
            if view.seen == begin:
                view.seen = end
            is_over = budget.spend_units(1)
        if is_over:
            yield


def _show(view: QueryPartition, chunk: list[Routed]) -> None:
    assert view.route is not None
    for one in chunk:
        records = one.records.get(view.route.value)
        shown = None if records is None else _shown(view, one.header, records)
        end = one.header.last_offset + 1
        if shown is None:
            view.ranges.add_nothing(one.start, end)
        else:
            view.ranges.add(Evaluated(one.start, end, shown))
        if view.seen == one.start:
            view.caught_up(end, 0 if shown is None else len(shown))


def _shown(view: QueryPartition, header: BatchHeader, records: list[Record]) -> bytes | None:
    """What a view shows of the records that its route has brought."""
    from views.filtering import filter_batch

    few = encode_batch(
        records,
        base_offset=header.base_offset,
        last_offset=header.last_offset,
        leader_epoch=header.leader_epoch,
        append_time_ms=header.max_timestamp if header.is_append_time else None,
    )
    made = filter_batch(view.evaluator, memoryview(few), partition=view.index)
    view.counters.matched += made.matched
    view.counters.unfit += made.unfit
    return made.batch
