"""The decision about what a client may do, as Kafka's StandardAuthorizer makes it.

    a super user                                     everything, also against DENY
    any rule that matches denies                     denied
    any rule that matches allows                     allowed
    no rule names the resource                       `allow.everyone.if.no.acl.found`
    else                                             denied

A rule that allows READ, WRITE, DELETE or ALTER also allows DESCRIBE, one that allows ALTER_CONFIGS allows
DESCRIBE_CONFIGS; a rule that denies means the operation that it names alone.

The index leads from a principal to the rules for a name in a few look-ups, however many rules there are; what
it finds is one bit field of all operations, and is remembered for each (principal, host, resource) until the
rules change.

Source: StandardAuthorizerData of Kafka 4.3; authorizeByResourceType: Authorizer and KIP-679.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple
from weakref import WeakValueDictionary

from broker.security.acls import EVERYONE, WILDCARD, Acl, PatternType, Permission, ResourceType
from broker.security.addresses import spellings
from broker.security.authorized_operations import Operation, bits

EVERYTHING: Final = bits(*Operation) | 1 << Operation.ALL
"""The bits of all operations."""

REMEMBERED_MAX: Final = 16_384
"""The most decisions of each kind that are remembered, 4 MB; then all are forgotten and made again."""

NAME_REMEMBERED_MAX: Final = 256
"""The longest names that are remembered with decisions: clients may send 32,767 characters."""

_DESCRIBE: Final = 1 << Operation.DESCRIBE
_DESCRIBE_CONFIGS: Final = 1 << Operation.DESCRIBE_CONFIGS

_ALLOWS: Final = {operation: bits(operation) for operation in Operation} | {
    Operation.ALL: EVERYTHING,
    Operation.READ: bits(Operation.READ) | _DESCRIBE,
    Operation.WRITE: bits(Operation.WRITE) | _DESCRIBE,
    Operation.DELETE: bits(Operation.DELETE) | _DESCRIBE,
    Operation.ALTER: bits(Operation.ALTER) | _DESCRIBE,
    Operation.ALTER_CONFIGS: bits(Operation.ALTER_CONFIGS) | _DESCRIBE_CONFIGS,
}
"""What a rule that allows an operation allows."""

_DENIES: Final = {operation: bits(operation) for operation in Operation} | {Operation.ALL: EVERYTHING}
"""What a rule that denies an operation denies."""


class _Rules:
    """The rules of one principal for one name: (operation, permission) each, and their sums, by host."""

    __slots__ = ("_by_host", "sums")

    def __init__(self) -> None:
        self._by_host: dict[str, set[tuple[int, int]]] = {}
        self.sums: dict[str, tuple[int, int]] = {}
        """What is denied and what is allowed to each host, as bits."""

    def __bool__(self) -> bool:
        return bool(self._by_host)

    def add(self, acl: Acl) -> None:
        self._by_host.setdefault(acl.host, set()).add((acl.operation, acl.permission))
        self._sum(acl.host)

    def remove(self, acl: Acl) -> None:
        self._by_host[acl.host].remove((acl.operation, acl.permission))
        self._sum(acl.host)

    def _sum(self, host: str) -> None:
        denied = allowed = 0
        for operation, permission in self._by_host[host]:
            if permission == Permission.DENY:
                denied |= _DENIES[Operation(operation)]
            else:
                allowed |= _ALLOWS[Operation(operation)]
        if self._by_host[host]:
            self.sums[host] = denied, allowed
        else:
            del self._by_host[host], self.sums[host]

    def naming(self, host: str, operation: int) -> Iterator[int]:
        """Yield the permissions of rules for this host that name the operation itself, or ALL."""
        for of_host in (*spellings(host), WILDCARD):
            for of_operation, permission in self._by_host.get(of_host, ()):
                if of_operation in (operation, Operation.ALL):
                    yield permission


class _Names:
    """The rules of one principal for one type of resource."""

    __slots__ = ("literal", "prefixed", "prefixes")

    def __init__(self) -> None:
        self.literal: dict[str, _Rules] = {}
        self.prefixed: dict[str, _Rules] = {}
        self.prefixes = _Lengths()

    def of(self, pattern_type: int) -> dict[str, _Rules]:
        return self.prefixed if pattern_type == PatternType.PREFIXED else self.literal

    def matching(self, name: str) -> Iterator[_Rules]:
        """Yield the rules that apply to a name."""
        for literal in {name, WILDCARD}:
            if (rules := self.literal.get(literal)) is not None:
                yield rules
        for prefix in self.prefixes.of(name):
            if (rules := self.prefixed.get(prefix)) is not None:
                yield rules


class _Lengths:
    """The lengths of the prefixes that rules have: names are cut to these alone."""

    __slots__ = ("_counts",)

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()

    def add(self, prefix: str) -> None:
        self._counts[len(prefix)] += 1

    def remove(self, prefix: str) -> None:
        self._counts[len(prefix)] -= 1
        if not self._counts[len(prefix)]:
            del self._counts[len(prefix)]

    def of(self, name: str) -> Iterator[str]:
        """Yield the beginnings of the name that may be prefixes of rules."""
        return (name[:length] for length in self._counts if length <= len(name))


class _Known:
    """The names of one type of resource about which there are rules, whatever principals these have."""

    __slots__ = ("literal", "prefixed", "prefixes")

    def __init__(self) -> None:
        self.literal: Counter[str] = Counter()
        self.prefixed: Counter[str] = Counter()
        self.prefixes = _Lengths()

    def has(self, name: str) -> bool:
        """Whether any rule names this resource."""
        if name in self.literal or WILDCARD in self.literal:
            return True
        return any(prefix in self.prefixed for prefix in self.prefixes.of(name))


class TopicDecisions(dict[str, int]):
    """The rights of one client to topics, by name: bits of operations.  Emptied when rules change."""

    __slots__ = ("__weakref__",)


class Policy(NamedTuple):
    """The operator's settings for decisions."""

    super_users: frozenset[str] = frozenset()
    allow_without_rules: bool = False
    """`allow.everyone.if.no.acl.found`."""


