"""JSON lines read as records to send: those that `kawal consume --json` prints are read by msgspec.

That takes a quarter of the time.  Whatever it refuses is left to `record_formats.load_json`, which takes more
forms, and says what is wrong with a line.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final

import msgspec

from console.record_formats import INT64_MAX, OutgoingColumns, OutgoingRecord, load_json


class _Header(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    value: str | None = None


_Int64 = Annotated[int, msgspec.Meta(ge=-INT64_MAX, le=INT64_MAX)]


class _Line(msgspec.Struct, forbid_unknown_fields=True):
    """A line whose key and value are text, or null."""

    value: str | None
    key: str | None = None
    headers: tuple[_Header, ...] = ()
    partition: _Int64 | None = None
    timestamp: _Int64 | None = None
    topic: str = ""
    offset: int = 0


_DECODER: Final = msgspec.json.Decoder(_Line)


def load_lines(lines: Sequence[bytes], first: int) -> OutgoingColumns | list[OutgoingRecord]:
    """Return the records of lines, of which the first has the number `first` in the input; blank ones count.

    Raises: CommandError naming the line and what is wrong with it.
    """
    try:
        known = [_DECODER.decode(line) for line in lines if line and not line.isspace()]
        if any([line.headers for line in known]):  # noqa: C419  (a third of the time of a generator)
            return [_record(line) for line in known]
        return OutgoingColumns(
            [None if line.value is None else line.value.encode() for line in known],
            [None if line.key is None else line.key.encode() for line in known],
            [line.partition for line in known],
            [line.timestamp for line in known],
        )
    except (ValueError, RecursionError):
        return [
            load_json(line, f"record {number} of the input")
            for number, line in enumerate(lines, start=first)
            if line and not line.isspace()
        ]


def _record(line: _Line) -> OutgoingRecord:
    return OutgoingRecord(
        None if line.value is None else line.value.encode(),
        None if line.key is None else line.key.encode(),
        [(header.name, None if header.value is None else header.value.encode()) for header in line.headers],
        line.partition,
        line.timestamp,
    )
