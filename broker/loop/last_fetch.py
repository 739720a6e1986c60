"""The last fetch of a connection, by which an operator sees that a consumer polls.

A fetch names no group and no member. It is taken for a poll of the members that come from the same host with
the same client id and that own one of the partitions it reads.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, NamedTuple

Place = tuple[str, int]
"""The name of a topic, and a partition of it."""


CLIENT_ID_KEPT: Final = 256
"""The characters of a client id that are kept with a connection: clients may send 32,767, on each of them."""

PLACES_KEPT: Final = 32
"""The partitions of a fetch that are kept with a connection, as long as it lasts, in 64 bytes each: a member
that polls reads its own, so the first of them will do."""


def kept_id(client_id: str | None) -> str | None:
    """Return as much of a client id as is kept with a connection."""
    if client_id is None or len(client_id) <= CLIENT_ID_KEPT:
        return client_id
    return client_id[:CLIENT_ID_KEPT]


class LastFetch(NamedTuple):
    """The last fetch: when it came, from which client, and what it reads."""

    received_ms: int
    client_id: str
    """That client's id, cut to what is kept."""
    places: list[Place]

    def reads(self, places: Collection[Place]) -> bool:
        """Whether it reads one of these partitions."""
        return any(place in places for place in self.places)
