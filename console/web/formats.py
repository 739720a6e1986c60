"""A page's rows for programs: `?as=json`, `?as=jsonl` and `?as=csv`, with exact values.

Integers have all their digits, whatever a reader makes of them.  Bytes are text where they are UTF-8, else
base64 after `base64:`.
"""

from __future__ import annotations

import csv
import io
import json
from base64 import b64encode
from collections.abc import Callable
from typing import Any, Final

from console.web.visit import Rows


def as_json(rows: Rows) -> str:
    """Return a list of objects."""
    lines = ",\n".join(_objects(rows))
    return f"[\n{lines}\n]\n" if lines else "[]\n"


def as_jsonl(rows: Rows) -> str:
    """Return an object on each line."""
    return "".join(f"{line}\n" for line in _objects(rows))


def as_csv(rows: Rows) -> str:
    """Return lines by RFC 4180, the names of the columns first; null is empty, lists and objects are JSON."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(rows.columns)
    writer.writerows([_cell(value) for value in row] for row in rows.rows)
    return out.getvalue()


FORMATS: Final[dict[str, tuple[str, Callable[[Rows], str]]]] = {
    "json": ("application/json", as_json),
    "jsonl": ("application/x-ndjson", as_jsonl),
    "csv": ("text/csv; charset=utf-8", as_csv),
}
"""Content type and writer of each format."""


def _objects(rows: Rows) -> list[str]:
    return [json.dumps(dict(zip(rows.columns, row, strict=True)), default=_plain) for row in rows.rows]


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict | list | tuple):
        return json.dumps(value, default=_plain)
    return _plain(value) if isinstance(value, bytes | memoryview) else value


def _plain(value: Any) -> Any:
    if isinstance(value, bytes | bytearray | memoryview):
        data = bytes(value)
        try:
            return data.decode()
        except UnicodeDecodeError:
            return "base64:" + b64encode(data).decode()
    raise TypeError(f"{type(value).__name__} has no place in JSON")
