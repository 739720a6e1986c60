"""Consumers that are gone without having said so."""

from __future__ import annotations

from typing import NamedTuple


class LostConsumer(NamedTuple):
    """One of them, as SHOW CONSUMERS goes on to show it for a while."""

    group_id: str
    member_id: str
    client_id: str
    host: str
    user: str
    topics: tuple[str, ...]
    lost_ms: int
    """When it was given up, in ms since 1970."""
    reason: str
