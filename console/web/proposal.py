"""Columns proposed for a topic that declares none: what its records have, by a look at some of them."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from math import isfinite
from typing import Final, NamedTuple

import msgspec

from console.web.masks import NO_MASK, TopicMask
from views.column_types import INT64_MAX, INT64_MIN, parse_type
from views.columns import NAME_LENGTH_MAX, RESERVED, Column, Columns
from views.timestamps import parse_timestamp

RECORDS: Final = 1_000
"""The records that are looked at."""
COLUMNS_MAX: Final = 200
MS_NS: Final = 1_000_000
_members: Final = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_UNREADABLE: Final = re.compile(r'["\\\x00-\x1f]')
_INTEGER: Final = re.compile(rb"-?[0-9]+")


class Proposal(NamedTuple):
    """Columns, and what was looked at."""

    columns: Columns | None
    """None: no record is a JSON object with members."""
    records: int
    objects: int


def propose(values: Iterable[bytes | None], mask: TopicMask = NO_MASK) -> Proposal:
    """Return the columns that all of these values fit; of a masked one nothing is told but its name."""
    kinds: defaultdict[str, Counter[str]] = defaultdict(Counter)
    records = objects = 0
    for value in values:
        records += 1
        try:
            members = _members(value or b"")
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            continue
        objects += 1
        for name, raw in members.items():
            kinds[name][_kind(bytes(raw))] += 1
    chosen = [
        Column(name, kind)
        for name, found in list(kinds.items())[:COLUMNS_MAX]
        if _is_possible(name)
        and (kind := parse_type("json" if mask.hides_column(name) else _type(found))) is not None
    ]
    return Proposal(Columns(tuple(chosen)) if chosen else None, records, objects)


def _is_possible(name: str) -> bool:
    return (
        bool(name.strip())
        and len(name) <= NAME_LENGTH_MAX
        and name.lower() not in RESERVED
        and _UNREADABLE.search(name) is None
        and name.isprintable()
    )


def _kind(raw: bytes) -> str:
    """Return the narrowest type that a JSON value fits; "" for null."""
    first = raw[:1]
    if raw == b"null":
        return ""
    if first in (b"t", b"f"):
        return "bool"
    if first in (b"{", b"["):
        return "json"
    if first == b'"':
        try:
            text = msgspec.json.decode(raw, type=str)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return "json"
        is_time = len(text) >= 10 and parse_timestamp(text, MS_NS) is not None
        return "timestamp" if is_time else "string"
    if _INTEGER.fullmatch(raw):
        return "bigint" if len(raw) < 25 and INT64_MIN <= int(raw) <= INT64_MAX else "json"
    return "double" if isfinite(float(raw)) else "json"


def _type(found: Counter[str]) -> str:
    """Return the type that all values of a member fit."""
    kinds = set(found) - {""}
    if not kinds:
        return "json"
    if len(kinds) == 1:
        return kinds.pop()
    if kinds == {"bigint", "double"}:
        return "double"
    return "string" if kinds == {"timestamp", "string"} else "json"
