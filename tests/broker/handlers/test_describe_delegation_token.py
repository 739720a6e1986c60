"""DescribeDelegationToken: everyone sees the own tokens, and others' with the right to."""

from __future__ import annotations

import pytest

from broker.security.acls import ResourceType
from broker.security.authorized_operations import Operation
from protocol.error_codes import ErrorCode
from protocol.messages.describe_delegation_token import DescribeDelegationTokenRequest
from tests.broker.delegation import (
    KEY,
    create,
    describe,
    described_ids,
    logged_in,
    token_gateway,
    token_login,
)
from tests.broker.gateway import Gateway
from tests.broker.guarded import Guarded
from tests.broker.logins import LoginGateway


def test_a_token_is_described_whole() -> None:
    client = logged_in(token_gateway())
    made = create(client, "bob", "zoe")
    (token,) = describe(client, "alice").tokens
    for name in ("principal_type", "principal_name", "token_id", "hmac", "token_requester_principal_name"):
        assert getattr(token, name) == getattr(made, name)
    times = (token.issue_timestamp, token.expiry_timestamp, token.max_timestamp)
    assert times == (made.issue_timestamp_ms, made.expiry_timestamp_ms, made.max_timestamp_ms)
    assert [(item.principal_type, item.principal_name) for item in token.renewers] == [
        ("User", "bob"),
        ("User", "zoe"),
    ]


def test_owners_find_tokens_that_they_own_have_asked_for_or_may_renew() -> None:
    client = logged_in(token_gateway())
    own, renewed, for_other = create(client), create(client, "bob"), create(client, owner="zoe")
    ids = [token.token_id for token in (own, renewed, for_other)]
    assert described_ids(client, everything=True) == ids
    assert described_ids(client, "alice") == ids
    assert described_ids(client, "bob") == [renewed.token_id]
    assert described_ids(client, "zoe", "bob") == [renewed.token_id, for_other.token_id]
    assert described_ids(client, "nobody") == []
    assert described_ids(client) == []


def test_with_an_authorizer_others_are_seen_by_right_only() -> None:
    guarded = Guarded(delegation_token_secret_key=KEY)
    alice, bob = guarded.of("User:alice"), guarded.of("User:bob")
    first, second = create(bob).token_id, create(bob).token_id
    shared = create(bob, "alice").token_id
    assert described_ids(alice, everything=True) == [shared]
    guarded.allow(Operation.DESCRIBE, ResourceType.DELEGATION_TOKEN, second)
    assert described_ids(alice, everything=True) == [second, shared]
    guarded.allow(Operation.DESCRIBE_TOKENS, ResourceType.USER, "User:bob")
    assert described_ids(alice, everything=True) == [first, second, shared]
    assert described_ids(guarded.admin, "bob") == [first, second, shared]


def test_expired_tokens_are_listed_until_they_are_removed() -> None:
    gateway = token_gateway(delegation_token_expiry_time_ms=1000)
    client = logged_in(gateway)
    create(client)
    gateway.advance(3_599_000)
    assert len(described_ids(logged_in(gateway), everything=True)) == 1
    gateway.advance(2_000)
    assert described_ids(logged_in(gateway), everything=True) == []


def test_those_who_may_not_ask() -> None:
    gateway = token_gateway()
    not_allowed = ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    assert describe(gateway.client(), everything=True).error_code == not_allowed
    assert describe(Gateway().client(), everything=True).error_code == not_allowed
    disabled = describe(logged_in(LoginGateway()), everything=True)
    assert disabled.error_code == ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED
    token = create(logged_in(gateway))
    by_token = gateway.login_client()
    token_login(by_token, token.token_id, token.hmac)
    assert describe(by_token, everything=True).error_code == not_allowed


@pytest.mark.parametrize("version", [1, 2])
def test_older_clients_are_answered_too(version: int) -> None:
    client = logged_in(token_gateway())
    create(client)
    (token,) = client.call(DescribeDelegationTokenRequest(owners=None), version).tokens
    assert token.principal_name == "alice"


def test_thousands_are_listed_in_slices() -> None:
    gateway = token_gateway()
    client = logged_in(gateway)
    for _ in range(600):
        create(client)
    client.send(DescribeDelegationTokenRequest(owners=None), 3)
    assert client.answers() == []
    gateway.settle()
    (answer,) = client.answers()
    assert len(answer.tokens) == 600
