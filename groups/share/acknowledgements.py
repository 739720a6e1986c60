"""The acknowledgements of a request: ranges of records, and what a member says became of them.

Source: KIP-932; Kafka 4.3's ShareAcknowledgementBatch.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from groups.errors import InvalidRequest
from groups.share.states import ACKNOWLEDGEMENTS, Event


class Acknowledgement(NamedTuple):
    """The outcome of the records between two offsets: one event for all, or one for each."""

    first: int
    last: int
    events: Sequence[Event]


def acknowledgement(first: int, last: int, types: Sequence[int]) -> Acknowledgement:
    """Return one acknowledgement of a request; one that begins at -1 does so before the start, as in Kafka.

    Raises: InvalidRequest if range or types are not as the protocol has them.
    """
    if first < -1 or last < first:
        raise InvalidRequest(f"the range {first} to {last} is not a range of offsets")
    if len(types) not in (1, last - first + 1):
        raise InvalidRequest(f"{len(types)} types for the {last - first + 1} offsets from {first} on")
    events = []
    for kind in types:
        event = ACKNOWLEDGEMENTS.get(kind)
        if event is None:
            raise InvalidRequest(f"the type of acknowledgement {kind} does not exist")
        events.append(event)
    return Acknowledgement(first, last, events)


def runs_of(batch: Acknowledgement) -> Iterable[tuple[int, int, Event]]:
    """Yield the ranges of an acknowledgement that have one event each."""
    if len(batch.events) == 1:
        yield batch.first, batch.last, batch.events[0]
        return
    first = batch.first
    for offset, event in enumerate(batch.events[1:], batch.first + 1):
        if event is not batch.events[offset - batch.first - 1]:
            yield first, offset - 1, batch.events[offset - batch.first - 1]
            first = offset
    yield first, batch.last, batch.events[-1]
