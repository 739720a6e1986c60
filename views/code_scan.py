"""The loop over the records of a batch, written for one plan: it reads of each record only what is needed.

The text below is ours alone; expressions of the user are put in as syntax trees, in the places of
PREDICATE and VALUE.  A record is walked as `protocol.record_reader` has it:

    length  attributes  timestamp delta  offset delta  key length, key  value length, value  headers
    ^first  ^head                                                       ^start               ^stop

A record whose parts do not lie one behind the other, up to `at`, where the next one begins, is malformed.
Lengths of two bytes are taken as positive: a negative one would be written in one byte.

Survivors keep their bytes: all of them where values stay as they are, else all but the value and the two
lengths that change with it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec

from protocol.errors import Malformed
from protocol.record_reader import read_headers, read_varint
from protocol.record_writer import VARINTS

# What evaluation may raise for a record that does not fit; anything else is our fault and is not caught.
FAULTS: Final = (msgspec.MsgspecError, ValueError, RecursionError, OverflowError)
# 0.6 µs each, when a view reads headers.
HEADERS_MAX: Final = 10_000
_ZIGZAG: Final = tuple(byte >> 1 ^ -(byte & 1) for byte in range(128))

_HEAD = """
def scan(state, count):
    body, at = state.body, state.at
    base_timestamp, base_offset, append_time = state.base_timestamp, state.base_offset, state.append_time
    partition, tags, out = state.partition, state.tags, state.out
    room, value_max, record_max = state.room, state.value_max, state.record_max
    matched, unfit, newest = state.matched, state.unfit, state.newest
    for _ in range(count):
        first = at
        if (low := body[at]) < 128:
            at += 1 + (low >> 1)
            p = first + 2
        elif (high := body[at + 1]) < 128:
            at += 2 + ((high << 7 | low & 127) >> 1)
            p = first + 3
        else:
            length, p = read_varint(body, at)
            at = p + length
            p += 1
"""
_SIZE = """
        if at - first > record_max:
            unfit += 1
            continue
"""
_SKIP_TIMESTAMP = """
        if body[p] < 128:
            p += 1
        elif body[p + 1] < 128:
            p += 2
        else:
            _, p = read_varint(body, p, 64)
"""
_READ_TIMESTAMP = """
        if (low := body[p]) < 128:
            rowts = base_timestamp + ZIGZAG[low]
            p += 1
        elif (high := body[p + 1]) < 128:
            rowts = base_timestamp + ((pair := high << 7 | low & 127) >> 1 ^ -(pair & 1))
            p += 2
        else:
            delta, p = read_varint(body, p, 64)
            rowts = base_timestamp + delta
        if append_time is not None:
            rowts = append_time
        if not INT64_MIN <= rowts <= INT64_MAX:
            raise Malformed(p, "record timestamp", f"is {rowts}")
"""
_SKIP_OFFSET = """
        if body[p] < 128:
            p += 1
        elif body[p + 1] < 128:
            p += 2
        else:
            _, p = read_varint(body, p)
"""
_READ_OFFSET = """
        if (low := body[p]) < 128:
            offset = base_offset + (low >> 1)
            p += 1
        elif (high := body[p + 1]) < 128:
            offset = base_offset + ((high << 7 | low & 127) >> 1)
            p += 2
        else:
            delta, p = read_varint(body, p)
            offset = base_offset + delta
"""
_KEY_LENGTH = """
        if (low := body[p]) < 128:
            length = ZIGZAG[low]
            p += 1
        else:
            length, p = read_varint(body, p)
"""
_KEY = """
        key = None if length < 0 else body[p:p + length]
