"""The last polls of members, as far as the server sees them.

The coordinator notes joins and commits.  A fetch names no member: one that reads a partition of a member,
from the member's host and under its client id, is taken for its poll.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Protocol

from broker.loop.clock import Clock
from broker.loop.last_fetch import Place, kept_id

if TYPE_CHECKING:
    from broker.connections.connection import Connection
    from groups.show import SubscriptionRow

Member = tuple[str, str]
"""A group and one of its members."""


class Consumer(Protocol):
    """A member, and the client that it is."""

    @property
    def group_id(self) -> str:
        """Its group."""

    @property
    def consumer_id(self) -> str:
        """Its own id."""

    @property
    def client_id(self) -> str:
        """The client id under which it fetches."""

    @property
    def host(self) -> str:
        """The host from which it does, with or without Kafka's slash before it."""


def owned_places(rows: Iterable[SubscriptionRow]) -> dict[Member, set[Place]]:
    """Return the partitions of each member that has any."""
    owned: dict[Member, set[Place]] = defaultdict(set)
    for row in rows:
        if row.consumer_id is not None:
            owned[row.group_id, row.consumer_id].add((row.topic, row.partition))
    return owned


def fetched_ms(
    consumers: Collection[Consumer],
    owned: Mapping[Member, set[Place]],
    connections: Iterable[Connection],
    clock: Clock,
) -> dict[Member, int]:
    """Return the time of day of the last fetch of each member that has fetched a partition of its own."""
    by_client: dict[tuple[str, str], list[Member]] = defaultdict(list)
    for row in consumers:
        member = row.group_id, row.consumer_id
        if member in owned:
            by_client[row.host.removeprefix("/"), kept_id(row.client_id) or ""].append(member)
    found: dict[Member, int] = {}
    for connection in connections:
        fetch = connection.last_fetch
        if fetch is None:
            continue
        for member in by_client.get((connection.host, fetch.client_id), ()):
            time_ms = clock.wall_ms(fetch.received_ms)
            if time_ms > found.get(member, 0) and fetch.reads(owned[member]):
                found[member] = time_ms
    return found
