"""The last fetch of a connection, by which an operator sees that a consumer polls.

A fetch names no group and no member. It is taken for a poll of the members that come from the same host with
the same client id and that own one of the partitions it reads.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple, Protocol

Place = tuple[str, int]
"""The name of a topic, and a partition of it."""


class FetchedTopic(Protocol):
    """The topic of a partition that was fetched."""

    name: str


class FetchedItem(Protocol):
    """One partition of a fetch."""

    index: int

    @property
    def topic(self) -> FetchedTopic | None:
        """Its topic, None if that does not exist."""


class LastFetch(NamedTuple):
    """The last fetch: when it came, from which client, and what it reads."""

    received_ms: int
    client_id: str
    items: Collection[FetchedItem]

    def reads(self, places: Iterable[Place]) -> bool:
        """Whether it reads one of these partitions."""
        wanted = set(places)
        return any(item.topic is not None and (item.topic.name, item.index) in wanted for item in self.items)
