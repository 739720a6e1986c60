"""The records of a batch that do not fit: the batches of `UNFIT topic`.

A record in the result keeps its key, value, timestamp, headers and offset, and has one more header,
`kawal.unfit`, which says why it does not fit (`unfit_reasons.py`).  The loop that queries run decides what
fits; a batch in which everything fits costs as much as for a query, and no more.

A batch that cannot be opened, because it is damaged inside or expands beyond its limit, counts as all unfit
for queries.  Here it becomes one record at its first offset, without a key, whose value is the batch as it is
stored (null above 1 MiB): its records cannot be read one by one, and nothing is hidden.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from protocol.errors import Malformed
from protocol.record_headers import encoded_header
from protocol.record_reader import Record, read_headers, read_varint, record_heads
from protocol.record_writer import VARINTS, encode_batch
from protocol.records import APPEND_TIME, DELETE_HORIZON, HEADER_BYTES, BatchHeader, read_batch_header
from views.code_scan import HEADERS_MAX
from views.evaluator import Evaluator
from views.filtering import DEFAULT_LIMITS, Filtered, Limits, filter_steps, write_header
from views.opening import Opened, opened
from views.plan import UnfitPlan
from views.unfit_judge import FIT_TAGS, Judge
from views.unfit_reasons import UNEXPLAINED, cut

UNFIT_HEADER: Final = "kawal.unfit"
SENTENCES_BYTES_MAX: Final = 4 << 20
"""The limit for the sentences of one batch together; records after it have a short one."""

# Looking at this much takes 2 to 4 ms when none of it fits.
_ROWS_PER_SLICE: Final = 250
_SLICE_BYTES: Final = 128 << 10
_LARGE_BYTES: Final = 1 << 20
_new_tuple: Final = tuple.__new__


class Row(NamedTuple):
    """A record: its place in the batch, with the count of its headers at `tail`, and its content."""

    start: int
    tail: int
    end: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None


def unfit_batch(
    evaluator: Evaluator, batch: memoryview, *, partition: int = 0, limits: Limits = DEFAULT_LIMITS
) -> Filtered:
    """Return the records of `batch`, one whole v2 batch of any codec, that do not fit `evaluator`'s UNFIT.

    The result is not compressed; it belongs to no producer and no transaction, and covers the same offsets.
    `matched` counts what is shown; `unfit` is 0, as the view consists of what does not fit.

    Raises: Malformed when `batch` is not even a header with all the bytes it announces.
    """
    steps = unfit_steps(evaluator, batch, partition=partition, limits=limits)
    while True:
        try:
            next(steps)
        except StopIteration as done:
            result: Filtered = done.value
            return result


def unfit_steps(
    evaluator: Evaluator,
    batch: memoryview,
    *,
    partition: int = 0,
    limits: Limits = DEFAULT_LIMITS,
    content: Opened | None = None,
) -> Generator[None, None, Filtered]:
    """Do `unfit_batch` in slices of 2 to 5 ms, and yield after each.

    `content`: the batch's records, if it has been opened.
    """
    plan = evaluator.plan
    assert isinstance(plan, UnfitPlan), "only UNFIT has such records"
    counted = yield from filter_steps(
        evaluator, batch, tags=FIT_TAGS, partition=partition, limits=limits, content=content
    )
    if not counted.unfit:
        return counted
    header, judge = read_batch_header(batch), _judge_of(evaluator, plan)
    try:
        body = opened(batch, limits.decompressed_bytes_max) if content is None else content
        if isinstance(body, Malformed):
            raise body
        taken = _Taken(judge, header, body, partition, evaluator.record_bytes_max)
        for rows in _slices(_rows(header, body)):
            yield from taken.look_at(rows)
            yield
        if taken.unfit != counted.unfit:
            # Varints that no client writes, such as a null's length in two bytes.
            raise Malformed(0, "records", f"{counted.unfit} do not fit, but {taken.unfit} one by one")
        made, matched = taken.finished(), taken.matched
    except (Malformed, IndexError) as error:
        stand_in = _stand_in(judge, header, batch, partition, error, limits)
        made, matched = stand_in, int(stand_in is not None)
    return Filtered(made, counted.scanned, matched, 0, header.last_offset)


def _judge_of(evaluator: Evaluator, plan: UnfitPlan) -> Judge:
    """Return the judge of an evaluator's plan, compiled once: about 3 ms."""
    found = evaluator.made.get("judge")
    if found is None:
        found = evaluator.made["judge"] = Judge(plan)
    return found


