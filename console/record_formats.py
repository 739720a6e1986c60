"""Records as text and as JSON lines, in both directions.

Text is for people and pipes: one record a line, optionally `key<separator>value`.  It cannot express all (a
value may contain the line's end, a null looks empty), so JSON lines are the form that loses nothing:

    {"topic": "t", "partition": 0, "offset": 7, "timestamp": 1700000000000, "key": null, "value": "text",
     "headers": [{"name": "trace", "value": "1"}]}

Bytes that are not UTF-8 appear under `key_base64` or `value_base64` instead (in a header: `value_base64`).
Reading takes the same lines; topic, partition, offset, timestamp, key and headers may be left out, a
`value` that is not a string is sent as its JSON text, and headers may be an object.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import IO, Any, Final

from console.errors import CommandError, UsageError
from protocol.record_columns import columns_of
from protocol.record_reader import Headers, Record

CHUNK_BYTES = 1 << 18
RECORD_BYTES_MAX = 100 << 20
"""A record read from standard input may be as large as the largest request a broker takes by default."""

INT64_MAX: Final = 2**63 - 1

Header = tuple[str, bytes | None]
_KNOWN = frozenset(
    {"topic", "partition", "offset", "timestamp", "key", "key_base64", "value", "value_base64", "headers"}
)


@dataclass(slots=True)
class OutgoingRecord:
    """A record to send; None as partition or timestamp leaves the choice to the producer."""

    value: bytes | None
    key: bytes | None = None
    headers: list[Header] = field(default_factory=list)
    partition: int | None = None
    timestamp_ms: int | None = None


@dataclass(slots=True)
class OutgoingColumns:
    """Records to send, a list for each part of them; None instead of a list: that part is None in all."""

    values: list[bytes | None]
    keys: list[bytes | None] | None = None
    partitions: list[int | None] | None = None
    times: list[int | None] | None = None
    headers: Headers = ()
    """The headers of every record."""

    def part(self, start: int, end: int) -> OutgoingColumns:
        """Return the records of some places."""
        return OutgoingColumns(
            self.values[start:end],
            None if self.keys is None else self.keys[start:end],
            None if self.partitions is None else self.partitions[start:end],
            None if self.times is None else self.times[start:end],
            self.headers,
        )

    def one_by_one(self) -> list[OutgoingRecord]:
        """Return the records as such."""
        nones = [None] * len(self.values)
        return [
            OutgoingRecord(value, key, list(self.headers), partition, time)
            for value, key, partition, time in zip(
                self.values, self.keys or nones, self.partitions or nones, self.times or nones, strict=True
            )
        ]


@dataclass(frozen=True, slots=True)
class TextFormat:
    """Records as text; without `key_separator` keys are left out, without `null` nulls are empty."""

    delimiter: bytes = b"\n"
    key_separator: bytes | None = None
    null: bytes | None = None

    def dump(self, _partition: Any, records: Sequence[Record]) -> bytes:
        """Return the bytes of consumed records, each with the delimiter."""
        null, between = self.null or b"", self.key_separator
        columns = columns_of(records)
        lines = shown(columns.values, null)
        if between is not None:
            keys = shown(columns.keys, null)
            lines = [key + between + value for key, value in zip(keys, lines, strict=True)]
        return self.delimiter.join([*lines, b""])

    def load(self, pieces: list[bytes], first: int) -> OutgoingColumns:
        """Return the records written as these pieces, of which the first has the number `first` in the input.

        Raises: CommandError naming the one that has no key.
        """
        if self.key_separator is None:
            return OutgoingColumns(self._meant(pieces))
        parts = [piece.partition(self.key_separator) for piece in pieces]
        for number, (_, separator, _) in enumerate(parts, start=first):
            if not separator:
                missing = f"{self.key_separator.decode()!r} does not occur in it"
                raise CommandError(f"record {number} of the input has no key: {missing}")
        keys, values = [key for key, _, _ in parts], [value for _, _, value in parts]
        return OutgoingColumns(self._meant(values), self._meant(keys))

    def _meant(self, column: list[bytes]) -> list[bytes | None]:
        null = self.null
        if null is None:
            return column  # type: ignore[return-value]  # a list that is not changed
        return [None if data == null else data for data in column]


def shown(column: list[bytes | None], null: bytes) -> list[bytes]:
    """Return keys or values with a word for those that are null."""
    if None in column:
        return [null if data is None else data for data in column]
    return column  # type: ignore[return-value]


def split_records(stream: IO[bytes], delimiter: bytes) -> Iterator[list[bytes]]:
    """Yield the pieces of `stream` between delimiters, those together that were completed together.

    A last piece without its delimiter counts.  Raises: CommandError when one exceeds `RECORD_BYTES_MAX`.
    """
    pending = bytearray()
    searched = 0
    # read1 returns what is there, so that a slow writer is not waited for.
    read = getattr(stream, "read1", stream.read)
    while chunk := read(CHUNK_BYTES):
        pending += chunk
        if pending.find(delimiter, searched) >= 0:
            *pieces, rest = bytes(pending).split(delimiter)
            pending = bytearray(rest)
            yield pieces
        searched = max(0, len(pending) - len(delimiter) + 1)
        if len(pending) > RECORD_BYTES_MAX:
            raise CommandError(
                f"a record of the input is longer than {RECORD_BYTES_MAX} bytes; is it delimited?"
            )
    if pending:
        yield [bytes(pending)]


def load_json(text: bytes, where: str) -> OutgoingRecord:
    """Return the record of one JSON line.  Raises: CommandError naming `where` and the member at fault."""
    try:
        tree = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CommandError(f"{where} is not JSON: {error}") from error
    if not isinstance(tree, dict):
        raise CommandError(f"{where} is not a JSON object with a member 'value'")
    for name in tree.keys() - _KNOWN:
        raise CommandError(f"{where}: unknown member {name!r}; known are {', '.join(sorted(_KNOWN))}")
    if "value" not in tree and "value_base64" not in tree:
        raise CommandError(
            f"{where} has neither 'value' nor 'value_base64' (null deletes a key when compacted)"
        )
    return OutgoingRecord(
        value=_bytes_of(tree, "value", where),
        key=_bytes_of(tree, "key", where),
        headers=_headers(tree.get("headers", []), where),
        partition=_integer(tree, "partition", where),
        timestamp_ms=_integer(tree, "timestamp", where),
    )


def text_option(text: str, option: str) -> bytes:
    """Return an option's bytes; `\\t`, `\\n`, `\\0`, `\\xHH` are understood.  Raises: UsageError."""
    try:
        data = text.encode("utf-8", "surrogateescape").decode("unicode_escape").encode("latin-1")
    except (UnicodeDecodeError, UnicodeEncodeError) as error:
        raise UsageError(f"{option} {text!r}: {error}") from error
    if not data:
        raise UsageError(f"{option} must not be empty")
    return data


