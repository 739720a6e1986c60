"""The rights of one client: the authorizer, asked about one principal at one address."""

from __future__ import annotations

from typing import Final

from broker.security.acls import CLUSTER_NAME, ResourceType
from broker.security.authorized_operations import (
    CLUSTER_OPERATIONS,
    GROUP_OPERATIONS,
    TOPIC_OPERATIONS,
    Operation,
)
from broker.security.authorizer import Authorizer

_READ_BIT: Final = 1 << Operation.READ
_WRITE_BIT: Final = 1 << Operation.WRITE

_SHOWN: Final = {
    ResourceType.TOPIC: TOPIC_OPERATIONS,
    ResourceType.GROUP: GROUP_OPERATIONS,
    ResourceType.CLUSTER: CLUSTER_OPERATIONS,
}
"""The operations that exist for a kind of resource."""


class Rights:
    """All that one client may do, as the rules are at the moment of the question."""

    __slots__ = ("_authorizer", "_host", "_topics", "principal")

    def __init__(self, authorizer: Authorizer, principal: str, host: str) -> None:
        """`host` is the client's address as text, which rules name."""
        self._authorizer = authorizer
        self.principal = principal
        self._host = host
        # The authorizer empties it when rules change.
        self._topics = authorizer.topics_of(principal, host)

    def may(self, operation: Operation, kind: ResourceType, name: str) -> bool:
        """Whether the client may do this with a resource."""
        return self._authorizer.allows(self.principal, self._host, operation, kind, name)

    def may_topic(self, operation: Operation, name: str) -> bool:
        """Whether the client may do this with a topic."""
        found = self._topics.get(name)
        if found is None:
            found = self._decide(name)
        return bool(found >> operation & 1)

    def may_read(self, name: str) -> bool:
        """Whether the client may READ a topic: `may_topic`, for each partition of a fetch."""
        found = self._topics.get(name)
        if found is None:
            found = self._decide(name)
        return found & _READ_BIT != 0

    def may_write(self, name: str) -> bool:
        """Whether the client may WRITE to a topic: `may_topic`, for each batch."""
        found = self._topics.get(name)
        if found is None:
            found = self._decide(name)
        return found & _WRITE_BIT != 0

    def _decide(self, name: str) -> int:
        return self._authorizer.decide_topic(self.principal, self._host, name)

    def may_group(self, operation: Operation, group: str) -> bool:
        """Whether the client may do this with a group."""
        return self.may(operation, ResourceType.GROUP, group)

    def may_cluster(self, operation: Operation) -> bool:
        """Whether the client may do this with the cluster."""
        return self.may(operation, ResourceType.CLUSTER, CLUSTER_NAME)

    def may_transactional_id(self, operation: Operation, transactional_id: str) -> bool:
        """Whether the client may do this with a transactional id."""
        return self.may(operation, ResourceType.TRANSACTIONAL_ID, transactional_id)

    def may_some_topic(self, operation: Operation) -> bool:
        """Whether there may be a topic with which the client may do this (KIP-679)."""
        return self._authorizer.allows_some(self.principal, self._host, operation, ResourceType.TOPIC)

    def operations(self, kind: ResourceType, name: str) -> int:
        """Return the `authorized_operations` of a resource, as bits; 0 for a cluster without DESCRIBE."""
        if kind == ResourceType.CLUSTER and not self.may_cluster(Operation.DESCRIBE):
            return 0
        return self._authorizer.operations(self.principal, self._host, kind, name) & _SHOWN[kind]


def group_operations(rights: Rights | None, group_id: str) -> int:
    """Return the `authorized_operations` of a group; without an authorizer they are all."""
    return GROUP_OPERATIONS if rights is None else rights.operations(ResourceType.GROUP, group_id)
