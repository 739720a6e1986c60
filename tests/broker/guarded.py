"""A gateway with an authorizer, its rules, and a request of every API that needs access.

guarded = Guarded()
guarded.allow("User:alice", Operation.READ, TOPIC, "t")
guarded.client("User:alice").call(...)
"""

from __future__ import annotations

from typing import Any

from broker.catalogue.catalogue_records import AclAdded, AclRemoved
from broker.config.acl_keys import STANDARD_AUTHORIZER
from broker.security.acls import CLUSTER_NAME, Acl, PatternType, Permission, ResourceType
from broker.security.authorized_operations import Operation
from tests.broker.gateway import Client, Gateway

TOPIC, GROUP, CLUSTER = ResourceType.TOPIC, ResourceType.GROUP, ResourceType.CLUSTER
TRANSACTION = ResourceType.TRANSACTIONAL_ID

ADMIN, ALICE = "User:admin", "User:alice"


class Guarded(Gateway):
    """A gateway on which User:admin may do everything, and others what rules allow."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{"authorizer_class_name": STANDARD_AUTHORIZER, "super_users": ADMIN} | settings)

    def of(self, principal: str, host: str = "10.0.0.9") -> Client:
        """Return a connection of this principal."""
        client = Client(self, host)
        client.connection.principal = principal
        return client

    @property
    def admin(self) -> Client:
        """A connection of the super user."""
        return self.of(ADMIN)

    def put(self, acl: Acl) -> None:
        """Add a rule, as CreateAcls does."""
        self.broker.metadata_log.append(AclAdded(**acl._asdict()), self.now_ms)
        self.settle()

    def take(self, acl: Acl) -> None:
        """Remove a rule, as DeleteAcls does."""
        self.broker.metadata_log.append(AclRemoved(**acl._asdict()), self.now_ms)
        self.settle()

    def allow(self, operation: Operation, kind: ResourceType, name: str = CLUSTER_NAME, **other: Any) -> Acl:
        """Allow User:alice something, and return the rule."""
        acl = rule(operation, kind, name, **other)
        self.put(acl)
        return acl

    def deny(self, operation: Operation, kind: ResourceType, name: str = CLUSTER_NAME, **other: Any) -> Acl:
        """Deny User:alice something, and return the rule."""
        return self.allow(operation, kind, name, permission=Permission.DENY, **other)


def rule(
    operation: Operation,
    kind: ResourceType,
    name: str,
    *,
    principal: str = ALICE,
    host: str = "*",
    permission: Permission = Permission.ALLOW,
    pattern: PatternType = PatternType.LITERAL,
) -> Acl:
    """Return a rule for User:alice."""
    return Acl(kind, name, pattern, principal, host, operation, permission)