def header_option(text: str) -> Header:
    """Return the header written NAME=VALUE.  Raises: UsageError."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UsageError(f"--header {text!r} is not NAME=VALUE")
    return name, value.encode("utf-8", "surrogateescape")


def _bytes_of(tree: dict[str, Any], name: str, where: str) -> bytes | None:
    encoded = f"{name}_base64"
    if encoded in tree:
        if name in tree:
            raise CommandError(f"{where} has both {name!r} and {encoded!r}")
        try:
            return base64.b64decode(tree[encoded], validate=True)
        except (TypeError, ValueError, binascii.Error) as error:
            raise CommandError(f"{where}: {encoded!r} is not base64: {error}") from error
    value = tree.get(name)
    if value is None:
        return None
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise CommandError(f"{where}: {name!r} holds half a surrogate pair: {error}") from error


def _headers(tree: Any, where: str) -> list[Header]:
    if isinstance(tree, dict):
        tree = [{"name": name, "value": value} for name, value in tree.items()]
    if not isinstance(tree, list):
        raise CommandError(f"{where}: 'headers' is neither a list nor an object")
    headers: list[Header] = []
    for entry in tree:
        if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
            raise CommandError(f'{where}: a header is written {{"name": "…", "value": "…"}}')
        headers.append((entry["name"], _bytes_of(entry, "value", where)))
    return headers


def _integer(tree: dict[str, Any], name: str, where: str) -> int | None:
    value = tree.get(name)
    if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
        raise CommandError(f"{where}: {name!r} must be a whole number, not {value!r}")
    if value is not None and not -INT64_MAX <= value <= INT64_MAX:
        raise CommandError(f"{where}: {name!r} is {value}, which has more than 64 bits")
    return value
