"""Consumed records as JSON lines, and as a format string has them; `record_formats` describes the lines."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import msgspec

from console.errors import UsageError
from console.record_formats import shown, text_option
from protocol.record_columns import RecordColumns, columns_of
from protocol.record_reader import Headers, Record

_ENCODER: Final = msgspec.json.Encoder()
_CONTROLS: Final = bytes(range(32))


class Header(msgspec.Struct):
    """A header whose value is text."""

    name: str
    value: str | None


class Line(msgspec.Struct):
    """A record whose key and value are text, as nearly all are."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: str | None
    value: str | None
    headers: list[Header]


def dump_json(partition: Any, records: Sequence[Record]) -> bytes:
    """Return consumed records as JSON lines."""
    plain = _plain_lines(partition.topic, partition.partition, columns_of(records))
    return encoded_lines(partition, records) if plain is None else plain


def encoded_lines(partition: Any, records: Iterable[Record]) -> bytes:
    """Return records of any kind as JSON lines, one after the other."""
    topic, number = partition.topic, partition.partition
    try:
        lines: list[Any] = [
            Line(
                topic,
                number,
                offset,
                timestamp,
                None if key is None else str(key, "utf-8"),
                None if value is None else str(value, "utf-8"),
                [Header(name, None if held is None else str(held, "utf-8")) for name, held in headers]
                if headers
                else [],
            )
            for offset, timestamp, key, value, headers in records
        ]
        return _ENCODER.encode_lines(lines)
    except UnicodeError:
        return _ENCODER.encode_lines([_tree(topic, number, record) for record in records])


def _plain_lines(topic: str, partition: int, columns: RecordColumns) -> bytes | None:
    """Return the lines of records whose columns are alike, as nearly all are: by one format for all of them.

    None: a record has headers, only some have a key or a value, or there is text that needs `_ENCODER`.
    """
    if columns.headers is not None:
        return None
    line = b'{"topic":%b,"partition":%d,' % (_ENCODER.encode(topic).replace(b"%", b"%%"), partition)
    line += b'"offset":%d,"timestamp":%d'
    fields: list[Sequence[int] | Sequence[bytes]] = [columns.offsets, columns.timestamps]
    for name, column in ((b"key", columns.keys), (b"value", columns.values)):
        if column.count(None) == len(column):
            line += b',"%b":null' % name
        elif (texts := _escaped(column)) is None:
            return None
        else:
            line += b',"%b":"%%b"' % name
            fields.append(texts)
    return filled(line + b',"headers":[]}\n', fields)


def _escaped(column: list[bytes | None]) -> list[bytes] | None:
    """Return text as it stands between quotes, or None if there is any that needs more than backslashes."""
    try:
        whole = b"\n".join(column)  # type: ignore[arg-type]  # raises for None
    except TypeError:
        return None
    if len(whole.translate(None, _CONTROLS)) != len(whole) - len(column) + 1:
        return None
    if not whole.isascii():
        try:
            str(whole, "utf-8")  # a line end is no part of a character, so each text is judged alone
        except UnicodeError:
            return None
    if b'"' in whole or b"\\" in whole:
        return whole.replace(b"\\", b"\\\\").replace(b'"', b'\\"').split(b"\n")
    return column  # type: ignore[return-value]


def filled(template: bytes, columns: Sequence[Sequence[object]]) -> bytes:
    """Return a template with `%d` and `%b` once for each record, in which the columns take their places.

    One format for thousands of records takes a quarter of the time of as many formats.
    """
    width, count = len(columns), len(columns[0])
    fields: list[object] = [None] * (width * count)
    for place, column in enumerate(columns):
        fields[place::width] = column
    return (template * count) % tuple(fields)


def _tree(topic: str, partition: int, record: Record) -> dict[str, Any]:
    """Return a record with what is not text in base64."""
    return {
        "topic": topic,
        "partition": partition,
        "offset": record.offset,
        "timestamp": record.timestamp_ms,
        **_member("key", record.key),
        **_member("value", record.value),
        "headers": [{"name": _text(name), **_member("value", value)} for name, value in record.headers],
    }


def _text(name: str) -> str:
    """Return a header's name with what is not UTF-8 in it replaced."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _member(name: str, data: bytes | None) -> dict[str, str | None]:
    if data is None:
        return {name: None}
    try:
        return {name: data.decode()}
    except UnicodeDecodeError:
        return {f"{name}_base64": b64encode(data).decode()}


class FormatString:
    r"""A format as kcat's: `%p %o %k %s\n`; \n, \t and \xHH are bytes, and %% is a per cent sign.

    %t topic, %p partition, %o offset, %k key, %s value, %K and %S their lengths (-1: null), %T timestamp in
    milliseconds, %h headers as name=value,name=value.
    """

    def __init__(self, text: str, null: bytes = b"") -> None:
        """Read the format.  Raises: UsageError naming what it has none of."""
        self._null = null
        self._directives: list[str] = []
        self._template = b""
        parts = re.split(r"(%.?)", text, flags=re.DOTALL)
        for literal, directive in zip(parts[::2], [*parts[1::2], ""], strict=True):
            data = text_option(literal, "--format") if literal else b""
            self._template += data.replace(b"%", b"%%")
            if directive == "%%":
                self._template += b"%%"
            elif directive:
                self._template += b"%d" if directive in _NUMBERS else b"%b"
                self._directives.append(directive)
        unknown = [directive for directive in self._directives if directive not in _COLUMNS]
        if unknown:
            raise UsageError(f"--format: there is no {unknown[0]!r}; there are {' '.join(_COLUMNS)} and %%")

    def dump(self, partition: Any, records: Sequence[Record]) -> bytes:
        """Return the bytes of consumed records."""
        columns = columns_of(records)
        if not self._directives:
            return (self._template * len(columns)) % ()
        return filled(
            self._template,
            [_COLUMNS[directive](partition, columns, self._null) for directive in self._directives],
        )


_NUMBERS: Final = frozenset(("%p", "%o", "%T", "%K", "%S"))

_COLUMNS: Final[dict[str, Callable[[Any, RecordColumns, bytes], Sequence[object]]]] = {
    "%t": lambda partition, columns, _: [partition.topic.encode()] * len(columns),
    "%p": lambda partition, columns, _: [partition.partition] * len(columns),
    "%o": lambda _, columns, _null: columns.offsets,
    "%T": lambda _, columns, _null: columns.timestamps,
    "%k": lambda _, columns, null: shown(columns.keys, null),
    "%s": lambda _, columns, null: shown(columns.values, null),
    "%K": lambda _, columns, _null: [-1 if key is None else len(key) for key in columns.keys],
    "%S": lambda _, columns, _null: [-1 if value is None else len(value) for value in columns.values],
    "%h": lambda _, columns, null: [_headers(record.headers, null) for record in columns],
}
"""The column that takes the place of each directive: of a partition, its records, and the word for null."""


def _headers(headers: Headers, null: bytes) -> bytes:
    return b",".join(
        name.encode("utf-8", "surrogateescape") + b"=" + (null if value is None else value)
        for name, value in headers
    )
