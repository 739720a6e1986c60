"""Wide records of a copy, which are encoded apart: in a thread, if there is one.

A record with 20,000 topics takes 10 to 30 ms.  What it is made of is replaced as a whole when it changes, and
then the record is made again.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import partial
from typing import Final, TypeVar

from groups.effects import EncodedRecord

WIDE_TOPICS: Final = 1_000
"""The topics of a record from which on it is encoded apart: fewer take 1 ms."""

TRIES: Final = 5
"""How often a record is encoded apart; if it has changed each time meanwhile, it is encoded on the spot."""

Value = TypeVar("Value")


class Apart(list[EncodedRecord]):
    """An empty list of records: before the next one is asked for, a thread may call `encode`."""

    def __init__(self, make: Callable[[], EncodedRecord]) -> None:
        super().__init__()
        self._make = make
        self.made: EncodedRecord | None = None

    def encode(self) -> None:
        """Encode the record."""
        self.made = self._make()


def encoded_apart(
    find: Callable[[], Value | None], encode: Callable[[Value], EncodedRecord]
) -> Generator[Apart, None, EncodedRecord | None]:
    """Return the record of what `find` returns at the end, None if that is None; yield what is done apart."""
    for _ in range(TRIES):
        value = find()
        if value is None:
            return None
        apart = Apart(partial(encode, value))
        yield apart
        if find() is value:
            return apart.made or encode(value)
    value = find()
    return None if value is None else encode(value)