"""
_VALUE_LENGTH = """
        if length > 0:
            p += length
        start = p
        if (low := body[p]) < 128:
            length = ZIGZAG[low]
            p += 1
        elif (high := body[p + 1]) < 128:
            length = (high << 7 | low & 127) >> 1
            p += 2
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
            row = decode(body[p:stop]) if length >= 0 else EMPTY
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
_NEWEST = """
        matched += 1
        if body[first] < 128:
            head = first + 1
        elif body[first + 1] < 128:
            head = first + 2
        else:
            _, head = read_varint(body, first)
        if (low := body[head + 1]) < 128:
            delta = ZIGZAG[low]
        elif (high := body[head + 2]) < 128:
            delta = (pair := high << 7 | low & 127) >> 1 ^ -(pair & 1)
        else:
            delta, _ = read_varint(body, head + 1, 64)
        if delta > newest:
            newest = delta
"""
_KEEP = """
        if state.run_end == first:
            state.run_end = at
        else:
            if state.run_end:
                out.append(body[state.run_start:state.run_end])
            state.run_start, state.run_end = first, at
"""
_WRITE = """
        size_of_value = VARINTS[length]
        out += (
            VARINTS[start - head + len(size_of_value) + length + at - stop],
            body[head:start], size_of_value, value, body[stop:at],
        )
"""
_TAIL = """
    state.at, state.room = at, room
    state.matched, state.unfit, state.newest = matched, unfit, newest
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
    needs: frozenset[str], *, loads: Iterable[str], decodes: bool, filters: bool, projects: bool
) -> str:
    """Return the text of the loop over columns of rows: the same view, of what is already taken apart."""
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
    needs: frozenset[str], *, loads: Iterable[str], decodes: bool, filters: bool, projects: bool
) -> str:
    """Return the text of the loop for a plan; `loads` are lines that make columns ready when decoded."""
    parts = [_HEAD, _SIZE, _READ_TIMESTAMP if "timestamp" in needs else _SKIP_TIMESTAMP]
    parts += [_READ_OFFSET if "offset" in needs else _SKIP_OFFSET, _KEY_LENGTH]
    parts += [_KEY] * ("key" in needs) + [_VALUE_LENGTH] + [_HEADERS] * ("headers" in needs)
    parts += [_TRY, _DECODE if decodes else ""]
    parts += [f"            {line}\n" for line in loads]
    parts += [_TEST] * filters + [_ENCODE] * projects
    parts += [_EXCEPT, _NEWEST, _WRITE if projects else _KEEP, _TAIL]
    return "".join(parts)


def compile_function(
    source: str, codes: dict[str, ast.expr], scope: dict[str, Any], function: str
) -> Callable[..., Any]:
    """Compile text of ours with `codes` in the places of their names, and return its function."""
    tree = ast.parse(source)
    _put_in(codes, tree.body)
    names = {
        "FAULTS": FAULTS,
        "HEADERS_MAX": HEADERS_MAX,
        "INT64_MAX": 2**63 - 1,
        "INT64_MIN": -(2**63),
        "Malformed": Malformed,
        "VARINTS": VARINTS,
        "ZIGZAG": _ZIGZAG,
        "read_headers": read_headers,
        "read_varint": read_varint,
        **scope,
    }
    # The tree has been built from checked expressions: no text of the statement gets here.
    exec(compile(tree, f"<{function} of a view>", "exec"), names)  # noqa: S102
    made: Callable[..., Any] = names[function]
    return made


def _put_in(codes: dict[str, ast.expr], statements: list[ast.stmt]) -> None:
    """Replace the names that stand for expressions: `not NAME` of an if, the argument of an assigned call.

    Only statements are walked, and only what is put in gets places of its own, or compiling would take twice
    as long.
    """
    for statement in statements:
        if isinstance(statement, ast.If) and isinstance(statement.test, ast.UnaryOp):
            statement.test.operand = _placed(codes, statement.test.operand)
        elif (
            isinstance(statement, ast.Assign)
            and isinstance(statement.value, ast.Call)
            and statement.value.args
        ):
            statement.value.args[0] = _placed(codes, statement.value.args[0])
        for block in ("body", "orelse", "handlers"):
            _put_in(codes, getattr(statement, block, []))


def _placed(codes: dict[str, ast.expr], node: ast.expr) -> ast.expr:
    code = codes.get(node.id) if isinstance(node, ast.Name) else None
    if code is None:
        return node
    return ast.fix_missing_locations(ast.copy_location(code, node))
