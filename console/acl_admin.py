"""Access rules over Kafka's own requests, for `kawal acls` and for the GRANT statements of `kawal sql`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from console.client import refusal
from console.errors import Refused, UsageError
from protocol.messages.create_acls import AclCreation, CreateAclsRequest
from protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from protocol.messages.describe_acls import DescribeAclsRequest

VERSION: Final = 3

RESOURCES: Final = {
    "topic": 2,
    "group": 3,
    "cluster": 4,
    "transactional-id": 5,
    "delegation-token": 6,
    "user": 7,
}
PATTERNS: Final = {"literal": 3, "prefixed": 4}
OPERATIONS: Final = {
    "all": 2,
    "read": 3,
    "write": 4,
    "create": 5,
    "delete": 6,
    "alter": 7,
    "describe": 8,
    "cluster-action": 9,
    "describe-configs": 10,
    "alter-configs": 11,
    "idempotent-write": 12,
    "create-tokens": 13,
    "describe-tokens": 14,
    "two-phase-commit": 15,
}
PERMISSIONS: Final = {"deny": 2, "allow": 3}

ANY: Final = 1
CLUSTER_NAME: Final = "kafka-cluster"


class Rule(NamedTuple):
    """A rule, in the words of the command line."""

    resource: str
    name: str
    pattern: str
    principal: str
    host: str
    operation: str
    permission: str


class Wanted(NamedTuple):
    """A filter for rules; None finds all."""

    resource: str | None = None
    name: str | None = None
    pattern: str | None = None
    principal: str | None = None
    host: str | None = None
    operation: str | None = None
    permission: str | None = None

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of a filter as requests have them."""
        return {
            "resource_type_filter": _number(RESOURCES, self.resource),
            "resource_name_filter": self.name,
            "pattern_type_filter": _number(PATTERNS, self.pattern),
            "principal_filter": self.principal,
            "host_filter": self.host,
            "operation": _number(OPERATIONS, self.operation),
            "permission_type": _number(PERMISSIONS, self.permission),
        }


def _number(words: dict[str, int], word: str | None) -> int:
    return ANY if word is None else words[word]


def _word(words: dict[str, int], number: int) -> str:
    return next((word for word, known in words.items() if known == number), str(number))


def principal_of(text: str) -> str:
    """Return a principal, `User:alice`, of one that may be given as `alice`.  Raises: UsageError."""
    if not text:
        raise UsageError("a user has a name, such as alice or User:CN=alice,O=acme")
    return text if text.startswith("User:") else f"User:{text}"


def add(ask: Any, rules: Iterable[Rule]) -> None:
    """Add rules; `ask(request, version)` sends a request.  Raises: CommandError."""
    rules = list(rules)
    creations = [
        AclCreation(
            resource_type=RESOURCES[rule.resource],
            resource_name=rule.name,
            resource_pattern_type=PATTERNS[rule.pattern],
            principal=rule.principal,
            host=rule.host,
            operation=OPERATIONS[rule.operation],
            permission_type=PERMISSIONS[rule.permission],
        )
        for rule in rules
    ]
    answer = ask(CreateAclsRequest(creations=creations), VERSION)
    for rule, result in zip(rules, answer.results, strict=True):
        _check(result.error_code, result.error_message, f"{rule.operation} on {rule.resource} {rule.name!r}")


def find(ask: Any, wanted: Wanted) -> list[Rule]:
    """Return the rules that a filter finds, sorted.  Raises: CommandError."""
    answer = ask(DescribeAclsRequest(**wanted.fields), VERSION)
    _check(answer.error_code, answer.error_message, "access rules")
    return sorted(
        _rule(item.resource_type, item.resource_name, item.pattern_type, acl)
        for item in answer.resources
        for acl in item.acls
    )


def remove(ask: Any, wanted: Wanted) -> list[Rule]:
    """Remove the rules that a filter finds, and return them, sorted.  Raises: CommandError."""
    (result,) = ask(DeleteAclsRequest(filters=[DeleteAclsFilter(**wanted.fields)]), VERSION).filter_results
    _check(result.error_code, result.error_message, "access rules")
    for acl in result.matching_acls:
        _check(acl.error_code, acl.error_message, acl.resource_name)
    return sorted(
        _rule(acl.resource_type, acl.resource_name, acl.pattern_type, acl) for acl in result.matching_acls
    )


def _rule(kind: int, name: str, pattern: int, acl: Any) -> Rule:
    return Rule(
        resource=_word(RESOURCES, kind),
        name=name,
        pattern=_word(PATTERNS, pattern),
        principal=acl.principal,
        host=acl.host,
        operation=_word(OPERATIONS, acl.operation),
        permission=_word(PERMISSIONS, acl.permission_type),
    )


def _check(code: int, message: str | None, what: str) -> None:
    if code:
        raise Refused(code, f"{what}: {refusal(code, message or None)}")
