"""CreateDelegationToken: who may have which token, its times, and the login with it."""

from __future__ import annotations

import hmac

import pytest

from broker.security.acls import ResourceType
from broker.security.authorized_operations import Operation
from protocol.error_codes import ErrorCode
from protocol.messages.create_delegation_token import CreatableRenewers, CreateDelegationTokenRequest
from protocol.messages.metadata import MetadataRequest
from tests.broker.delegation import (
    DAY_MS,
    KEY,
    create,
    described_ids,
    logged_in,
    token_gateway,
    token_login,
)
from tests.broker.gateway import START_MS, Gateway
from tests.broker.guarded import Guarded
from tests.broker.logins import LoginGateway

NOT_ALLOWED = ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED


def test_a_token_has_kafkas_hmac_times_and_owner() -> None:
    gateway = token_gateway()
    token = create(logged_in(gateway), "bob", "zoe")
    assert token.error_code == 0
    assert (token.principal_type, token.principal_name) == ("User", "alice")
    assert (token.token_requester_principal_type, token.token_requester_principal_name) == ("User", "alice")
    assert len(token.token_id) == 22
    assert token.hmac == hmac.digest(KEY.encode(), token.token_id.encode(), "sha512")
    assert token.issue_timestamp_ms == START_MS
    assert token.expiry_timestamp_ms == START_MS + DAY_MS
    assert token.max_timestamp_ms == START_MS + 7 * DAY_MS


@pytest.mark.parametrize(
    ("asked_ms", "lifetime_ms"),
    [(-1, 7 * DAY_MS), (0, 7 * DAY_MS), (1, 1), (8 * DAY_MS, 7 * DAY_MS), ((1 << 63) - 1, 7 * DAY_MS)],
)
def test_a_lifetime_is_at_most_the_servers(asked_ms: int, lifetime_ms: int) -> None:
    token = create(logged_in(token_gateway()), lifetime_ms=asked_ms)
    assert token.max_timestamp_ms == START_MS + lifetime_ms
    assert token.expiry_timestamp_ms == START_MS + min(lifetime_ms, DAY_MS)


def test_times_end_with_what_the_protocol_can_name() -> None:
    most = (1 << 63) - 1
    gateway = token_gateway(delegation_token_max_lifetime_ms=most, delegation_token_expiry_time_ms=most)
    token = create(logged_in(gateway))
    assert (token.expiry_timestamp_ms, token.max_timestamp_ms) == (most, most)


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_its_hmac_is_the_password_of_a_login_as_the_owner(mechanism: str) -> None:
    gateway = token_gateway()
    token = create(logged_in(gateway))
    for _ in range(2):  # the second one finds the credential made
        client = gateway.login_client()
        assert token_login(client, token.token_id, token.hmac, mechanism).error_code == 0
        assert client.connection.principal == "User:alice"
        assert client.call(MetadataRequest(topics=None), 12).topics == []


@pytest.mark.parametrize(
    ("token_id", "secret", "extension"),
    [(None, b"wrong", "true"), ("no-such-token", None, "true"), (None, None, "false")],
)
def test_another_hmac_or_id_or_no_extension_lets_nobody_in(
    token_id: str | None, secret: bytes | None, extension: str
) -> None:
    gateway = token_gateway()
    token = create(logged_in(gateway))
    answer = token_login(
        gateway.login_client(), token_id or token.token_id, secret or token.hmac, extension=extension
    )
    assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert "invalid credentials" in answer.error_message


def test_a_client_that_shows_a_token_may_not_ask_for_one() -> None:
    gateway = token_gateway()
    token = create(logged_in(gateway))
    client = gateway.login_client()
    token_login(client, token.token_id, token.hmac)
    refused = create(client)
    assert (refused.error_code, refused.token_id, refused.hmac) == (NOT_ALLOWED, "", b"")
    assert (refused.issue_timestamp_ms, refused.expiry_timestamp_ms, refused.max_timestamp_ms) == (-1, -1, -1)


def test_nor_may_one_without_an_identity_and_that_is_told_first() -> None:
    assert create(token_gateway().client()).error_code == NOT_ALLOWED
    assert create(Gateway().client()).error_code == NOT_ALLOWED


