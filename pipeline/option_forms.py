"""The forms that values of options of Spark and of its Kafka client must have, known without starting Spark.

    spark.sql.shuffle.partitions int[1,]        a line of option_forms.txt: a key, the form of its values

The table beside this module is what Spark and the client themselves say about their options
(`python -m compat_tests.option_forms` makes it anew; a compat test compares the two). The client's keys begin
with 'kafka.', as in a job file.

    form   = kind [ "[" [least] "," [most] "]" ]  |  [ "~" ] value "|" value …
    kind   = text | boolean | int | long | number | time | size
    "~"    = capital and small letters are the same

Source: org.apache.spark.network.util.JavaUtils (times and sizes), org.apache.kafka.common.config.ConfigDef.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection
from functools import cache
from pathlib import Path

Value = str | int | float | bool

TABLE = Path(__file__).with_name("option_forms.txt")

INT_BITS = {"int": 32, "long": 64}

TIME = re.compile(r"(-?\d+)(us|ms|s|m|min|h|d)?")
SIZE = re.compile(r"(-?\d+)(b|[kmgtp]i?b?)?")
WHOLE = re.compile(r"[+-]?\d+")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?")

NEAR = 0.85
"""The likeness of two words that differ by a letter (`pol`, `poll`) is at least this. Keys are compared word
by word: neighbours that are both right share all but their last words."""

EXPECTED = {
    "boolean": "true or false",
    "number": "a number",
    "time": "a time, as '30s' or '5m'",
    "size": "a size, as '64m' or '1g'",
    "int": "a whole number",
    "long": "a whole number",
}


@cache
def known_forms() -> dict[str, str]:
    """Return the form of each key that is known."""
    lines = TABLE.read_text(encoding="utf-8").splitlines()
    return {key: form for key, _, form in (line.partition(" ") for line in lines)}


def problem_of(form: str, value: Value) -> str:
    """Return what a form expects in place of `value`, "" where `value` has the form."""
    text = text_of(value).strip()
    if "|" in form:
        return _not_listed(form, text)
    kind, least, most = _bounds(form)
    if kind == "text":
        return ""
    number = _number(kind, text.lower())
    if number is not None and _within(kind, number, least, most):
        return ""
    span = _span(kind, number, least, most)
    return f"expected {EXPECTED[kind]}{',' if span and kind in ('time', 'size') else ''}{span}"


def text_of(value: Value) -> str:
    """Return a value of TOML as Spark and Kafka read it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def nearest(key: str, among: Collection[str]) -> str:
    """Return the key that is probably meant by one that is none of `among`, "" where none is so near."""
    words = key.lower().split(".")
    return next((known for known in among if _resembles(words, known.lower().split("."))), "")


def _resembles(words: list[str], known: list[str]) -> bool:
    """Return whether words may be meant as `known`: misspelt, without a dot, or without `sql`."""
    if "".join(words) == "".join(known):
        return True
    if len(words) == len(known):
        return all(
            word == right or difflib.SequenceMatcher(None, word, right).ratio() >= NEAR
            for word, right in zip(words, known, strict=True)
        )
    return known == ["spark", "sql", *words[1:]]


def _not_listed(form: str, text: str) -> str:
    values = form.removeprefix("~").split("|")
    fits = text.lower() in map(str.lower, values) if form.startswith("~") else text in values
    return "" if fits else f"expected one of {', '.join(map(repr, values))}"


def _bounds(form: str) -> tuple[str, float | None, float | None]:
    kind, bracket, bounds = form.partition("[")
    if not bracket:
        return kind, None, None
    least, _, most = bounds.removesuffix("]").partition(",")
    return kind, _bound(least), _bound(most)


def _bound(text: str) -> float | None:
    if not text:
        return None
    return int(text) if WHOLE.fullmatch(text) else float(text)


def _number(kind: str, text: str) -> float | None:
    """Return the number of a value, None where it has not the form; of times and sizes, without the unit."""
    if kind == "boolean":
        return 0 if text in ("true", "false") else None
    if kind == "number":
        return float(text) if NUMBER.fullmatch(text) else None
    if kind in INT_BITS:
        return int(text) if WHOLE.fullmatch(text) else None
    match = {"time": TIME, "size": SIZE}[kind].fullmatch(text)
    return int(match[1]) if match else None


def _within(kind: str, number: float, least: float | None, most: float | None) -> bool:
    if (bits := INT_BITS.get(kind)) and not -(1 << bits - 1) <= number < 1 << bits - 1:
        return False
    return (least is None or number >= least) and (most is None or number <= most)


def _span(kind: str, number: float | None, least: float | None, most: float | None) -> str:
    """Return the bounds of a value in words."""
    if most is None and number is not None and kind in INT_BITS and (least is None or number >= least):
        most = (1 << INT_BITS[kind] - 1) - 1
    shown = ["" if bound is None else f"{bound:,}" for bound in (least, most)]
    match shown:
        case ["", ""]:
            return ""
        case [_, ""]:
            return f" from {shown[0]} on"
        case ["", _]:
            return f" up to {shown[1]}"
    return f" from {shown[0]} to {shown[1]}"
