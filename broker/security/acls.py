"""Access rules as Kafka has them: a rule, the filter that finds rules, and the checks of a new one.

    User:alice   may (or may not)   READ   Topic   orders or, prefixed, orders*   from 10.0.0.7 or everywhere

Source: KIP-11, KIP-290; AclBinding, AclBindingFilter and ResourcePatternFilter of Kafka 4.3.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final, NamedTuple

from broker.errors import RequestError
from broker.security.authorized_operations import Operation
from protocol.error_codes import ErrorCode
from protocol.principals import principal_problem

WILDCARD: Final = "*"
"""As the name of a literal rule: every name; as a host: every host."""

EVERYONE: Final = "User:*"
"""The principal of rules for all clients; there is no other pattern for principals."""

CLUSTER_NAME: Final = "kafka-cluster"
"""The only name that a resource of type CLUSTER has."""

ANY: Final = 1
"""In a filter: every type, operation, pattern or permission."""


class ResourceType(IntEnum):
    """The kinds of resources by their code on the wire."""

    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class PatternType(IntEnum):
    """The ways in which a rule names resources, by their code on the wire."""

    LITERAL = 3
    PREFIXED = 4


class Permission(IntEnum):
    """Whether a rule denies or allows, by its code on the wire."""

    DENY = 2
    ALLOW = 3


MATCH: Final = 2
"""In a filter, as the pattern: all rules that apply to the name, literal, prefixed or `*`."""


class Acl(NamedTuple):
    """One rule; the numbers are those of the enumerations above."""

    resource_type: int
    name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission: int

    def __str__(self) -> str:
        kind = ResourceType(self.resource_type).name.lower()
        pattern = PatternType(self.pattern_type).name.lower()
        permission = Permission(self.permission).name.lower()
        operation = Operation(self.operation).name.lower()
        what = f"{permission} {operation} on {kind} {self.name!r} ({pattern})"
        return f"{what} to {self.principal!r} from {self.host}"


class AclFilter(NamedTuple):
    """A filter for rules; None and ANY match everything."""

    resource_type: int = ANY
    name: str | None = None
    pattern_type: int = ANY
    principal: str | None = None
    host: str | None = None
    operation: int = ANY
    permission: int = ANY

    def matches(self, acl: Acl) -> bool:
        """Whether the rule is one of those looked for."""
        return (
            self.resource_type in (ANY, acl.resource_type)
            and self.operation in (ANY, acl.operation)
            and self.permission in (ANY, acl.permission)
            and self.principal in (None, acl.principal)
            and self.host in (None, acl.host)
            and self._matches_name(acl)
        )

    def _matches_name(self, acl: Acl) -> bool:
        if self.pattern_type not in (ANY, MATCH, acl.pattern_type):
            return False
        if self.name is None:
            return True
        if self.pattern_type != MATCH:
            return self.name == acl.name
        if acl.pattern_type == PatternType.PREFIXED:
            return self.name.startswith(acl.name)
        return acl.name in (self.name, WILDCARD)

    @property
    def single(self) -> Acl | None:
        """The only rule that can match, if the filter names all of a rule."""
        if self.name is None or self.principal is None or self.host is None:
            return None
        acl = Acl(
            self.resource_type,
            self.name,
            self.pattern_type,
            self.principal,
            self.host,
            self.operation,
            self.permission,
        )
        return acl if self.pattern_type in _PATTERNS and _is_concrete(acl) else None


_TYPES: Final = frozenset(map(int, ResourceType))
_PATTERNS: Final = frozenset(map(int, PatternType))
_OPERATIONS: Final = frozenset(map(int, Operation))
_PERMISSIONS: Final = frozenset(map(int, Permission))


def _is_concrete(acl: Acl) -> bool:
    return acl.resource_type in _TYPES and acl.operation in _OPERATIONS and acl.permission in _PERMISSIONS


def check_acl(acl: Acl) -> None:
    """Check a rule that is to be added.

    Raises: RequestError(INVALID_REQUEST).
    Source: AclControlManager.validateNewAcl and CreateAclsRequest.validate.
    """
    if not _is_concrete(acl) or acl.pattern_type not in _PATTERNS:
        raise RequestError(
            ErrorCode.INVALID_REQUEST,
            "a rule names one resource type, pattern type (literal or prefixed), operation and permission",
        )
    if not acl.name:
        raise RequestError(ErrorCode.INVALID_REQUEST, "Resource name should not be empty")
    if acl.resource_type == ResourceType.CLUSTER and acl.name != CLUSTER_NAME:
        raise RequestError(
            ErrorCode.INVALID_REQUEST,
            f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}",
        )
    problem = principal_problem(acl.principal)
    if problem:
        raise RequestError(ErrorCode.INVALID_REQUEST, problem)


def filter_problem(wanted: AclFilter) -> str | None:
    """Return what is wrong with a filter that a client sends; None if nothing is.

    Source: DescribeAclsRequest and DeleteAclsRequest of Kafka, normalizeAndValidate.
    """
    known = (
        wanted.resource_type in _TYPES | {ANY}
        and wanted.pattern_type in _PATTERNS | {ANY, MATCH}
        and wanted.operation in _OPERATIONS | {ANY}
        and wanted.permission in _PERMISSIONS | {ANY}
    )
    return None if known else "the filter contains UNKNOWN elements"
