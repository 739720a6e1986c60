"""Consumed records as JSON lines, and as a format string has them; `record_formats` describes the lines."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from console.errors import UsageError
from console.record_formats import text_option
from protocol.record_reader import Headers, Record

_ENCODER: Final = msgspec.json.Encoder()


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
        self._fields: list[Callable[[Any, Record], bytes]] = []
        parts = re.split(r"(%.?)", text, flags=re.DOTALL)
        for literal, directive in zip(parts[::2], [*parts[1::2], ""], strict=True):
            data = text_option(literal, "--format") if literal else b""
            if directive == "%%":
                data += b"%"
            if data:
                self._fields.append(_constant(data))
            if directive not in ("", "%%"):
                self._fields.append(self._field(directive))

    def dump(self, partition: Any, records: Sequence[Record]) -> bytes:
        """Return the bytes of consumed records."""
        fields = self._fields
        return b"".join([field(partition, record) for record in records for field in fields])

    def _field(self, directive: str) -> Callable[[Any, Record], bytes]:
        null = self._null
        known: dict[str, Callable[[Any, Record], bytes]] = {
            "%t": lambda partition, _: partition.topic.encode(),
            "%p": lambda partition, _: b"%d" % partition.partition,
            "%o": lambda _, record: b"%d" % record.offset,
            "%T": lambda _, record: b"%d" % record.timestamp_ms,
            "%k": lambda _, record: null if record.key is None else record.key,
            "%s": lambda _, record: null if record.value is None else record.value,
            "%K": lambda _, record: b"%d" % (-1 if record.key is None else len(record.key)),
            "%S": lambda _, record: b"%d" % (-1 if record.value is None else len(record.value)),
            "%h": lambda _, record: _headers(record.headers, null),
        }
        if directive not in known:
            raise UsageError(f"--format: there is no {directive!r}; there are {' '.join(known)} and %%")
        return known[directive]


def _constant(data: bytes) -> Callable[[Any, Record], bytes]:
    return lambda _partition, _record: data


def _headers(headers: Headers, null: bytes) -> bytes:
    return b",".join(
        name.encode("utf-8", "surrogateescape") + b"=" + (null if value is None else value)
        for name, value in headers
    )
