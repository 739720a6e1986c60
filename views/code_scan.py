"""The loop over the records of a batch, written for one plan: it reads only the needed parts of each record.

The text below is ours alone; the user's expressions are inserted as syntax trees in place of PREDICATE and
VALUE.  A record is laid out as in `protocol.record_reader`:

    length  attributes  timestamp delta  offset delta  key length, key  value length, value  headers
    ^first  ^head                                                       ^start               ^stop

One call takes its first ten bytes apart, which nearly always hold everything up to the key: `low` and `high`
are the length, then come `b0` and on.  Wider fields are read a second time, number by number.  A record is
malformed unless its parts lie one after the other up to `at`, where the next record begins.  Lengths of two
bytes are taken as positive: a negative one would be written in one byte.

Values are decoded one by one: a call costs 0.03 µs, less than joining them for the decoder's `decode_lines`,
which would also take two objects in one value, and none in the next, for two records.

Records that match keep their bytes: all of them where values stay as they are, else all but the value and the
two lengths that change with it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

# 0.6 µs each, when a view reads headers.
HEADERS_MAX: Final = 10_000
# The largest record whose length is written in two bytes, these included.
_USUAL_BYTES_MAX: Final = 8_193

_HEAD = """
def scan(state, count):
    body, source, at = state.body, state.source, state.at
    base_timestamp, base_offset, append_time = state.base_timestamp, state.base_offset, state.append_time
    partition, tags, out, max_timestamp = state.partition, state.tags, state.out, state.max_timestamp
    room, value_max, record_max = state.room, state.value_max, state.record_max
    matched, unfit, newest = state.matched, state.unfit, state.newest
    run_start, run_end = state.run_start, state.run_end
    for _ in range(count):
        first = at
        try:
            low, high, b0, b1, b2, b3, b4, b5, b6 = TEN_BYTES(body, at)
        except TooShort:
            low, high, b0, b1, b2, b3, b4, b5, b6 = TEN_BYTES(body[at:] + NOTHING)
        if low > 127 and high < 128:
            head = at + 2
            at = head + LOW[low] + HIGH[high]
        else:
            if low < 128:
                head = at + 1
                at = head + (low >> 1)
            else:
                length, head = read_varint(body, at)
                at = head + length
            try:
                b0, b1, b2, b3, b4, b5, b6 = EIGHT_BYTES(body, head)
            except TooShort:
                b0, b1, b2, b3, b4, b5, b6 = EIGHT_BYTES(body[head:] + NOTHING)
"""
_SIZE = """
        if at - first > record_max:
            unfit += 1
            continue
"""
_BEFORE_KEY = """
        if b0 < 128:
            if b1 < 128:
                OFFSET = base_offset + (b1 >> 1)
                size, low, high = b2, b3, b4
                p = head + 4
            elif b2 < 128:
                OFFSET = base_offset + LOW[b1] + HIGH[b2]
                size, low, high = b3, b4, b5
                p = head + 5
            else:
                size = WIDE
        elif b1 < 128:
            if b2 < 128:
                OFFSET = base_offset + (b2 >> 1)
                size, low, high = b3, b4, b5
                p = head + 5
            elif b3 < 128:
                OFFSET = base_offset + LOW[b2] + HIGH[b3]
                size, low, high = b4, b5, b6
                p = head + 6
            else:
                size = WIDE
        else:
            size = WIDE
        if size > 1:
            if size < 128:
                length = ZIGZAG[size]
            elif size == WIDE:
                b0 = WIDE
                delta, p = read_varint(body, head + 1, 64)
                length, p = read_varint(body, p)
                OFFSET = base_offset + length
                length, p = read_varint(body, p)
            else:
                length, p = read_varint(body, p - 1)
            KEY = body[p:p + length] if length >= 0 else None
            if length > 0:
                p += length
            low, high = body[p], body[p + 1]
        KEYLESS
"""
_KEYLESS = """
        else:
            key = None if size else b""
"""
_DELTA = """
        if b0 < 128:
            delta = ZIGZAG[b0]
        elif b0 != WIDE:
            delta = LOW[b0] + HIGH[b1] ^ -(b0 & 1)
"""
_TIMESTAMP = """
        rowts = base_timestamp + delta
        if append_time is not None:
            rowts = append_time
        if not INT64_MIN <= rowts <= INT64_MAX:
            raise Malformed(p, "record timestamp", f"is {rowts}")
        if rowts > max_timestamp:
            rowts = max_timestamp
"""
_VALUE_LENGTH = """
        start = p
        if low > 127 and high < 128:
            length = LOW[low] + HIGH[high]
            p += 2
            stop = p + length
        else:
            if low < 128:
                length = ZIGZAG[low]
                p += 1
            else:
                length, p = read_varint(body, p)
            stop = p + length if length > 0 else p
        if stop >= at:
            raise Malformed(p, "record value", f"ends at byte {stop}, its record at {at}")
"""
_HEADERS = """
        headers = ()
        if body[stop]:
            number, _ = read_varint(body, stop)
            if number > HEADERS_MAX:
                unfit += 1
                continue
            headers, _ = read_headers(body, stop)
"""
_TRY = """
        try:
"""
_DECODE = """
            row = decode(source[p:stop]) if length >= 0 else EMPTY
"""
_DECODE_FRAMED = """
            row = decode(state.unframe(source[p:stop])) if length >= 0 else EMPTY
