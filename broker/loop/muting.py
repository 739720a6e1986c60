"""Clients that were told to wait: nothing is read from their connections until then (KIP-219).

There is a timer for each connection that waits, and none for the others.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from broker.loop.call import CallConnection

if TYPE_CHECKING:
    from broker.loop.timers import Timers


def mute(connection: CallConnection, until_ms: int, timers: Timers) -> None:
    """Serve no request of a connection before this moment."""
    if connection.closed or until_ms <= connection.muted_until_ms:
        return
    connection.muted_until_ms = until_ms
    connection.stalled = True
    timers.add(until_ms, partial(_unmute, connection))


def _unmute(connection: CallConnection, now_ms: int) -> None:
    if not connection.closed and 0 < connection.muted_until_ms <= now_ms:
        connection.muted_until_ms = 0
        connection.rested()
