"""The reason why a record does not fit its topic's columns: `delay: expected int, got a string`.

The generated loop (`evaluator.py`) has already decided that a record does not fit; here that is only
explained, column by column.  A sentence has at most `SENTENCE_BYTES_MAX` bytes of UTF-8.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec

from views.column_types import Kind, Type
from views.columns import Column
from views.runtime_json import NULL_TEXT
from views.tags import HEADER_PREFIX, header_reader
from views.timestamps import parse_timestamp

SENTENCE_BYTES_MAX: Final = 512
EXPLAINED_BYTES_MAX: Final = 1 << 20
"""Larger values are not explained column by column: each look at one takes milliseconds."""

UNEXPLAINED: Final = "the value does not fit the columns"
_SHOWN_MAX: Final = 40
# Names that are given twice are looked for in small values only: Python's own reader is slow.
_TWICE_BYTES_MAX: Final = 64 << 10

Headers = Sequence[tuple[str, bytes | None]]

_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_readers: Final[dict[Kind, Callable[[bytes], Any]]] = {
    Kind.BOOL: msgspec.json.Decoder(bool).decode,
    Kind.INT: msgspec.json.Decoder(int).decode,
    Kind.DOUBLE: msgspec.json.Decoder(float).decode,
    Kind.STRING: msgspec.json.Decoder(str).decode,
    Kind.TIMESTAMP: msgspec.json.Decoder(int | str).decode,
}
_FAULTS: Final = (msgspec.MsgspecError, ValueError, RecursionError, OverflowError)
_SHAPES: Final = {
    ord('"'): "a string",
    ord("{"): "an object",
    ord("["): "an array",
    ord("t"): "a boolean",
    ord("f"): "a boolean",
    ord("n"): "null",
}


class Explainer:
    """The explainer of records that do not fit these columns."""

    def __init__(self, columns: Iterable[Column]) -> None:
        self._types = {column.name: column.type for column in columns}
        self._tags = [
            (column.name, column.type, header_reader(column.name, column.type))
            for column in columns
            if column.is_tag
        ]

    def explain(self, value: bytes | None, headers: Headers = ()) -> str:
        """Return what is wrong with a record that does not fit."""
        problems: list[str] = []
        room = SENTENCE_BYTES_MAX
        for problem in self._problems(value, headers):
            problems.append(problem)
            room -= len(problem)
            if room < 0:
                break
        return cut("; ".join(problems) if problems else UNEXPLAINED)

    def _problems(self, value: bytes | None, headers: Headers) -> Iterator[str]:
        if headers:
            yield from self._problems_of_headers(headers)
        if value is None:
            return
        if len(value) > EXPLAINED_BYTES_MAX:
            yield f"a value of {len(value)} bytes does not fit the columns"
            return
        try:
            members = _members(value)
        except _FAULTS as error:
            yield _whole_problem(value, error)
            return
        count = 0
        for problem in self._problems_of_members(members.items()):
            count += 1
            yield problem
        if not count:
            yield from self._problems_of_members(_named_twice(value))

    def _problems_of_members(self, members: Iterable[tuple[str, bytes | msgspec.Raw]]) -> Iterator[str]:
        for name, raw in members:
            kind = self._types.get(name)
            if kind is not None and (problem := column_problem(kind, bytes(raw))) is not None:
                yield f"{name}: {problem}"

    def _problems_of_headers(self, headers: Headers) -> Iterator[str]:
        for name, kind, read in self._tags:
            content = next((value for key, value in reversed(headers) if key == HEADER_PREFIX + name), None)
            if content is None:
                continue
            try:
                text = str(content, "utf-8")
            except UnicodeDecodeError:
                yield f"{name}: the header {HEADER_PREFIX}{name} is not UTF-8"
                continue
            try:
                read(text)
            except _FAULTS:
                yield f"{name}: expected {kind}, got {_shown(text)!r} in the header {HEADER_PREFIX}{name}"


def cut(sentence: str) -> str:
    """Return the sentence, cut and with three points at its end if it would be too long."""
    encoded = sentence.encode("utf-8", "replace")
    if len(encoded) <= SENTENCE_BYTES_MAX:
        return encoded.decode()
    return encoded[: SENTENCE_BYTES_MAX - 3].decode("utf-8", "ignore") + "..."


def column_problem(kind: Type, raw: bytes) -> str | None:
    """Return why a JSON value, as it is in the record, is not of the type; None when it is."""
    read = _readers.get(kind.kind)
    if read is None or raw == NULL_TEXT:
        return None
    try:
        value = read(raw)
    except _FAULTS:
        return _unreadable(kind, raw)
    if kind.kind in (Kind.INT, Kind.TIMESTAMP) and isinstance(value, int):
        return None if kind.low <= value <= kind.high else _beyond(kind, raw)
    if kind.kind is Kind.STRING and kind.length is not None and len(value) > kind.length:
        return f"a string of {len(value)} characters is too long for {kind}"
    if kind.kind is Kind.TIMESTAMP and parse_timestamp(value, kind.unit_ns) is None:
        return f"{_shown(value)!r} is not a timestamp"
    return None


def _unreadable(kind: Type, raw: bytes) -> str:
    shape = _SHAPES.get(raw[0])
    if shape is not None:
        is_text = raw[:1] == b'"' and kind.kind in (Kind.STRING, Kind.TIMESTAMP)
        return "a string that is not UTF-8" if is_text else f"expected {kind}, got {shape}"
    is_number = kind.is_number or kind.kind is Kind.TIMESTAMP
    is_whole = not any(sign in raw for sign in b".eE")
    if is_number and (is_whole or kind.kind is Kind.DOUBLE):
        return _beyond(kind, raw)
    return f"expected {kind}, got {_shown(raw.decode())}" if is_number else f"expected {kind}, got a number"


def _beyond(kind: Type, raw: bytes) -> str:
    number = _shown(raw.decode())
    if kind.kind is Kind.DOUBLE:
        return f"{number} is more than a {kind} can be"
    return f"{number} is beyond {kind}, which goes from {kind.low} to {kind.high}"


def _whole_problem(value: bytes, error: Exception) -> str:
    """Return what is wrong with a value that is not even an object."""
    if isinstance(error, RecursionError):
        return "nested too deeply"
    if isinstance(error, UnicodeDecodeError):
        return "not JSON: not UTF-8"
    text = value.lstrip()
    if not text:
        return "not JSON: the value is empty"
    if isinstance(error, msgspec.ValidationError):
        return f"expected an object, got {_SHAPES.get(text[0], 'a number')}"
    problem = str(error).removeprefix("JSON is malformed: ")
    return f"not JSON: {problem[:1].lower()}{problem[1:]}"


def _named_twice(value: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield all members of an object, including those that a later one of the same name replaces."""
    if len(value) > _TWICE_BYTES_MAX:
        return
    try:
        pairs = json.loads(value, object_pairs_hook=list)
        for name, content in pairs:
            yield name, json.dumps(content, ensure_ascii=False).encode()
    except _FAULTS:
        return


def _shown(text: str) -> str:
    return text if len(text) <= _SHOWN_MAX else text[: _SHOWN_MAX - 3] + "..."
