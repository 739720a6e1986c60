"""Tags: columns that belong to a record's key, like a sub-table's tags in TDengine.

A record can carry a tag in two places, and the first that has it counts: a header `kawal.tag.NAME`, or the
member NAME of its JSON object.  What a record carries also becomes the tag of its key from there on, for
records that carry none.  So tags need to be sent only once per key, with its first record.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any, Final, Protocol

import msgspec

from views.column_types import Kind, Type
from views.runtime_casts import cast_function

HEADER_PREFIX: Final = "kawal.tag."
# About 40 MB with one tag each; the key that was learnt first is forgotten first.
KEYS_MAX: Final = 100_000
# The bound may be exceeded by this part before the oldest are forgotten: 3,000 keys at once, in 3 ms.
SLACK: Final = 32
_TEXT: Final = Type(Kind.STRING, "string")


class UnfitTag(ValueError):
    """A header whose text is not a value of its tag's type."""


class Known(Protocol):
    """Tags by key."""

    def get(self, key: bytes | None, /) -> dict[str, Any] | None:
        """Return what is known of a key, by the names of tags."""


class KeyTags:
    """The tags that are given to records without them, learned from records with them."""

    by_key: Known
    """Generated code looks here first: most records carry what is known of their key."""

    def learn(self, key: bytes, name: str, value: Any) -> None:
        """Set a tag of a key."""
        raise NotImplementedError

    def resolve(
        self,
        readers: Sequence[tuple[str, Callable[[str], Any]]],
        key: bytes | None,
        headers: Sequence[tuple[str, bytes | None]],
        own: Sequence[Any],
    ) -> list[Any]:
        """Return the tags of one record: `readers` has their names and the readers of a header's text.

        Raises: UnfitTag.
        """
        known = None if key is None else self.by_key.get(key)
        values = list(own)
        for at, (name, read) in enumerate(readers):
            if headers and (text := _header(headers, HEADER_PREFIX + name)) is not None:
                values[at] = read(text)
            if values[at] is None:
                values[at] = None if known is None else known.get(name)
            elif key is not None and (known is None or known.get(name) != values[at]):
                self.learn(key, name, values[at])
                known = self.by_key.get(key)
        return values


class TagTable(KeyTags):
    """The tags that are known of each key, for batches that are looked at once and in order."""

    def __init__(self, keys_max: int = KEYS_MAX) -> None:
        self.keys_max = keys_max
        self.by_key: dict[bytes | None, dict[str, Any]] = {}

    def __len__(self) -> int:
        return len(self.by_key)

    def of(self, key: bytes) -> dict[str, Any]:
        """Return what is known of a key, by the names of tags."""
        return dict(self.by_key.get(key, {}))

    def learn(self, key: bytes, name: str, value: Any) -> None:
        """Set a tag of a key."""
        known = self.by_key.get(key)
        if known is None:
            if len(self.by_key) >= self.keys_max + self.keys_max // SLACK:
                # Many at once: to find its first key, a dictionary passes all that were deleted before.
                for oldest in tuple(islice(self.by_key, len(self.by_key) - self.keys_max + 1)):
                    del self.by_key[oldest]
            known = self.by_key[key] = {}
        known[name] = value


def _json(text: str) -> bytes:
    msgspec.json.decode(text)
    return text.encode()


_READERS: Final[dict[Kind, Callable[[str], Any]]] = {Kind.STRING: str, Kind.JSON: _json}


def header_reader(name: str, kind: Type) -> Callable[[str], Any]:
    """Return the function that turns the text of a header into a value of the tag `name`."""
    cast = _READERS.get(kind.kind) or cast_function(_TEXT, kind)

    def read(text: str) -> Any:
        value = None if cast is None else cast(text)
        if value is None or (kind.length is not None and len(text) > kind.length):
            raise UnfitTag(f"header {HEADER_PREFIX}{name}: {text[:40]!r} is not a {kind}")
        return value

    return read


def header_text(headers: Sequence[tuple[str, bytes | None]], name: str) -> str | None:
    """Return the last value of a header as text; None when there is none, or it is not UTF-8."""
    try:
        return _header(headers, name)
    except UnicodeDecodeError:
        return None


def _header(headers: Sequence[tuple[str, bytes | None]], name: str) -> str | None:
    for header, value in reversed(headers):
        if header == name:
            return None if value is None else str(value, "utf-8")
    return None
