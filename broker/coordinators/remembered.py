"""A table of clients that forgets the oldest ones: there may be any number, with names of any length."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final, Generic, TypeVar

Value = TypeVar("Value")

Key = tuple[str, str]
"""The host of a client, as Kafka shows it, and its client id."""

CLIENTS_MAX: Final = 10_000
"""The clients that are remembered."""

TEXT_MAX: Final = 2 << 20
"""The characters of all their names: clients may send ids of 32,767."""


class Remembered(Generic[Value]):
    """A table of the clients that came last."""

    __slots__ = ("_found", "_text")

    def __init__(self) -> None:
        self._found: OrderedDict[Key, Value] = OrderedDict()
        self._text = 0

    def __len__(self) -> int:
        return len(self._found)

    def get(self, key: Key) -> Value | None:
        """Return what is known of a client."""
        return self._found.get(key)

    def put(self, key: Key, value: Value) -> None:
        """Remember this of a client, which is then the newest one."""
        if self._found.pop(key, None) is None:
            self._text += len(key[1])
        self._found[key] = value
        while len(self._found) > CLIENTS_MAX or (self._text > TEXT_MAX and len(self._found) > 1):
            (_, client_id), _ = self._found.popitem(last=False)
            self._text -= len(client_id)

    def clear(self) -> None:
        """Forget all."""
        self._found.clear()
        self._text = 0
