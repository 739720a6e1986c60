"""Facts about one connected client, for operators."""

from __future__ import annotations

from broker.loop.software import UNKNOWN, SoftwareCounts


class ClientRecord:
    """The client's name for itself, and counts since it connected."""

    __slots__ = ("_counted", "_software", "client_id", "connected_ms", "received_bytes", "request_count")

    def __init__(self, software: SoftwareCounts, connected_ms: int) -> None:
        self._software = software
        self._counted = software.enter(UNKNOWN)
        self.connected_ms = connected_ms
        # Of the last request, cut to what is kept.
        self.client_id: str | None = None
        self.request_count = 0
        self.received_bytes = 0

    def identify(self, name: str, version: str) -> None:
        """Count the connection under the software that the client has given for itself."""
        self._software.leave(self._counted)
        self._counted = self._software.enter((name, version))

    def lost(self) -> None:
        """Count the connection no more."""
        self._software.leave(self._counted)
