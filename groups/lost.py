"""Consumers that vanished without leaving."""

from __future__ import annotations

from typing import NamedTuple


class LostConsumer(NamedTuple):
    """A lost consumer, which SHOW CONSUMERS still shows for a while."""

    group_id: str
    member_id: str
    client_id: str
    host: str
    user: str
    topics: tuple[str, ...]
    lost_ms: int
    """When it was removed, in ms since 1970."""
    reason: str
