"""Access rules over Kafka's requests, in the words of the command line."""

from __future__ import annotations

from typing import Any

import pytest

from broker.security.acls import PatternType, Permission, ResourceType
from broker.security.authorized_operations import Operation
from console.acl_admin import (
    OPERATIONS,
    PATTERNS,
    PERMISSIONS,
    RESOURCES,
    Rule,
    Wanted,
    add,
    find,
    principal_of,
    remove,
)
from console.errors import CommandError, UsageError
from tests.broker.gateway import Gateway
from tests.broker.guarded import Guarded

RULE = Rule("topic", "t", "literal", "User:alice", "*", "read", "allow")


def asker(gateway: Any) -> Any:
    client = gateway.admin if isinstance(gateway, Guarded) else gateway.client()
    return client.call


def test_the_words_are_those_of_the_protocol() -> None:
    for words, known in (
        (RESOURCES, ResourceType),
        (PATTERNS, PatternType),
        (OPERATIONS, Operation),
        (PERMISSIONS, Permission),
    ):
        assert words == {item.name.lower().replace("_", "-"): item.value for item in known}


def test_a_rule_is_added_found_and_removed() -> None:
    ask = asker(Guarded())
    add(ask, [RULE])
    assert find(ask, Wanted(principal="User:alice")) == [RULE]
    assert find(ask, Wanted(operation="write")) == []
    assert remove(ask, Wanted(*RULE)) == [RULE]
    assert find(ask, Wanted()) == []


def test_a_refused_rule_is_named() -> None:
    with pytest.raises(CommandError, match="read on topic ''"):
        add(asker(Guarded()), [RULE._replace(name="")])


def test_a_broker_without_an_authorizer_says_so() -> None:
    for action in (find, remove):
        with pytest.raises(CommandError, match="No Authorizer is configured"):
            action(asker(Gateway()), Wanted())


def test_a_user_may_be_given_without_its_type() -> None:
    assert principal_of("alice") == principal_of("User:alice") == "User:alice"
    with pytest.raises(UsageError):
        principal_of("")
