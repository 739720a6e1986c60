"""Records of a form: one with its parts, or several as lines of JSON, as `kawal produce --json` takes them.

A form carries text, so keys and values that are not UTF-8 are written in base64, and null is a choice of its
own.  The lines that are shown before sending are those that are sent: nothing is read twice in two ways.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from console.batch_sender import BatchSender
from console.errors import CommandError
from console.record_formats import OutgoingRecord, load_json
from console.web.errors import PageError
from console.web.fields import Fields
from protocol.record_reader import Record

FORMS: Final = ("text", "base64", "null")
LINES_MAX: Final = 10_000
HEADERS_SPARE: Final = 2
"""Empty headers of the form, to be filled in."""


_TURNING: Final = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


class Part(NamedTuple):
    """A key, a value, or a header's value in a form."""

    text: str
    form: str


class Wrong(NamedTuple):
    """A line that is no record."""

    line: int
    sentence: str


def part_of(data: bytes | None, *, lines: bool = False) -> Part:
    """Return bytes as a form has them, in one line or in several."""
    if data is None:
        return Part("", "null")
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return Part(b64encode(data).decode(), "base64")
    # These would not come back as they are: a browser sends every end of a line as CR LF, and a field of one
    # line loses it.  Marks of direction would show a text that is another one.
    if "\r" in text or "\0" in text or ("\n" in text and not lines) or _TURNING.search(text):
        return Part(b64encode(data).decode(), "base64")
    return Part(text, "text")


class Draft(NamedTuple):
    """The record of a form."""

    key: Part
    value: Part
    headers: Sequence[tuple[str, Part]]
    partition: str = ""


def draft_of(record: Record | None, partition: int | None = None) -> Draft:
    """Return the form for a record like this one; an empty one for none."""
    if record is None:
        return Draft(Part("", "null"), Part("", "text"), ())
    headers = [(name, part_of(value)) for name, value in record.headers]
    return Draft(
        part_of(record.key),
        part_of(record.value, lines=True),
        headers,
        "" if partition is None else str(partition),
    )


def line_of(form: Fields) -> str:
    """Return the record of a form as a line of JSON.  Raises: PageError."""
    tree: dict[str, Any] = {}
    _put(tree, "key", form.one("key"), form.one("key_form"))
    _put(tree, "value", form.one("value"), form.one("value_form"))
    names, values, forms = form.many("header"), form.many("header_value"), form.many("header_form")
    if not len(names) == len(values) == len(forms):
        raise PageError(400, "each header needs a name, a value and its form")
    headers: list[dict[str, Any]] = []
    for name, value, kind in zip(names, values, forms, strict=True):
        if name:
            headers.append({"name": name})
            _put(headers[-1], "value", value, kind)
        elif value:
            raise PageError(400, f"the header with the value {value[:40]!r} has no name")
    if headers:
        tree["headers"] = headers
    if (partition := form.number("partition", -1, low=-1, high=(1 << 31) - 1)) >= 0:
        tree["partition"] = partition
    return json.dumps(tree, ensure_ascii=False)


def _put(tree: dict[str, Any], name: str, text: str, form: str) -> None:
    if form not in FORMS:
        raise PageError(400, f"the form of the {name} is {form[:20]!r}; it is one of {', '.join(FORMS)}")
    if form == "null":
        if text:
            raise PageError(400, f"the {name} is null and has a text; remove the text, or choose text")
        tree[name] = None
    elif form == "base64":
        tree[f"{name}_base64"] = "".join(text.split())
    else:
        tree[name] = text.replace("\r\n", "\n")


def read_lines(text: str) -> tuple[list[OutgoingRecord], list[Wrong]]:
    """Read lines of JSON; return the records, and what is wrong with the others."""
    records: list[OutgoingRecord] = []
    wrong: list[Wrong] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        if len(records) + len(wrong) == LINES_MAX:
            wrong.append(Wrong(number, f"more than {LINES_MAX} records; send the rest afterwards"))
            break
        try:
            records.append(load_json(line.encode("utf-8", "surrogatepass"), f"line {number}"))
        except (CommandError, UnicodeError) as error:
            wrong.append(Wrong(number, str(error)))
    return records, wrong


def check_partitions(records: Sequence[OutgoingRecord], count: int) -> list[Wrong]:
    """Return the records whose partition does not exist, by their place."""
    return [
        Wrong(number, f"record {number}: there is no partition {record.partition}; there are {count}, from 0")
        for number, record in enumerate(records, 1)
        if record.partition is not None and not 0 <= record.partition < count
    ]


def send(bootstrap: str, topic: str, records: Sequence[OutgoingRecord]) -> dict[int, int]:
    """Send records and wait until all are stored; return how many are in each partition.

    Raises: CommandError saying how many were stored.
    """
    sender = BatchSender(bootstrap, topic)
    try:
        sender.open()
        try:
            for record in records:
                sender.add(record)
            sender.ship()
            sender.finish()
        except CommandError as error:
            stored = sender.stored_in.total()
            raise CommandError(f"{error} ({stored} of {len(records)} records were stored)") from error
    finally:
        sender.close()
    return dict(sender.stored_in)
