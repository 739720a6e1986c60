"""The counts of one listener's connections."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class ListenerStats:
    """Connections open now, and what has come since the start."""

    open: int = 0
    opened: int = 0
    refused: int = 0
    """Closed at accept because a limit was reached."""
    rests: int = 0
    """Times that clients had to wait because others came at too high a rate."""
