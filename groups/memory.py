"""The memory that the members of groups take: of a group, of the clients of one address, and in all.

What a member says about itself stays for its session, up to half an hour without another word: its names,
its subscription under each protocol, its assignment, a regular expression with the topics that match. Each of
these is an entry, named by its group and a slot within, and is counted from when it is applied until it is
replaced or its group is forgotten. Before a member's own words are adopted, `check` looks for room:

    its group has no room         GROUP_MAX_SIZE_REACHED: the member cannot join this group as it is
    there is none in all, or its  COORDINATOR_NOT_AVAILABLE: clients try again, and there may be room then
      address has its share

A member that takes no more than before always passes. Kafka has no such limits; there, a group's record is
limited by max.message.bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Final, Protocol

from groups.clients import ClientIndex, ClientKey
from groups.errors import CoordinatorNotAvailable, GroupError, GroupFull

MEMBER_BYTES: Final = 1_900
"""The memory of a member beyond its own words: objects, activity, a timer, and its place among the members of
its client (measured: 1,100 to 1,850)."""

ASSIGNED_BYTES: Final = 150
"""The memory of a partition in one assignment of a consumer group (measured: 100 to 140)."""

NAME_BYTES: Final = 60
"""The memory of a string beyond its characters, in a tuple or set."""

ADDRESS_UNKNOWN: Final = ""


class Limits(Protocol):
    """The settings about memory."""

    @property
    def kawal_group_max_bytes(self) -> int:
        """The memory for one group."""

    @property
    def kawal_groups_max_bytes(self) -> int:
        """The memory for all groups."""

    @property
    def kawal_memory_share_per_ip(self) -> float:
        """The part of it for clients from one address."""


_Entry = tuple[str, int, str | None]
"""The address of a client, bytes, and of a member of a group whose members fetch, its client id."""


class _GroupUse:
    """The entries of a group, by slot."""

    __slots__ = ("entries", "size_bytes")

    def __init__(self) -> None:
        self.entries: dict[Hashable, _Entry] = {}
        self.size_bytes = 0


def _tell_nothing(_group_id: str, _slot: Hashable, _is_there: bool) -> None:
    """Tell nothing of what comes and goes."""


class GroupMemory:
    """The memory of all groups."""

    __slots__ = ("_groups", "_hosts", "clients", "refused", "size_bytes", "tell")

    def __init__(self, tell: Callable[[str, Hashable, bool], None] = _tell_nothing) -> None:
        """`tell` learns when a slot with a kind, of a group, comes to have an entry or has none."""
        self.tell = tell
        self.size_bytes = 0
        self.refused = 0
        # Which members are whose: each member has an entry for as long as it is one.
        self.clients = ClientIndex()
        self._groups: dict[str, _GroupUse] = {}
        self._hosts: dict[str, int] = {}

    def group_bytes(self, group_id: str) -> int:
        """Return what a group takes."""
        use = self._groups.get(group_id)
        return 0 if use is None else use.size_bytes

    def entries(self, group_id: str) -> dict[Hashable, int]:
        """Return the bytes of each slot of a group."""
        use = self._groups.get(group_id)
        return {} if use is None else {slot: size_bytes for slot, (_, size_bytes, _) in use.entries.items()}

    def count(
        self, group_id: str, slot: Hashable, host: str, size_bytes: int, client_id: str | None = None
    ) -> None:
        """Count an entry from now on, in place of the one in the same slot; 0 bytes: the slot is empty.

        `client_id` is given of the entry of a member whose client fetches what it is assigned.
        """
        use = self._groups.get(group_id)
        if use is None:
            if not size_bytes:
                return
            use = self._groups[group_id] = _GroupUse()
        before = use.entries.pop(slot, None)
        if before is not None:
            self._add(use, before[0], -before[1])
        if size_bytes:
            use.entries[slot] = (host, size_bytes, client_id)
            self._add(use, host, size_bytes)
        else:
            client_id = None
        if client_id is not None or (before is not None and before[2] is not None):
            self._tell_clients(group_id, slot, before, None if client_id is None else (host, client_id))
        if (before is None) == bool(size_bytes) and isinstance(slot, tuple):
            self.tell(group_id, slot, before is None)
        if not use.entries:
            del self._groups[group_id]

    def forget(self, group_id: str) -> None:
        """Count nothing of a group any more."""
        use = self._groups.pop(group_id, None)
        if use is not None:
            for slot, entry in use.entries.items():
                self._add(use, entry[0], -entry[1])
                if entry[2] is not None:
                    self.clients.drop_group((entry[0], entry[2]), group_id)
                if isinstance(slot, tuple):
                    self.tell(group_id, slot, False)

    def _tell_clients(
        self, group_id: str, slot: Hashable, before: _Entry | None, present: ClientKey | None
    ) -> None:
        """Note which client a member was, and is now; the slot is its id, or ends with it."""
        former = None if before is None or before[2] is None else (before[0], before[2])
        member_id = str(slot[-1] if isinstance(slot, tuple) else slot)
        if former is not None and former == present:
            self.clients.changed(former, group_id, member_id)
            return
        if former is not None:
            self.clients.drop(former, group_id, member_id)
        if present is not None:
            self.clients.put(present, group_id, member_id)

    def check(self, limits: Limits, group_id: str, slot: Hashable, host: str, size_bytes: int) -> None:
        """Check that there is room for an entry.

        Raises: GroupFull, CoordinatorNotAvailable.
        """
        use = self._groups.get(group_id)
        added_bytes = size_bytes
        if use is not None and slot in use.entries:
            added_bytes -= use.entries[slot][1]
        if added_bytes > 0:
            try:
                self._check_room(limits, group_id, host, added_bytes)
            except GroupError:
                self.refused += 1
                raise

    def _check_room(self, limits: Limits, group_id: str, host: str, added_bytes: int) -> None:
        group_max, all_max = limits.kawal_group_max_bytes, limits.kawal_groups_max_bytes
        if self.group_bytes(group_id) + added_bytes > group_max:
            raise GroupFull(
                f"The members of group {group_id!r} would take more than {group_max} bytes of memory"
                " (kawal.group.max.bytes)."
            )
        if self.size_bytes + added_bytes > all_max:
            raise CoordinatorNotAvailable(
                f"The members of all groups would take more than {all_max} bytes of memory"
                " (kawal.groups.max.bytes)."
            )
        share_bytes = int(all_max * limits.kawal_memory_share_per_ip)
        if self._hosts.get(host, 0) + added_bytes > share_bytes:
            raise CoordinatorNotAvailable(
                f"The members of groups from {host} would take more than {share_bytes} bytes of memory"
                " (kawal.groups.max.bytes, kawal.memory.share.per.ip)."
            )

    def _add(self, use: _GroupUse, host: str, size_bytes: int) -> None:
        use.size_bytes += size_bytes
        self.size_bytes += size_bytes
        host_bytes = self._hosts.get(host, 0) + size_bytes
        if host_bytes:
            self._hosts[host] = host_bytes
        else:
            del self._hosts[host]
