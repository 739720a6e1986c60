"""The functions of the language: a table of names, arguments, results and implementations.

Arguments are written as letters: s string, i integer, n number, d number made a double, b condition,
t timestamp, z zone (a string in the statement), l duration or unit (in the statement), `?` before those that
may be missing, `*` after the last one when it may be repeated.  The result is s, i, d, b or t likewise, or n:
an integer for an integer.  A function is NULL when an argument is, unless its line says otherwise.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from views import runtime_numbers as numbers
from views import runtime_text as text
from views.column_types import BIGINT, BOOL, DOUBLE, INT, STRING, TIMESTAMP_MS, Kind, Type
from views.errors import NotAllowed, TypeProblem
from views.expressions import Expression, literal
from views.functions_special import AGGREGATES, SPECIAL
from views.operators import called, coerce

_LETTERS: Final = {
    "s": ("a string", (Kind.STRING,)),
    "i": ("an integer", (Kind.INT,)),
    "n": ("a number", (Kind.INT, Kind.DOUBLE)),
    "d": ("a number", (Kind.INT, Kind.DOUBLE)),
}
_RESULTS: Final[dict[str, Type]] = {"s": STRING, "i": BIGINT, "d": DOUBLE, "b": BOOL, "t": TIMESTAMP_MS}


@dataclass(frozen=True, slots=True)
class Function:
    """A row of the table; `of_integers` computes an n when all arguments that are n are integers."""

    arguments: str
    result: str
    compute: Callable[..., Any]
    of_integers: Callable[..., Any] | None = None
    takes_null: bool = False


def _starts_with(value: str, start: str) -> bool:
    return value.startswith(start)


def _ends_with(value: str, end: str) -> bool:
    return value.endswith(end)


_SUBSTRING = Function("si?i", "s", text.substring)
_CEILING = Function("n", "n", numbers.ceiling, int)
_TRUNCATE = Function("n?i", "n", numbers.truncated, numbers.truncated_integer)
_POWER = Function("dd", "d", numbers.power)
_CHARACTERS = Function("s", "i", len)
_LOWER, _UPPER = Function("s", "s", str.lower), Function("s", "s", str.upper)

FUNCTIONS: Final[dict[str, Function]] = {
    "ascii": Function("s", "i", text.code_of_first),
    "char": Function("i", "s", text.character),
    "chr": Function("i", "s", text.character),
    "char_length": _CHARACTERS,
    "character_length": _CHARACTERS,
    "concat": Function("ss*", "s", text.concat),
    "concat_ws": Function("ss*", "s", text.concat_with, takes_null=True),
    "ends_with": Function("ss", "b", _ends_with),
    "instr": Function("ss", "i", text.position_in),
    "left": Function("si", "s", text.left),
    "length": Function("s", "i", text.length_bytes),
    "locate": Function("ss", "i", text.position),
    "lower": _LOWER,
    "lcase": _LOWER,
    "lpad": Function("si?s", "s", text.pad_left),
    "ltrim": Function("s?s", "s", text.trim_left),
    "position": Function("ss", "i", text.position),
    "repeat": Function("si", "s", text.repeat),
    "replace": Function("sss", "s", text.replace),
    "reverse": Function("s", "s", text.reverse),
    "right": Function("si", "s", text.right),
    "rpad": Function("si?s", "s", text.pad_right),
    "rtrim": Function("s?s", "s", text.trim_right),
    "split_part": Function("ssi", "s", text.split_part),
    "starts_with": Function("ss", "b", _starts_with),
    "substr": _SUBSTRING,
    "substring": _SUBSTRING,
    "substring_index": Function("ssi", "s", text.part_before),
    "trim": Function("s?s", "s", text.trim),
    "ucase": _UPPER,
    "upper": _UPPER,
    "abs": Function("n", "n", abs, numbers.absolute),
    "acos": Function("d", "d", numbers.arc_cosine),
    "asin": Function("d", "d", numbers.arc_sine),
    "atan": Function("d", "d", numbers.arc_tangent),
    "atan2": Function("dd", "d", numbers.arc_tangent_of_two),
    "ceil": _CEILING,
    "ceiling": _CEILING,
    "cos": Function("d", "d", numbers.cosine),
    "degrees": Function("d", "d", numbers.degrees),
    "exp": Function("d", "d", numbers.exponential),
    "floor": Function("n", "n", numbers.floor, int),
    "ln": Function("d", "d", numbers.natural_logarithm),
    "log": Function("d?d", "d", numbers.logarithm),
    "log10": Function("d", "d", numbers.decimal_logarithm),
    "log2": Function("d", "d", numbers.binary_logarithm),
    "mod": Function("nn", "n", numbers.remainder, numbers.remainder_of_integers),
    "pow": _POWER,
    "power": _POWER,
    "radians": Function("d", "d", numbers.radians),
    "round": Function("n?i", "n", numbers.rounded, numbers.rounded_integer),
    "sign": Function("n", "i", numbers.sign, numbers.sign),
    "sin": Function("d", "d", numbers.sine),
    "sqrt": Function("d", "d", numbers.square_root),
    "tan": Function("d", "d", numbers.tangent),
    "trunc": _TRUNCATE,
    "truncate": _TRUNCATE,
}


def check_known(name: str) -> None:
    """Raise NotAllowed for a function, lower case, that is not on the list, whatever its arguments."""
    if name not in SPECIAL and name not in FUNCTIONS:
        raise NotAllowed(_unknown(name))


def call_function(name: str, args: Sequence[Expression]) -> Expression:
    """Return the call of the function `name`, lower case, with these arguments.

    Raises: NotAllowed for one that is not on the list, TypeProblem for arguments that it does not take.
    """
    if (special := SPECIAL.get(name)) is not None:
        return special(args)
    check_known(name)
    function = FUNCTIONS[name]
    letters = _letters(name, function.arguments, len(args))
    bound = [
        _argument(name, number, letter, arg)
        for number, (letter, arg) in enumerate(zip(letters, args, strict=True), 1)
    ]
    integers = all(
        arg.type.kind in (Kind.INT, Kind.NULL)
        for letter, arg in zip(letters, bound, strict=True)
        if letter == "n"
    )
    compute, result = function.compute, _RESULTS.get(function.result, DOUBLE)
    if function.of_integers is not None and integers:
        compute, result = function.of_integers, BIGINT
    if function.takes_null:
        return Expression("call_nulls", result, tuple(bound), value=compute)
    return called(compute, result, *bound)


def _letters(name: str, arguments: str, count: int) -> str:
    """Return one letter for each given argument."""
    required, _, optional = arguments.partition("?")
    if required.endswith("*"):
        required, last = required[:-1], required[-2]
        if count >= len(required):
            return required + last * (count - len(required))
        raise TypeProblem(f"{name.upper()} takes {len(required)} arguments or more, not {count}")
    if len(required) <= count <= len(required) + len(optional):
        return (required + optional)[:count]
    upto = f" to {len(required) + len(optional)}" if optional else ""
    raise TypeProblem(f"{name.upper()} takes {len(required)}{upto} arguments, not {count}")


def _argument(name: str, number: int, letter: str, arg: Expression) -> Expression:
    wanted, kinds = _LETTERS[letter]
    if arg.type.kind is Kind.NULL:
        return literal(None, INT if letter == "n" else _RESULTS[letter])
    if arg.type.kind not in kinds:
        raise TypeProblem(
            f"argument {number} of {name.upper()} must be {wanted}, not a {arg.type}; CAST it if it is one"
        )
    return coerce(arg, DOUBLE) if letter == "d" else arg


def _unknown(name: str) -> str:
    if name in AGGREGATES:
        return f"the aggregate {name.upper()} is not possible in a view: it sees one record at a time"
    near = difflib.get_close_matches(name, [*FUNCTIONS, *SPECIAL], 1)
    hint = f"; did you mean {near[0].upper()}?" if near else "; docs/views.md lists all functions"
    return f"the function {name.upper()} is unknown{hint}"
