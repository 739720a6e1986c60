"""DescribeUserScramCredentials: all users, users by name, and users that do not exist."""

from __future__ import annotations

from protocol.error_codes import ErrorCode
from tests.broker.gateway import Gateway
from tests.broker.handlers.scram import alter, describe, upsertion


def test_there_are_no_users_at_first() -> None:
    assert describe(Gateway().client()) == {}


def test_users_are_described_by_name() -> None:
    client = Gateway().client()
    alter(client, upsertion("a"), upsertion("b", 2, 8192))
    assert describe(client, "b", "c") == {"b": [(2, 8192)], "c": ErrorCode.RESOURCE_NOT_FOUND}


def test_a_user_asked_for_twice_is_refused() -> None:
    client = Gateway().client()
    alter(client, upsertion("a"), upsertion("b"))
    assert describe(client, "a", "a", "b") == {"a": ErrorCode.DUPLICATE_RESOURCE, "b": [(1, 4096)]}
