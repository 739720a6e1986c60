"""The types of the rows that compiled statements read and write.

A type refers to itself, and only a collection frees it.  A server exempts what is old from collection
(broker/server/collector.py), and so would keep the types of all views that there ever were:

    a statement is compiled again     it takes the type that it had
    COLLECTED_BYTES of new types      one collection of everything, which frees those that no evaluator uses
"""

from __future__ import annotations

import gc
from collections.abc import Hashable
from typing import Any, Final
from weakref import WeakValueDictionary

import msgspec

TYPE_BYTES: Final = 3_000
FIELD_BYTES: Final = 650
"""The memory of a type and of each of its fields, as tracemalloc measures it."""

COLLECTED_BYTES: Final = 64 << 20
"""New types after which all objects are looked at, in 1 s for a million: 16,000 types of few columns, or 100
of a thousand, which take seconds to compile."""

_types: Final[WeakValueDictionary[Hashable, Any]] = WeakValueDictionary()


class _Made:
    """The memory of the types made since the last collection; threads may make some at once."""

    size_bytes = 0


def row_type(name: str, fields: list[tuple[str, Any, Any]], rename: dict[str, str], kinds: Hashable) -> Any:
    """Return the struct of these fields, the same one for the same columns of the same `kinds`."""
    key = name, tuple(rename.values()), kinds
    found = _types.get(key)
    if found is None:
        _Made.size_bytes += TYPE_BYTES + FIELD_BYTES * len(fields)
        if _Made.size_bytes > COLLECTED_BYTES:
            _Made.size_bytes = 0
            _collect_exempt()
        found = _types[key] = msgspec.defstruct(name, fields, rename=rename, gc=False)
    return found


def _collect_exempt() -> None:
    """Collect everything, if old objects are exempt; else the collector comes to all of them anyway."""
    if gc.get_freeze_count():
        gc.unfreeze()
        gc.collect()
        gc.freeze()
