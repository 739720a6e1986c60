"""GRANT SUBSCRIBE, REVOKE SUBSCRIBE and SHOW GRANTS, as TDengine has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from broker.config.acl_keys import STANDARD_AUTHORIZER
from console.errors import CommandError, UsageError
from tests.broker.gateway import Client
from tests.broker.kit import batch, create, fetch, read, send


@pytest.fixture
def sql(connect: Callable[..., Any]) -> Any:
    """Return a session, of a super user, with a broker that has an authorizer."""
    session = connect(authorizer_class_name=STANDARD_AUTHORIZER, super_users="User:ANONYMOUS")
    create(session.gateway.client(), "t", 1, kawal_columns="a int")
    send(session.gateway.client(), "t", batch(b'{"a": 1}'))
    session("CREATE TOPIC late AS SELECT a FROM t")
    return session


def of(session: Any, principal: str) -> Client:
    client: Client = session.gateway.client()
    client.connection.principal = principal
    return client


def test_a_grant_lets_a_user_read_the_view_and_not_its_source(sql: Any) -> None:
    alice = of(sql, "User:alice")
    assert fetch(alice, "late").error_code == 29
    assert sql("GRANT SUBSCRIBE ON TOPIC late TO alice") == "granted SUBSCRIBE on late to User:alice"
    assert len(read(alice, "late")) == 1
    assert fetch(alice, "t").error_code == 29


def test_a_revoked_grant_counts_at_once_on_open_connections(sql: Any) -> None:
    sql("GRANT SUBSCRIBE ON TOPIC late TO USER alice")
    alice = of(sql, "User:alice")
    assert len(read(alice, "late")) == 1
    assert sql("REVOKE SUBSCRIBE ON TOPIC late FROM alice") == "revoked SUBSCRIBE on late from User:alice"
    assert fetch(alice, "late").error_code == 29
    with pytest.raises(CommandError, match="has no SUBSCRIBE on topic 'late'"):
        sql("REVOKE SUBSCRIBE ON TOPIC late FROM alice")


def test_grants_are_shown_for_all_or_for_one(sql: Any) -> None:
    sql("GRANT SUBSCRIBE ON TOPIC late TO alice")
    sql("GRANT SUBSCRIBE ON TOPIC late TO `CN=bob,O=acme`")
    assert [row["user_name"] for row in sql("SHOW GRANTS")] == ["User:CN=bob,O=acme", "User:alice"]
    (row,) = sql("SHOW GRANTS FOR alice")
    assert (row["privilege"], row["object_type"], row["object_name"]) == ("subscribe", "topic", "late")


def test_a_topic_that_does_not_exist_cannot_be_granted(sql: Any) -> None:
    with pytest.raises(CommandError, match="there is no topic 'none'"):
        sql("GRANT SUBSCRIBE ON TOPIC none TO alice")


def test_without_an_authorizer_the_server_says_so(connect: Callable[..., Any]) -> None:
    session = connect()
    create(session.gateway.client(), "t")
    with pytest.raises(CommandError, match="No Authorizer is configured"):
        session("GRANT SUBSCRIBE ON TOPIC t TO alice")


def test_a_statement_that_is_nearly_right_has_an_example(sql: Any) -> None:
    with pytest.raises(UsageError, match="GRANT SUBSCRIBE ON TOPIC late TO alice"):
        sql("GRANT SUBSCRIBE late TO alice")