"""
_TEST = """
            if not PREDICATE:
                continue
"""
_ENCODE = """
            value = encode(VALUE)
            if (length := len(value)) > value_max:
                raise ValueError
            if (room := room - length) < 0:
                raise ValueError
"""
_EXCEPT = """
        except FAULTS:
            unfit += 1
            continue
"""
_MATCHED = """
        matched += 1
"""
_NEWEST = """
        if delta > newest:
            newest = delta
"""
_KEEP = """
        if run_end == first:
            run_end = at
        else:
            if run_end:
                out.append(body[run_start:run_end])
            run_start, run_end = first, at
"""
_WRITE = """
        rest = start - head + length
        if at - stop == 1 and rest < SHORT_MAX - 3:
            if length < 64:
                out += SHORT[rest + 2], body[head:start], SHORT[length], value, NO_HEADERS
            else:
                out += SHORT[rest + 3], body[head:start], SHORT[length], value, NO_HEADERS
        else:
            size = VARINTS[length]
            out += VARINTS[rest + len(size) + at - stop], body[head:start], size, value, body[stop:at]
"""
_PLACE = """
        value += first, at
"""
_TAIL = """
    state.at, state.room = at, room
    state.matched, state.unfit, state.newest = matched, unfit, newest
    state.run_start, state.run_end = run_start, run_end
"""


_ROWS_HEAD = """
def scan_rows(count, columns, tags, taken, made):
    unfit = 0
NEEDED    for at in range(count):
"""
_ROWS_TAIL = """
        except FAULTS:
            unfit += 1
            continue
        taken.append(at)
"""


def row_scan_source(
    needs: frozenset[str],
    *,
    loads: Iterable[str],
    decodes: bool,
    filters: bool,
    projects: bool,
    framed: bool,
) -> str:
    """Return the text of the loop over rows in columns: the same view of records already taken apart."""
    names = {need: _ROW_NAMES[need] for need in sorted(needs & _ROW_NAMES.keys())}
    needed = "".join(f"    all_{name} = columns[{need!r}]\n" for need, name in names.items())
    parts = [_ROWS_HEAD.replace("NEEDED", needed)]
    parts += [f"        {name} = all_{name}[at]\n" for name in names.values()]
    parts += [_TRY, "            row = EMPTY if text is None else decode(text)\n" if decodes else ""]
    parts += [f"            {line}\n" for line in loads]
    parts += [_TEST] * filters + ["            value = encode(VALUE)\n"] * projects
    parts += [_ROWS_TAIL] + ["        made.append(value)\n"] * projects + ["    return unfit\n"]
    return "".join(parts)


_ROW_NAMES: Final = {
    "value": "text",
    "key": "key",
    "headers": "headers",
    "timestamp": "rowts",
    "offset": "offset",
    "partition": "partition",
}


def scan_source(
    needs: frozenset[str],
    *,
    loads: Iterable[str],
    decodes: bool,
    filters: bool,
    projects: bool,
    framed: bool,
    record_bytes_max: int,
) -> str:
    """Return the text of the loop for a plan; `loads` are lines that prepare the decoded columns."""
    has_time = "timestamp" in needs
    decode = (_DECODE_FRAMED if framed else _DECODE) if decodes else ""
    parts = _to_value(needs, loads, record_bytes_max, decode)
    parts += [_TEST] * filters + [_ENCODE] * projects + [_EXCEPT, _MATCHED]
    parts += [_NEWEST if has_time else _DELTA + _NEWEST, _WRITE if projects else _KEEP, _TAIL]
    return "".join(parts)


def route_source(
    needs: frozenset[str],
    *,
    loads: Iterable[str],
    decodes: bool,
    filters: bool,
    projects: bool,
    framed: bool,
    record_bytes_max: int,
) -> str:
    """Return the text of the loop that finds the places of the records of each value of an expression."""
    assert projects
    assert not filters
    assert not framed
    parts = _to_value(needs, loads, record_bytes_max, _DECODE if decodes else "")
    return "".join([*parts, "            value = out(VALUE)\n", _EXCEPT, _PLACE, _TAIL])


def _to_value(needs: frozenset[str], loads: Iterable[str], record_bytes_max: int, decode: str) -> list[str]:
    """Return the text up to the point where all that the expressions read is ready."""
    # Only records read in the other branch can be too large, unless the limit is tiny.
    size = _SIZE if record_bytes_max < _USUAL_BYTES_MAX else _SIZE.replace("\n        ", "\n            ")
    time = _DELTA + _TIMESTAMP if "timestamp" in needs else ""
    parts = [_HEAD, size, _before_key(needs), time, _VALUE_LENGTH]
    parts += [_HEADERS] * ("headers" in needs) + [_TRY, decode]
    return parts + [f"            {line}\n" for line in loads]


def _before_key(needs: frozenset[str]) -> str:
    """Return the text up to the value's length, without the lines that are not needed."""
    text = _BEFORE_KEY.replace("KEYLESS", _KEYLESS.strip() if "key" in needs else "")
    unneeded = [line for line, need in (("OFFSET = ", "offset"), ("KEY = ", "key")) if need not in needs]
    lines = [line for line in text.split("\n") if not line.strip().startswith(tuple(unneeded))]
    return "\n".join(lines).replace("OFFSET = ", "offset = ").replace("KEY = ", "key = ")
