"""The admission of clients: limits on connections, in all and from one address, checked at accept.

`max.connections` and `max.connections.per.ip` may change while the server runs; existing connections stay.
The limit on open files bounds connections too, with some files reserved for the logs: otherwise one client
too many would keep a log from opening its next segment.
"""

from __future__ import annotations

from typing import Final

RESERVED_FILES: Final = 1000
"""Open files reserved for segments and everything else that is not a client."""

RESERVED_SHARE: Final = 4
"""If few files may be open at all, one in this many is reserved."""

LOG_INTERVAL_MS: Final = 1000
"""Refusals are logged at most this often, with their number: a storm of clients must not fill a disk."""


def connection_room(open_files_max: int) -> int:
    """Return how many connections a process may have whose limit on open files is this."""
    return open_files_max - min(RESERVED_FILES, open_files_max // RESERVED_SHARE)


class Admission:
    """The count of connections by address, and the decision about the next one."""

    __slots__ = ("_hosts", "_logged_ms", "_room", "_unlogged", "count")

    def __init__(self, room: int) -> None:
        """`room`: the most connections at once, whatever is configured."""
        self._room = room
        self._hosts: dict[str, int] = {}
        self.count = 0
        self._logged_ms: int | None = None
        self._unlogged = 0

    def refusal(
        self, host: str, *, count_max: int, host_count_max: int, name: str = "max.connections.per.ip"
    ) -> str | None:
        """Return why a client of this address may not connect, None when it may.

        `host_count_max` is the limit of this address, and `name` the setting that says so.
        """
        if self.count >= count_max:
            return f"max.connections={count_max} is reached"
        if self.count >= self._room:
            return f"{self.count} connections are open, and the limit on open files has no room for more"
        if self._hosts.get(host, 0) >= host_count_max:
            return f"{name}={host_count_max} is reached for this address"
        return None

    def enter(self, host: str) -> None:
        """Count a client that has connected."""
        self.count += 1
        self._hosts[host] = self._hosts.get(host, 0) + 1

    def leave(self, host: str) -> None:
        """Count a client that has left."""
        self.count -= 1
        self._hosts[host] -= 1
        if not self._hosts[host]:
            del self._hosts[host]

    def refused(self, now_ms: int) -> int:
        """Count a refusal; return the number of refusals to log now, 0 for none."""
        self._unlogged += 1
        if self._logged_ms is not None and now_ms - self._logged_ms < LOG_INTERVAL_MS:
            return 0
        self._logged_ms = now_ms
        count, self._unlogged = self._unlogged, 0
        return count
