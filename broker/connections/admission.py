"""Who may connect: limits on connections, all together and from one address, checked at accept.

`max.connections` and `max.connections.per.ip` may change while the server runs; connections that exist stay.
The limit on open files bounds connections too, with some files kept for the logs: without that, one client
too many would keep a log from its next segment.
"""

from __future__ import annotations

from typing import Final

RESERVED_FILES: Final = 1000
"""Open files kept for segments and everything else that is no client."""

RESERVED_SHARE: Final = 4
"""Where few files may be open at all, one in so many is kept."""

LOG_INTERVAL_MS: Final = 1000
"""Refusals are logged at most this often, with their number: a storm of clients must not fill a disk."""


def connection_room(open_files_max: int) -> int:
    """How many connections a process may have that may have so many open files."""
    return open_files_max - min(RESERVED_FILES, open_files_max // RESERVED_SHARE)


class Admission:
    """Counts connections by address and decides about the next one."""

    __slots__ = ("_hosts", "_logged_ms", "_room", "_unlogged", "count")

    def __init__(self, room: int) -> None:
        """`room`: connections there may be at once whatever is configured."""
        self._room = room
        self._hosts: dict[str, int] = {}
        self.count = 0
        self._logged_ms: int | None = None
        self._unlogged = 0

    def refusal(self, host: str, *, count_max: int, host_count_max: int) -> str | None:
        """Why a client of this address may not connect, None when it may."""
        if self.count >= count_max:
            return f"max.connections={count_max} are open"
        if self.count >= self._room:
            return f"{self.count} are open, and the limit on open files has room for no more"
        if self._hosts.get(host, 0) >= host_count_max:
            return f"max.connections.per.ip={host_count_max} are open from there"
        return None

    def enter(self, host: str) -> None:
        """A client has connected."""
        self.count += 1
        self._hosts[host] = self._hosts.get(host, 0) + 1

    def leave(self, host: str) -> None:
        """A client is gone."""
        self.count -= 1
        self._hosts[host] -= 1
        if not self._hosts[host]:
            del self._hosts[host]

    def refused(self, now_ms: int) -> int:
        """Count a refusal; the number of them to be logged now, 0 for silence."""
        self._unlogged += 1
        if self._logged_ms is not None and now_ms - self._logged_ms < LOG_INTERVAL_MS:
            return 0
        self._logged_ms = now_ms
        count, self._unlogged = self._unlogged, 0
        return count