class _Taken:
    """The growing batch of what does not fit."""

    def __init__(
        self, judge: Judge, header: BatchHeader, body: bytes, partition: int, record_bytes_max: int
    ) -> None:
        self._judge = judge
        self._header = header
        self._body = body
        self._partition = partition
        self._record_bytes_max = record_bytes_max
        self._made = bytearray(HEADER_BYTES)
        self._room = SENTENCES_BYTES_MAX
        self._newest = -(2**63)
        self.unfit = 0
        self.matched = 0

    def look_at(self, rows: Sequence[Row]) -> Iterator[None]:
        """Add the rows that do not fit; yield where they are large.  Raises: Malformed, IndexError."""
        reasons: dict[int, str] = {}
        looked_at: Sequence[Row] = rows
        size_bytes = rows[-1].end - rows[0].start if rows else 0
        if self._judge.reads_headers or size_bytes > self._record_bytes_max:
            found = [(row, self._bound_problem(row)) for row in rows]
            reasons = {row.start: reason for row, reason in found if reason is not None}
            looked_at = [row for row, reason in found if reason is None]
        columns: dict[str, list[Any]] = {"value": [row.value for row in looked_at]}
        if self._judge.reads_headers:
            columns["key"] = [row.key for row in looked_at]
            columns["headers"] = [self._headers_of(row) for row in looked_at]
        unfit = [looked_at[at] for at in self._judge.unfit(columns, len(looked_at))]
        if reasons:
            unfit = sorted([*unfit, *(row for row in rows if row.start in reasons)])
        if size_bytes > _LARGE_BYTES:
            yield
        self.unfit += len(unfit)
        newest = self._header.max_timestamp
        columns = _asked_columns(self._judge.asks, unfit, self._headers_of, self._partition, newest)
        for at in self._judge.asked_for(columns, len(unfit)) if unfit else ():
            self._add(unfit[at], reasons.get(unfit[at].start))

    def _bound_problem(self, row: Row) -> str | None:
        """Return why a record is beyond the bounds and is not looked at; None if it is within them."""
        if (size := row.end - row.start) > self._record_bytes_max:
            return f"a record of {size} bytes is not looked at; at most {self._record_bytes_max} are allowed"
        if self._judge.reads_headers and self._body[row.tail]:
            count, _ = read_varint(self._body, row.tail)
            if count > HEADERS_MAX:
                return f"tags are looked for in {HEADERS_MAX} headers at most, but the record has {count}"
        return None

    def _headers_of(self, row: Row) -> Sequence[tuple[str, bytes | None]]:
        headers, end = read_headers(self._body, row.tail) if self._body[row.tail] else ((), row.tail + 1)
        if end != row.end:
            problem = f"end at byte {end}, their record at {row.end}"
            raise Malformed(row.tail, f"headers of offset {row.offset}", problem)
        return headers

    def _add(self, row: Row, reason: str | None) -> None:
        headers = self._headers_of(row)
        if reason is None:
            reason = self._judge.explain(row.value, headers) if self._room > 0 else UNEXPLAINED
        sentence = reason.encode()
        self._room -= len(sentence)
        more = encoded_header(UNFIT_HEADER, sentence)
        body, (_, content) = self._body, read_varint(self._body, row.start)
        count, behind = read_varint(body, row.tail)
        number = VARINTS[count + 1]
        size = row.tail - content + len(number) + row.end - behind + len(more)
        self._made += b"".join(
            (VARINTS[size], body[content : row.tail], number, body[behind : row.end], more)
        )
        self._newest = max(self._newest, row.timestamp_ms)
        self.matched += 1

    def finished(self) -> bytes | None:
        """Return the batch; None when there is nothing in it."""
        if not self.matched:
            return None
        header, made = self._header, self._made
        newest = header.max_timestamp if header.is_append_time else self._newest
        write_header(made, header, header.attributes & (APPEND_TIME | DELETE_HORIZON), newest, self.matched)
        return bytes(made)


def _rows(header: BatchHeader, body: bytes) -> Iterator[Row]:
    """Yield the records of a batch, without their headers.  Raises: Malformed, IndexError."""
    start = 0
    for offset, timestamp, at, end in record_heads(header, body):
        length, at = read_varint(body, at)
        key = None if length < 0 else body[at : (at := at + length)]
        length, at = read_varint(body, at)
        value = None if length < 0 else body[at : (at := at + length)]
        if at >= end:
            raise Malformed(at, f"record of offset {offset}", f"its headers begin after its end, {end}")
        # Row(...) itself would take twice as long.
        yield _new_tuple(Row, (start, at, end, offset, timestamp, key, value))
        start = end


def _asked_columns(
    asks: frozenset[str],
    rows: Sequence[Row],
    headers_of: Callable[[Row], Any],
    partition: int,
    max_timestamp: int,
) -> dict[str, list[Any]]:
    """Return what WHERE needs of the records, in columns."""
    read: dict[str, Callable[[Row], Any]] = {
        "key": lambda row: row.key,
        "headers": headers_of,
        "timestamp": lambda row: min(row.timestamp_ms, max_timestamp),
        "offset": lambda row: row.offset,
        "partition": lambda _: partition,
    }
    return {need: [read[need](row) for row in rows] for need in asks}


def _slices(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Yield the rows in slices that are looked at in one go."""
    taken: list[Row] = []
    size_bytes = 0
    for row in rows:
        taken.append(row)
        size_bytes += row.end - row.start
        if len(taken) >= _ROWS_PER_SLICE or size_bytes >= _SLICE_BYTES:
            yield taken
            taken, size_bytes = [], 0
    yield taken


def _stand_in(
    judge: Judge, header: BatchHeader, batch: memoryview, partition: int, error: Exception, limits: Limits
) -> bytes | None:
    """Return the batch of one record that stands for a batch whose records cannot be read one by one."""
    last = max(header.base_offset, header.last_offset)
    moment = header.max_timestamp if header.is_append_time else header.base_timestamp
    row = Row(0, 0, 0, header.base_offset, moment, None, None)
    columns = _asked_columns(judge.asks, [row], lambda _: (), partition, header.max_timestamp)
    if not list(judge.asked_for(columns, 1)):
        return None
    sentence = cut(
        f"the batch of {header.record_count} records from offset {header.base_offset} to {last} cannot be"
        f" opened: {error}"
    )
    stored = bytes(batch[: header.size_bytes]) if header.size_bytes <= limits.value_bytes_max else None
    return bytes(
        encode_batch(
            [Record(row.offset, moment, None, stored, ((UNFIT_HEADER, sentence.encode()),))],
            last_offset=last,
            leader_epoch=header.leader_epoch,
            append_time_ms=header.max_timestamp if header.is_append_time else None,
        )
    )
