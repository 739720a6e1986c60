"""Rules and the filters that find them, as Kafka's AclBindingFilter does."""

from __future__ import annotations

import pytest

from broker.errors import RequestError
from broker.security.acls import (
    ANY,
    MATCH,
    Acl,
    AclFilter,
    PatternType,
    Permission,
    ResourceType,
    check_acl,
)
from broker.security.authorized_operations import Operation
from protocol.error_codes import ErrorCode

RULE = Acl(
    ResourceType.TOPIC,
    "orders",
    PatternType.LITERAL,
    "User:alice",
    "*",
    Operation.READ,
    Permission.ALLOW,
)
PREFIXED = RULE._replace(name="ord", pattern_type=PatternType.PREFIXED)
WILDCARD = RULE._replace(name="*")


def test_an_empty_filter_finds_everything() -> None:
    assert all(AclFilter().matches(acl) for acl in (RULE, PREFIXED, WILDCARD))


@pytest.mark.parametrize(
    "other",
    [
        AclFilter(resource_type=ResourceType.GROUP),
        AclFilter(name="order"),
        AclFilter(pattern_type=PatternType.PREFIXED),
        AclFilter(principal="User:bob"),
        AclFilter(host="10.0.0.1"),
        AclFilter(operation=Operation.ALL),
        AclFilter(permission=Permission.DENY),
    ],
)
def test_each_field_of_a_filter_must_match(other: AclFilter) -> None:
    assert not other.matches(RULE)


def test_match_finds_the_rules_that_apply_to_a_name() -> None:
    wanted = AclFilter(name="orders", pattern_type=MATCH)
    assert all(wanted.matches(acl) for acl in (RULE, PREFIXED, WILDCARD))
    assert not wanted.matches(RULE._replace(name="ord"))
    assert not wanted.matches(PREFIXED._replace(name="orders.eu"))


def test_any_finds_only_rules_of_that_very_name() -> None:
    wanted = AclFilter(name="ord", pattern_type=ANY)
    assert wanted.matches(PREFIXED)
    assert not wanted.matches(RULE)
    assert not wanted.matches(WILDCARD)


def test_a_filter_that_names_all_of_a_rule_is_that_rule() -> None:
    assert AclFilter(*RULE).single == RULE
    assert AclFilter(*RULE)._replace(pattern_type=MATCH).single is None
    assert AclFilter(*RULE)._replace(host=None).single is None
    assert AclFilter(*RULE)._replace(operation=ANY).single is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": ""},
        {"principal": "alice"},
        {"principal": ":alice"},
        {"principal": "User:"},
        {"resource_type": ResourceType.CLUSTER},
        {"resource_type": ANY},
        {"resource_type": 0},
        {"resource_type": -128},
        {"operation": ANY},
        {"operation": 0},
        {"operation": 99},
        {"permission": ANY},
        {"pattern_type": ANY},
        {"pattern_type": MATCH},
    ],
)
def test_a_rule_that_cannot_be_is_an_invalid_request(wrong: dict[str, object]) -> None:
    with pytest.raises(RequestError) as refused:
        check_acl(RULE._replace(**wrong))  # type: ignore[arg-type]
    assert refused.value.code == ErrorCode.INVALID_REQUEST


def test_operations_that_a_type_lacks_are_accepted_as_in_kafka() -> None:
    check_acl(RULE._replace(resource_type=ResourceType.GROUP, operation=Operation.WRITE))
    check_acl(RULE._replace(resource_type=ResourceType.CLUSTER, name="kafka-cluster"))


def test_a_rule_reads_as_a_sentence() -> None:
    assert str(RULE) == "allow read on topic 'orders' (literal) to 'User:alice' from *"