def test_a_client_with_a_certificate_may() -> None:
    client = token_gateway().client()
    client.connection.principal = "User:CN=dave,O=lab"
    token = create(client)
    assert (token.error_code, token.principal_name) == (0, "CN=dave,O=lab")


def test_without_a_secret_key_there_are_no_tokens() -> None:
    for key in (None, ""):
        gateway = LoginGateway(delegation_token_secret_key=key)
        refused = create(logged_in(gateway))
        assert refused.error_code == ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED
        assert (refused.principal_name, refused.max_timestamp_ms, refused.token_id) == ("alice", 0, "")


def test_a_token_for_another_owner_needs_create_tokens_on_it() -> None:
    guarded = Guarded(delegation_token_secret_key=KEY)
    alice = guarded.of("User:alice")
    assert create(alice, owner="alice").error_code == 0
    refused = create(alice, owner="bob")
    assert refused.error_code == ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED
    assert refused.max_timestamp_ms == -1
    guarded.allow(Operation.CREATE_TOKENS, ResourceType.USER, "User:bob")
    token = create(alice, owner="bob")
    assert (token.principal_name, token.token_requester_principal_name) == ("bob", "alice")
    assert create(alice, owner="zoe").error_code == ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED


def test_a_login_with_a_token_for_another_is_the_owner() -> None:
    gateway = token_gateway()
    token = create(logged_in(gateway), owner="bob")
    client = gateway.login_client()
    assert token_login(client, token.token_id, token.hmac).error_code == 0
    assert client.connection.principal == "User:bob"


@pytest.mark.parametrize(
    ("owner", "renewer"), [("User", "Group"), ("Group", "User"), ("", "User"), (None, "User")]
)
def test_only_users_own_and_renew_tokens(owner: str | None, renewer: str) -> None:
    request = CreateDelegationTokenRequest(
        owner_principal_type=owner,
        owner_principal_name="bob",
        renewers=[CreatableRenewers(principal_type=renewer, principal_name="zoe")],
        max_lifetime_ms=-1,
    )
    answer = logged_in(token_gateway()).call(request, 3)
    assert (answer.error_code, answer.max_timestamp_ms) == (ErrorCode.INVALID_PRINCIPAL_TYPE, -1)


@pytest.mark.parametrize("version", [1, 2])
def test_older_clients_get_tokens_too(version: int) -> None:
    token = logged_in(token_gateway()).call(
        CreateDelegationTokenRequest(renewers=[], max_lifetime_ms=-1), version
    )
    assert (token.error_code, token.principal_name) == (0, "alice")


def test_one_user_cannot_fill_the_memory() -> None:
    gateway = token_gateway(kawal_max_delegation_tokens=3, kawal_max_delegation_tokens_per_user=2)
    alice, bob = logged_in(gateway), logged_in(gateway, "bob")
    assert [create(alice).error_code for _ in range(3)] == [0, 0, ErrorCode.POLICY_VIOLATION]
    assert [create(bob).error_code for _ in range(2)] == [0, ErrorCode.POLICY_VIOLATION]
    assert len(described_ids(alice, everything=True)) == 3


def test_names_are_limited() -> None:
    client = logged_in(token_gateway())
    assert create(client, *["x" * 1000] * 5).error_code == ErrorCode.INVALID_REQUEST
    assert create(client, *["x" * 1000] * 4).error_code == 0


def test_tokens_outlive_restarts_and_crashes_and_the_log_has_no_secret() -> None:
    gateway = token_gateway()
    token = create(logged_in(gateway), "bob")
    gateway.crash()
    gateway.restart()
    assert token_login(gateway.login_client(), token.token_id, token.hmac).error_code == 0
    assert described_ids(logged_in(gateway), everything=True) == [token.token_id]
    files = [gateway.disk.open(path) for path in gateway.disk.files()]
    stored = b"".join(file.read_at(0, file.size()) for file in files)
    assert token.token_id.encode() in stored
    assert token.hmac not in stored
    assert token.hmac.hex().encode() not in stored
    assert KEY.encode() not in stored


def test_another_secret_key_makes_them_useless() -> None:
    gateway = token_gateway()
    token = create(logged_in(gateway))
    other = token_gateway(disk=gateway.disk.crash(), delegation_token_secret_key="another")
    refused = token_login(other.login_client(), token.token_id, token.hmac)
    assert refused.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
