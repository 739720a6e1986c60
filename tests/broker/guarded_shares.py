"""A gateway with access rules, on which User:alice is a member of the share group `g`."""

from __future__ import annotations

from uuid import UUID

from broker.security.acls import Acl
from broker.security.authorized_operations import Operation
from tests.broker.guarded import ADMIN, ALICE, GROUP, TOPIC, Guarded
from tests.broker.kit import batch, create, send
from tests.broker.shares import Member, configure

Place = tuple[UUID, int]


class GuardedShares(Guarded):
    """The topics `open`, which Alice may read, and `shut`, of which she only knows."""

    def __init__(self) -> None:
        super().__init__(super_users=f"{ADMIN};User:ANONYMOUS", kawal_vnodes=1)
        self.open: Place = (create(self.admin, "open"), 0)
        self.shut: Place = (create(self.admin, "shut"), 0)
        configure(self, share_auto_offset_reset="earliest")
        self.allow(Operation.READ, GROUP, "g")
        self.allow(Operation.READ, TOPIC, "open")
        self.allow(Operation.DESCRIBE, TOPIC, "shut")

    def alice(self, name: str = "alice") -> Member:
        """Return a member that is subscribed to both topics."""
        return Member(self, name, "open", "shut", client=self.of(ALICE))

    def unlock(self) -> Acl:
        """Let Alice read `shut`."""
        return self.allow(Operation.READ, TOPIC, "shut")

    def produce(self, topic: str, *records: bytes) -> None:
        """Write records."""
        send(self.admin, topic, batch(*records))
