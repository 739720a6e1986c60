"""The compilation of the loops of `code_scan`, with the expressions of a view in them."""

from __future__ import annotations

import ast
import struct
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final, TypeVar

import msgspec

from protocol.errors import Malformed
from protocol.record_reader import read_headers, read_varint
from protocol.record_writer import VARINTS
from views.code_scan import HEADERS_MAX

# Evaluation may raise these for a record that does not fit; anything else is our own bug and is not caught.
FAULTS: Final = (msgspec.MsgspecError, ValueError, RecursionError, OverflowError)
_ZIGZAG: Final = tuple(byte >> 1 ^ -(byte & 1) for byte in range(128))
# A length of two bytes is the sum of what they stand for: half as expensive as shifting.
_LOW: Final = tuple((byte & 127) >> 1 for byte in range(256))
_HIGH: Final = tuple(byte << 6 for byte in range(128))
# Most lengths that are written; VARINTS makes the others, at three times the cost.
_SHORT_MAX: Final = 1_024
_SHORT: Final = tuple(VARINTS[number] for number in range(_SHORT_MAX))
# No byte has this value.
_WIDE: Final = 256

# Names that the texts use, besides those made for a view.
_NAMES: Final[dict[str, Any]] = {
    "EIGHT_BYTES": struct.Struct("<xBBBBBBB").unpack_from,
    "FAULTS": FAULTS,
    "HEADERS_MAX": HEADERS_MAX,
    "HIGH": _HIGH,
    "INT64_MAX": 2**63 - 1,
    "INT64_MIN": -(2**63),
    "LOW": _LOW,
    "Malformed": Malformed,
    "NOTHING": bytes(10),
    "NO_HEADERS": b"\x00",
    "SHORT": _SHORT,
    "SHORT_MAX": _SHORT_MAX,
    "TEN_BYTES": struct.Struct("<BBxBBBBBBB").unpack_from,
    "TooShort": struct.error,
    "VARINTS": VARINTS,
    "WIDE": _WIDE,
    "ZIGZAG": _ZIGZAG,
    "read_headers": read_headers,
    "read_varint": read_varint,
}
_PLACEHOLDERS: Final = ("PREDICATE", "VALUE")
Made = TypeVar("Made")
_Places = list[tuple[ast.Name, Callable[[ast.expr], None]]]


def compile_function(
    source: str, codes: dict[str, ast.expr], scope: dict[str, Any], function: str
) -> Callable[..., Any]:
    """Compile one of our texts with `codes` in place of their names, and return its function.

    Several threads may do so at once: none sees a tree in which another has put its expressions.
    """
    try:
        tree, places = _trees.pop(source)
    except KeyError:
        tree, places = _parsed(source)
    for placeholder, put in places:
        put(ast.fix_missing_locations(ast.copy_location(codes[placeholder.id], placeholder)))
    try:
        code = undisturbed(lambda: compile(tree, f"<{function} of a view>", "exec"))
    finally:
        for placeholder, put in places:
            put(placeholder)
    _keep(source, (tree, places))
    names = _NAMES | scope
    # The tree has been built from checked expressions: no text of the statement gets here.
    exec(code, names)  # noqa: S102
    # Taken out, or it and its names would refer to each other, and stay without any other reference.
    made: Callable[..., Any] = names.pop(function)
    return made


TREES_MAX: Final = 2
"""Parsing takes nearly half of the compile time, and views are often alike; 0.2 MB each."""

_trees: Final[dict[str, tuple[ast.Module, _Places]]] = {}
"""The trees of texts that were used last and are in no use now: whatever uses one takes it out."""


def _keep(source: str, parsed: tuple[ast.Module, _Places]) -> None:
    _trees[source] = parsed
    for oldest in list(_trees)[:-TREES_MAX]:
        _trees.pop(oldest, None)


def _parsed(source: str) -> tuple[ast.Module, _Places]:
    """Return the tree of a text, and its placeholders, each with what puts an expression in its place."""
    tree = undisturbed(lambda: ast.parse(source))
    return tree, list(_places(tree.body))


TRIES_MAX: Final = 100


def undisturbed(work: Callable[[], Made]) -> Made:
    """Do work on trees, again if another thread has disturbed it.

    Up to 3.12, CPython counts for all threads together how deep it is in the conversion of a tree, and raises
    a SystemError at its end if that has changed ("recursion depth mismatch").  Source: CPython's gh-106905.
    """
    for _ in range(TRIES_MAX):
        try:
            return work()
        except SystemError:
            continue
    return work()


def _places(statements: list[ast.stmt]) -> Iterator[tuple[ast.Name, Callable[[ast.expr], None]]]:
    """Yield the names that stand for expressions: `not NAME` of an if, the argument of an assigned call.

    Only statements are walked, and only inserted code gets locations of its own; otherwise compiling would
    take twice as long.
    """
    for statement in statements:
        match statement:
            case ast.If(test=ast.UnaryOp(operand=ast.Name(id=name) as place) as test):
                if name in _PLACEHOLDERS:
                    yield place, partial(setattr, test, "operand")
            case ast.Assign(value=ast.Call(args=[ast.Name(id=name) as place, *_]) as call):
                if name in _PLACEHOLDERS:
                    yield place, partial(call.args.__setitem__, 0)
        for block in ("body", "orelse", "handlers"):
            yield from _places(getattr(statement, block, []))
