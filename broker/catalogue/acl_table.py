"""The access rules that exist: the state which their records in the catalogue's log make up.

A rule counts from the moment at which its record is planned, and is given up again if the record is lost.
Whether rules are enforced is not decided here: a follower (broker/security/authorizer.py) is told of changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

from broker.catalogue.catalogue_records import AclAdded, AclRemoved, acl_of
from broker.catalogue.database_table import Halves
from broker.catalogue.settings_plan import plan_nothing

if TYPE_CHECKING:
    from broker.security.acls import Acl, AclFilter


class Follower(Protocol):
    """A keeper of rules of its own, which is told of each change."""

    def add(self, acl: Acl) -> None:
        """Have one more rule."""

    def remove(self, acl: Acl) -> None:
        """Have one rule less."""


class AclTable:
    """All access rules, in the order in which they were added."""

    def __init__(self) -> None:
        self._acls: dict[Acl, None] = {}
        self._follower: Follower | None = None

    def __len__(self) -> int:
        return len(self._acls)

    def __iter__(self) -> Iterator[Acl]:
        return iter(self._acls)

    def __contains__(self, acl: Acl) -> bool:
        return acl in self._acls

    def follow(self, follower: Follower) -> None:
        """Tell this follower of all rules there are, and of each change from now on."""
        self._follower = follower
        for acl in self._acls:
            follower.add(acl)

    def candidates(self, wanted: AclFilter) -> list[Acl]:
        """Return the rules among which are all those that a filter finds: often one, else all."""
        single = wanted.single
        if single is None:
            return list(self._acls)
        return [single] if single in self._acls else []

    def plan(self, record: AclAdded | AclRemoved) -> Halves:
        """Add or remove a rule; a record that changes nothing, in a log that lost others, has no effect."""
        acl = acl_of(record)
        adds = isinstance(record, AclAdded)
        if adds == (acl in self._acls):
            return plan_nothing, plan_nothing
        self._put(acl, is_there=adds)
        return plan_nothing, lambda: self._put(acl, is_there=not adds)

    def _put(self, acl: Acl, *, is_there: bool) -> None:
        if is_there:
            self._acls[acl] = None
        else:
            del self._acls[acl]
        if self._follower is not None:
            (self._follower.add if is_there else self._follower.remove)(acl)
