"""The members of groups by client, and those of them that have changed, for code that follows some clients.

    watch(key) --> members of the client join, leave, get or give up partitions --> take(key) --> …

So what follows a client looks at its members that have changed, and at no other group.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Final

ClientKey = tuple[str, str]
"""The host of a client, as Kafka shows it, and its client id."""

MemberId = tuple[str, str]
"""A group, and a member of it."""

CHANGES_MAX: Final = 20_000
"""The changes that are kept until they are taken, in 3 MB; with more of them all clients are watched anew."""

NO_GROUPS: Final[Mapping[str, Collection[str]]] = {}


class ClientIndex:
    """The members of all clients; it is told of each change by what counts their memory."""

    __slots__ = ("_changed", "_clients", "_untaken")

    def __init__(self) -> None:
        # By client and group: the ids of members.
        self._clients: dict[ClientKey, dict[str, dict[str, None]]] = {}
        # Of the clients that are watched: what has changed since it was taken.
        self._changed: dict[ClientKey, set[MemberId]] = {}
        self._untaken = 0

    # --- who is there ---------------------------------------------------------------------------------------

    def groups_of(self, key: ClientKey) -> Mapping[str, Collection[str]]:
        """Return the groups of a client, each with the ids of its members; they may change later."""
        return self._clients.get(key, NO_GROUPS)

    def members_of(self, key: ClientKey) -> Iterator[MemberId]:
        """Yield the members of a client; those that come or leave meanwhile may be left out."""
        for group_id in list(self.groups_of(key)):
            for member_id in list(self.groups_of(key).get(group_id, ())):
                yield group_id, member_id

    def has(self, key: ClientKey, member: MemberId) -> bool:
        """Whether a member is the client's."""
        return member[1] in self.groups_of(key).get(member[0], ())

    # --- what changes ---------------------------------------------------------------------------------------

    def put(self, key: ClientKey, group_id: str, member_id: str) -> None:
        """Note a member that has joined."""
        groups = self._clients.get(key)
        if groups is None:
            groups = self._clients[key] = {}
        members = groups.get(group_id)
        if members is None:
            members = groups[group_id] = {}
        members[member_id] = None
        self.changed(key, group_id, member_id)

    def drop(self, key: ClientKey, group_id: str, member_id: str) -> None:
        """Note that a member has left, or is another client's now."""
        groups = self._clients[key]
        members = groups[group_id]
        del members[member_id]
        if not members:
            del groups[group_id]
            if not groups:
                del self._clients[key]
        self.changed(key, group_id, member_id)

    def drop_group(self, key: ClientKey, group_id: str) -> None:
        """Note that all of a client's members of a group have left."""
        groups = self._clients.get(key)
        members = None if groups is None else groups.pop(group_id, None)
        if groups is None or members is None:
            return
        if not groups:
            del self._clients[key]
        if key in self._changed:
            for member_id in members:
                self.changed(key, group_id, member_id)

    def changed(self, key: ClientKey, group_id: str, member_id: str) -> None:
        """Note that a member may have other partitions."""
        changed = self._changed.get(key)
        if changed is None:
            return
        before = len(changed)
        changed.add((group_id, member_id))
        self._untaken += len(changed) - before
        if self._untaken > CHANGES_MAX:
            self._changed.clear()
            self._untaken = 0

    # --- what follows them ----------------------------------------------------------------------------------

    def watch(self, key: ClientKey) -> None:
        """Keep the changes of a client from now on."""
        self.unwatch(key)
        self._changed[key] = set()

    def unwatch(self, key: ClientKey) -> None:
        """Keep the changes of a client no longer."""
        self._untaken -= len(self._changed.pop(key, ()))

    def watches(self, key: ClientKey) -> bool:
        """Whether the changes of a client are kept since it was watched; if not, any number may be lost."""
        return key in self._changed

    def has_changed(self, key: ClientKey) -> bool:
        """Whether there are changes to take, or changes may be lost."""
        changed = self._changed.get(key)
        return changed is None or bool(changed)

    def take(self, key: ClientKey) -> set[MemberId]:
        """Return the members of a watched client that have changed since the last time."""
        taken, self._changed[key] = self._changed[key], set()
        self._untaken -= len(taken)
        return taken
