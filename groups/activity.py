"""The times of members' actions, for display only: no decision depends on them; a restart forgets them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True, kw_only=True)
class Activity:
    """The times of one member, in ms since 1970; 0: not yet."""

    user: str = ""
    joined_ms: int = 0
    """When it was first heard of."""
    subscribed_ms: int = 0
    """When it joined, or last changed what it subscribes to."""
    rebalanced_ms: int = 0
    """When it last got another assignment."""
    polled_ms: int = 0
    """When it last did what only polling clients do: join, fetch or commit offsets."""
    heartbeat_ms: int = 0