NO_POLICY: Final = Policy()
"""Kafka's defaults: no super users, and nothing is allowed without a rule."""


class Authorizer:
    """All rules, and the decisions that follow from them."""

    def __init__(self, policy: Policy = NO_POLICY, acls: Iterable[Acl] = ()) -> None:
        self.policy = policy
        # By principal, then by the type of the resource.
        self._names: dict[str, dict[int, _Names]] = {}
        self._known: dict[int, _Known] = {kind: _Known() for kind in ResourceType}
        self._remembered: dict[tuple[str, str, int, str], int] = {}
        self._by_type: dict[tuple[str, str, int, int], bool] = {}
        # By principal and host, as long as a client has them in use.
        self._topics: WeakValueDictionary[tuple[str, str], TopicDecisions] = WeakValueDictionary()
        self._topics_decided = 0
        for acl in acls:
            self.add(acl)

    def configure(self, policy: Policy) -> None:
        """Apply changed settings."""
        self.policy = policy
        self._forget()

    def add(self, acl: Acl) -> None:
        """Have a rule, which is not one of those there are, be in effect."""
        self._forget()
        names = self._names.setdefault(acl.principal, {}).setdefault(acl.resource_type, _Names())
        table = names.of(acl.pattern_type)
        if acl.name not in table:
            table[acl.name] = _Rules()
            if acl.pattern_type == PatternType.PREFIXED:
                names.prefixes.add(acl.name)
        table[acl.name].add(acl)
        known = self._known[acl.resource_type]
        if acl.pattern_type == PatternType.PREFIXED:
            known.prefixed[acl.name] += 1
            known.prefixes.add(acl.name)
        else:
            known.literal[acl.name] += 1

    def remove(self, acl: Acl) -> None:
        """Take a rule that there is out of effect; all others stay (CVE-2024-27309)."""
        self._forget()
        by_type = self._names[acl.principal]
        names = by_type[acl.resource_type]
        table = names.of(acl.pattern_type)
        table[acl.name].remove(acl)
        if not table[acl.name]:
            del table[acl.name]
            if acl.pattern_type == PatternType.PREFIXED:
                names.prefixes.remove(acl.name)
        if not names.literal and not names.prefixed:
            del by_type[acl.resource_type]
        if not by_type:
            del self._names[acl.principal]
        known = self._known[acl.resource_type]
        if acl.pattern_type == PatternType.PREFIXED:
            _count_down(known.prefixed, acl.name)
            known.prefixes.remove(acl.name)
        else:
            _count_down(known.literal, acl.name)

    def _forget(self) -> None:
        self._remembered.clear()
        self._by_type.clear()
        self._forget_topics()

    def _forget_topics(self) -> None:
        if self._topics_decided:
            self._topics_decided = 0
            for decisions in self._topics.values():
                decisions.clear()

    def topics_of(self, principal: str, host: str) -> TopicDecisions:
        """Return what is known about a client's topics; who holds it is up to date at every moment."""
        found = self._topics.get((principal, host))
        if found is None:
            found = self._topics[principal, host] = TopicDecisions()
        return found

    def decide_topic(self, principal: str, host: str, name: str) -> int:
        """Return the bits of the operations that are allowed with a topic, and remember them."""
        if len(name) > NAME_REMEMBERED_MAX:
            return self._decide(principal, host, ResourceType.TOPIC, name)
        if self._topics_decided >= REMEMBERED_MAX:
            self._forget_topics()
        self._topics_decided += 1
        found = self.topics_of(principal, host)[name] = self._decide(
            principal, host, ResourceType.TOPIC, name
        )
        return found

    def allows(self, principal: str, host: str, operation: int, kind: int, name: str) -> bool:
        """Whether the principal, from this host, may do this with a resource."""
        return bool(self.operations(principal, host, kind, name) >> operation & 1)

    def operations(self, principal: str, host: str, kind: int, name: str) -> int:
        """Return the bits of all operations that are allowed with a resource."""
        if len(name) > NAME_REMEMBERED_MAX:
            return self._decide(principal, host, kind, name)
        key = (principal, host, kind, name)
        found = self._remembered.get(key)
        if found is None:
            if len(self._remembered) >= REMEMBERED_MAX:
                self._remembered.clear()
            found = self._remembered[key] = self._decide(principal, host, kind, name)
        return found

    def _decide(self, principal: str, host: str, kind: int, name: str) -> int:
        if principal in self.policy.super_users:
            return EVERYTHING
        denied = allowed = 0
        hosts = (*spellings(host), WILDCARD)
        for names in self._names_of(principal, kind):
            for rules in names.matching(name):
                for of_host in hosts:
                    if (sums := rules.sums.get(of_host)) is not None:
                        denied |= sums[0]
                        allowed |= sums[1]
        if self.policy.allow_without_rules and not self._known[kind].has(name):
            return EVERYTHING
        return allowed & ~denied

    def _names_of(self, principal: str, kind: int) -> Iterator[_Names]:
        for of_principal in {principal, EVERYONE}:
            names = self._names.get(of_principal, {}).get(kind)
            if names is not None:
                yield names

    def allows_some(self, principal: str, host: str, operation: int, kind: int) -> bool:
        """Whether there may be a resource of this type with which the operation is allowed.

        As in Kafka, rules must name the operation itself, or ALL.  Costs as much as the principal has rules,
        once after each change of any.
        """
        key = (principal, host, operation, kind)
        found = self._by_type.get(key)
        if found is None:
            if len(self._by_type) >= REMEMBERED_MAX:
                self._by_type.clear()
            found = self._by_type[key] = self._decide_some(principal, host, operation, kind)
        return found

    def _decide_some(self, principal: str, host: str, operation: int, kind: int) -> bool:
        if self.allows(principal, host, operation, kind, "hardcode"):
            return True
        found: dict[tuple[int, int], set[str]] = {
            (pattern, permission): set() for pattern in PatternType for permission in Permission
        }
        for names in self._names_of(principal, kind):
            for pattern in PatternType:
                for name, rules in names.of(pattern).items():
                    for permission in rules.naming(host, operation):
                        found[pattern, permission].add(name)
        denied = found[PatternType.LITERAL, Permission.DENY]
        prefixes_denied = found[PatternType.PREFIXED, Permission.DENY]
        if WILDCARD in denied:
            return False
        literal = found[PatternType.LITERAL, Permission.ALLOW]
        if WILDCARD in literal:
            return True
        candidates = (literal - denied) | found[PatternType.PREFIXED, Permission.ALLOW]
        lengths = {len(prefix) for prefix in prefixes_denied}
        return any(
            not any(name[:length] in prefixes_denied for length in lengths if length <= len(name))
            for name in candidates
        )


def _count_down(counts: Counter[str], name: str) -> None:
    counts[name] -= 1
    if not counts[name]:
        del counts[name]
