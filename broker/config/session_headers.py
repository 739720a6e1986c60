"""Headers that a topic gives the records of certain producers (`kawal.session.headers`).

entry := ("client:" client.id | "transaction:" transactional.id) ":" name "=" value

Values are UTF-8. Names that begin with `kawal-` are Kawal's own and cannot be given.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

ENTRIES_MAX: Final = 1_000
"""The most entries of a topic."""

SESSION_BYTES_MAX: Final = 1_024
"""The most bytes that the headers of one producer add to each of its records, without their lengths."""

RESERVED: Final = "kawal-"

_ENTRY: Final = re.compile(r"(client|transaction):([^=]+):([^:=]+)=(.*)\Z", re.DOTALL)

Added = tuple[tuple[str, bytes], ...]


def problem_of(entries: Sequence[str]) -> str | None:
    """Return what is wrong with the entries; None if nothing is."""
    if len(entries) > ENTRIES_MAX:
        return f"{len(entries)} entries; {ENTRIES_MAX} are the most"
    sizes: dict[tuple[str, str], int] = {}
    seen: set[tuple[str, str, str]] = set()
    for number, entry in enumerate(entries, start=1):
        found = _ENTRY.match(entry)
        if found is None:
            return f"entry {number}, {entry!r}, is not client:ID:NAME=VALUE or transaction:ID:NAME=VALUE"
        kind, session, name, value = found.groups()
        if name.startswith(RESERVED):
            return f"entry {number}, {entry!r}: headers that begin with {RESERVED} are Kawal's own"
        if (kind, session, name) in seen:
            return f"entry {number}, {entry!r}: the {kind} has a header {name!r} already"
        seen.add((kind, session, name))
        size = sizes[kind, session] = (
            sizes.get((kind, session), 0) + len(_encoded(name)) + len(_encoded(value))
        )
        if size > SESSION_BYTES_MAX:
            return (
                f"the headers of {kind} {session!r} take more than {SESSION_BYTES_MAX} bytes in each record"
            )
    return None


def session_headers(entries: tuple[str, ...], client_id: str | None, transactional_id: str | None) -> Added:
    """Return the headers of a producer; where both ids give one, the transactional id's counts."""
    table = _table(entries)
    added = dict(table.get(("client", client_id or ""), ()))
    if transactional_id is not None:
        added.update(table.get(("transaction", transactional_id), ()))
    return tuple(added.items())


@lru_cache(maxsize=1_000)
def _table(entries: tuple[str, ...]) -> dict[tuple[str, str], Added]:
    """Return the headers by kind and id."""
    found: dict[tuple[str, str], Added] = {}
    for entry in entries:
        match = _ENTRY.match(entry)
        assert match is not None, entry
        kind, session, name, value = match.groups()
        found[kind, session] = (*found.get((kind, session), ()), (name, _encoded(value)))
    return found


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
