"""The facts about topics and clients that groups need; the broker provides them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol
from uuid import UUID


class TopicFacts(Protocol):
    """One topic."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def topic_id(self) -> UUID:
        """Its id, new for each incarnation of the name."""

    @property
    def partition_count(self) -> int:
        """Its partitions, numbered from 0."""

    @property
    def recorded(self) -> bool:
        """Whether it is durable that it exists: before, no client may use it."""


class Topics(Protocol):
    """All topics, as the broker's catalogue keeps them."""

    @property
    def by_name(self) -> Mapping[str, TopicFacts]:
        """Topics by name."""

    @property
    def by_id(self) -> Mapping[UUID, TopicFacts]:
        """Topics by id."""


class Client(NamedTuple):
    """The sender of a request, and the version of its API."""

    version: int
    client_id: str
    host: str
    """As Kafka shows it: `/127.0.0.1`."""
    user: str = "ANONYMOUS"
    sees: Callable[[str], bool] | None = None
    """Whether the sender may see the topic of that name; None: it may see all."""
