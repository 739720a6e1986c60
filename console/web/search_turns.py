"""One search at a time for each user: the next one ends the one before it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final
from weakref import WeakKeyDictionary

from console.web.kafka_door import Kafka
from console.web.search_bounds import Bounds

_AT_WORK: Final[WeakKeyDictionary[Kafka, Bounds]] = WeakKeyDictionary()
"""The search of each identity that is logged in, or of all who need not log in."""


@contextmanager
def turn(kafka: Kafka, bounds: Bounds) -> Iterator[None]:
    """Take the turn of an identity; the search ends with the block, as when the browser leaves."""
    before = _AT_WORK.get(kafka)
    if before is not None:
        before.leave()
    _AT_WORK[kafka] = bounds
    try:
        yield
    finally:
        bounds.leave()
        if _AT_WORK.get(kafka) is bounds:
            del _AT_WORK[kafka]
