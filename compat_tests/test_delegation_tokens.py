"""Delegation tokens over the wire and by Kafka's tool: codes, times, rights and logins, as on Kafka 4.3.1."""

from __future__ import annotations

import hmac
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from compat_tests.broker import Broker, Kind
from compat_tests.conftest import running_broker
from compat_tests.java import run_java
from compat_tests.kawal_broker import KAWAL
from compat_tests.logins import USERS, login_settings, raw_client
from compat_tests.tokens import (
    TOKEN_SETTINGS,
    create,
    describe,
    expire,
    for_owner,
    logged_in,
    renew,
    shown,
    token_login,
)
from compat_tests.waiting import eventually
from compat_tests.wire import RawClient
from protocol.error_codes import ErrorCode
from protocol.messages.create_acls import AclCreation, CreateAclsRequest
from protocol.messages.metadata import MetadataRequest

AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}

DAY_MS = 86_400_000
USER, DELEGATION_TOKEN = 7, 6
DESCRIBE, CREATE_TOKENS, DESCRIBE_TOKENS = 8, 13, 14
NOT_ALLOWED = ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED


def settings(**more: str) -> dict[str, str]:
    return login_settings(SASL="SASL_PLAINTEXT") | {
        name.replace("_", "."): text for name, text in more.items()
    }


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory, broker_kind: Kind) -> Iterator[Broker]:
    """Start a broker with tokens and an authorizer."""
    own = settings() | TOKEN_SETTINGS | AUTHORIZER
    with running_broker(broker_kind, tmp_path_factory.mktemp("tokens"), own) as started:
        yield started


@pytest.fixture(scope="module")
def brief(tmp_path_factory: pytest.TempPathFactory, broker_kind: Kind) -> Iterator[Broker]:
    """Start a broker whose tokens expire after eight seconds, and are removed a second later."""
    own = settings() | TOKEN_SETTINGS
    own |= {"delegation.token.expiry.time.ms": "8000", "delegation.token.expiry.check.interval.ms": "1000"}
    with running_broker(broker_kind, tmp_path_factory.mktemp("brief"), own) as started:
        yield started


def allow(broker: Broker, kind: int, name: str, operation: int, user: str = "alice") -> None:
    rule = AclCreation(
        resource_type=kind,
        resource_name=name,
        resource_pattern_type=3,
        principal=f"User:{user}",
        host="*",
        operation=operation,
        permission_type=3,
    )
    (result,) = raw_client(broker, "PLAINTEXT").call(CreateAclsRequest(creations=[rule]), 3).results
    assert result.error_code == 0


def until_known(client: RawClient, token_id: str) -> None:
    """Wait until the broker has what its controller has recorded."""
    eventually(lambda: token_id in shown(client, everything=True), waiting_for="the token")


def test_a_token_has_the_hmac_and_the_times_of_the_settings(broker: Broker) -> None:
    alice = logged_in(broker, "alice")
    now_ms = time.time() * 1000
    token = create(alice, "bob")
    assert (token.error_code, token.principal_type, token.principal_name) == (0, "User", "alice")
    assert (token.token_requester_principal_type, token.token_requester_principal_name) == ("User", "alice")
    key = TOKEN_SETTINGS["delegation.token.secret.key"].encode()
    assert token.hmac == hmac.digest(key, token.token_id.encode(), "sha512")
    assert abs(token.issue_timestamp_ms - now_ms) < 60_000
    assert token.expiry_timestamp_ms == token.issue_timestamp_ms + DAY_MS
    assert token.max_timestamp_ms == token.issue_timestamp_ms + 7 * DAY_MS
    until_known(alice, token.token_id)
    (described,) = (item for item in describe(alice, "alice").tokens if item.token_id == token.token_id)
    assert described.hmac == token.hmac
    assert [(item.principal_type, item.principal_name) for item in described.renewers] == [("User", "bob")]


@pytest.mark.parametrize(("asked_ms", "lifetime_ms"), [(0, 7 * DAY_MS), (5000, 5000), (1 << 62, 7 * DAY_MS)])
def test_a_lifetime_is_at_most_the_servers(broker: Broker, asked_ms: int, lifetime_ms: int) -> None:
    token = create(logged_in(broker, "alice"), lifetime_ms=asked_ms)
    assert token.max_timestamp_ms - token.issue_timestamp_ms == lifetime_ms
    assert token.expiry_timestamp_ms - token.issue_timestamp_ms == min(lifetime_ms, DAY_MS)


@pytest.mark.parametrize("version", [1, 2])
def test_versions_that_cannot_name_the_requester(broker: Broker, version: int) -> None:
    token = create(logged_in(broker, "alice"), version=version)
    assert (token.error_code, token.principal_name) == (0, "alice")


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_a_login_with_a_token_is_its_owners_and_may_not_ask_for_tokens(
    broker: Broker, mechanism: str
) -> None:
    alice = logged_in(broker, "alice")
    token = create(alice)
    until_known(alice, token.token_id)
    client = raw_client(broker, "SASL")
    code, message, lifetime_ms = token_login(client, token.token_id, token.hmac, mechanism)
    assert (code, message or "") == (0, "")
    assert DAY_MS - 60_000 < lifetime_ms <= DAY_MS
    assert client.call(MetadataRequest(topics=None), 12).brokers
    refused = create(client)
    assert (refused.error_code, refused.principal_name) == (NOT_ALLOWED, "alice")
    assert (refused.token_id, refused.hmac, refused.max_timestamp_ms) == ("", b"", -1)
    assert renew(client, token.hmac) == (NOT_ALLOWED, -1)
    assert expire(client, token.hmac) == (NOT_ALLOWED, -1)
    assert describe(client, everything=True).error_code == NOT_ALLOWED


def test_a_wrong_hmac_and_an_unknown_id_are_refused_alike(broker: Broker) -> None:
    alice = logged_in(broker, "alice")
    token = create(alice)
    until_known(alice, token.token_id)
    for token_id, secret in ((token.token_id, b"wrong"), ("unknown", token.hmac)):
        code, message, _ = token_login(raw_client(broker, "SASL"), token_id, secret)
        assert code == ErrorCode.SASL_AUTHENTICATION_FAILED
        assert message == (
            "Authentication failed during authentication due to invalid credentials with SASL mechanism"
            " SCRAM-SHA-256"
        )


def test_a_client_without_an_identity_may_not_ask(broker: Broker) -> None:
    client = raw_client(broker, "PLAINTEXT")
    refused = create(client)
    assert (refused.error_code, refused.principal_name) == (NOT_ALLOWED, "ANONYMOUS")
    assert (refused.issue_timestamp_ms, refused.expiry_timestamp_ms, refused.max_timestamp_ms) == (-1, -1, -1)
    assert renew(client, b"x") == (NOT_ALLOWED, -1)
    assert expire(client, b"x") == (NOT_ALLOWED, -1)
    assert describe(client, everything=True).error_code == NOT_ALLOWED


def test_renewers_and_owners_are_users(broker: Broker) -> None:
    refused = create(logged_in(broker, "alice"), "bob", renewers_type="Group")
    assert (refused.error_code, refused.max_timestamp_ms) == (ErrorCode.INVALID_PRINCIPAL_TYPE, -1)
    assert (refused.principal_name, refused.token_id, refused.hmac) == ("alice", "", b"")


@pytest.mark.differs(reason="Kafka makes a token for an owner of another type, which logs in as a user")
def test_an_owner_of_another_type_is_refused(broker: Broker, broker_kind: Kind) -> None:
    allow(broker, USER, "Group:zoe", CREATE_TOKENS)

    def code() -> int:
        return int(create(logged_in(broker, "alice"), **for_owner("zoe", "Group")).error_code)

    expected = ErrorCode.INVALID_PRINCIPAL_TYPE if broker_kind == "kawal" else ErrorCode.NONE
    eventually(lambda: code() == expected, waiting_for=f"the answer {expected!r}")


def test_a_token_for_another_owner_takes_create_tokens(broker: Broker) -> None:
    alice, bob = logged_in(broker, "alice"), logged_in(broker, "bob")
    refused = create(bob, **for_owner("carol"))
    assert refused.error_code == ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED
    assert (refused.principal_name, refused.token_requester_principal_name) == ("carol", "bob")
    assert (refused.max_timestamp_ms, refused.hmac) == (-1, b"")
    allow(broker, USER, "User:carol", CREATE_TOKENS, "bob")
    eventually(lambda: create(bob, **for_owner("carol")).error_code == 0, waiting_for="the rule")
    token = create(bob, "alice", **for_owner("carol"))
    until_known(bob, token.token_id)
    mismatch = (ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH, 0)
    assert renew(bob, token.hmac) == mismatch, "the requester is neither owner nor renewer"
    assert expire(bob, token.hmac) == mismatch
    assert renew(alice, token.hmac)[0] == 0


def test_tokens_of_others_are_seen_by_right(broker: Broker) -> None:
    alice, bob = logged_in(broker, "alice"), logged_in(broker, "bob")
    first, second, shared = create(bob).token_id, create(bob).token_id, create(bob, "alice").token_id
    until_known(bob, shared)
    assert shown(bob, "bob") >= {first, second, shared}
    assert shown(bob) == shown(bob, "nobody") == set()
    assert shared in shown(bob, "alice"), "one finds tokens by their renewers, too"
    assert shared in shown(alice, everything=True)
    assert not {first, second} & shown(alice, everything=True)
    allow(broker, DELEGATION_TOKEN, second, DESCRIBE)
    eventually(lambda: second in shown(alice, everything=True), waiting_for="the rule")
    assert first not in shown(alice, everything=True)
    allow(broker, USER, "User:bob", DESCRIBE_TOKENS)
    eventually(lambda: first in shown(alice, "bob"), waiting_for="the rule")


def test_periods_and_errors_of_renewing_and_expiring(broker: Broker) -> None:
    alice, bob = logged_in(broker, "alice"), logged_in(broker, "bob")
    token = create(alice, lifetime_ms=2 * DAY_MS)
    until_known(alice, token.token_id)
    assert renew(alice, b"unknown") == (ErrorCode.DELEGATION_TOKEN_NOT_FOUND, 0)
    assert expire(alice, b"unknown") == (ErrorCode.DELEGATION_TOKEN_NOT_FOUND, 0)
    assert renew(bob, token.hmac) == (ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH, 0)
    assert expire(bob, token.hmac) == (ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH, 0)
    for period_ms, expected_ms in ((-1, DAY_MS), (0, DAY_MS), (3 * DAY_MS, DAY_MS), (60_000, 60_000)):
        code, expires_ms = renew(alice, token.hmac, period_ms)
        assert code == 0
        assert abs(expires_ms - time.time() * 1000 - expected_ms) < 30_000
    code, expires_ms = expire(alice, token.hmac, (1 << 63) - 1)
    assert (code, expires_ms) == (0, token.max_timestamp_ms)
    assert expire(alice, token.hmac, 1)[0] == 0
    expired = (ErrorCode.DELEGATION_TOKEN_EXPIRED, 0)
    # That a token has expired is told before the owner; and bob does not renew it by asking.
    eventually(lambda: renew(bob, token.hmac) == expired, waiting_for="the end of the token")
    assert renew(alice, token.hmac) == expired
    assert expire(alice, token.hmac, 5) == expired
    assert expire(bob, token.hmac, 5) == (ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH, 0)
    code, now_ms = expire(alice, token.hmac)
    assert code == 0
    assert abs(now_ms - time.time() * 1000) < 30_000
    eventually(
        lambda: renew(alice, token.hmac) == (ErrorCode.DELEGATION_TOKEN_NOT_FOUND, 0),
        waiting_for="the removal",
    )


def test_a_session_ends_with_its_token_and_the_token_is_removed(brief: Broker) -> None:
    alice = logged_in(brief, "alice")
    token = create(alice)
    until_known(alice, token.token_id)
    client = raw_client(brief, "SASL")
    code, _, lifetime_ms = token_login(client, token.token_id, token.hmac)
    assert code == 0
    assert 0 < lifetime_ms <= 8000
    assert client.call(MetadataRequest(topics=None), 12).brokers

    def closed() -> bool:
        try:
            client.call(MetadataRequest(topics=None), 12)
        except (ConnectionError, EOFError, AssertionError):
            return True
        return False

    eventually(closed, waiting_for="the end of the session")
    eventually(lambda: shown(alice, everything=True) == set(), waiting_for="the removal of the token")
    assert token_login(raw_client(brief, "SASL"), token.token_id, token.hmac)[0] != 0


def test_a_token_that_has_expired_and_is_not_removed_serves_no_request(
    tmp_path: Path, broker_kind: Kind
) -> None:
    own = settings() | TOKEN_SETTINGS | {"delegation.token.expiry.time.ms": "2000"}
    with running_broker(broker_kind, tmp_path, own) as started:
        alice = logged_in(started, "alice")
        token = create(alice)
        until_known(alice, token.token_id)
        eventually(lambda: time.time() * 1000 > token.expiry_timestamp_ms + 1, waiting_for="its end")
        client = raw_client(started, "SASL")
        code, _, lifetime_ms = token_login(client, token.token_id, token.hmac)
        assert (code, lifetime_ms) in ((0, 0), (ErrorCode.SASL_AUTHENTICATION_FAILED, 0)), (code, lifetime_ms)
        with pytest.raises((ConnectionError, EOFError, AssertionError)):
            client.call(MetadataRequest(topics=None), 12)


def test_tokens_outlive_a_restart(tmp_path: Path, broker_kind: Kind) -> None:
    with running_broker(broker_kind, tmp_path, settings() | TOKEN_SETTINGS) as started:
        token = create(logged_in(started, "alice"), "bob")
        until_known(logged_in(started, "alice"), token.token_id)
        started.kill()
        started.restart()
        until_known(logged_in(started, "alice"), token.token_id)
        assert token_login(raw_client(started, "SASL"), token.token_id, token.hmac)[0] == 0


def test_without_a_key_there_are_no_tokens(tmp_path: Path, broker_kind: Kind) -> None:
    with running_broker(broker_kind, tmp_path, settings()) as started:
        client = logged_in(started, "alice")
        refused = create(client)
        disabled = ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED
        assert (refused.error_code, refused.principal_name, refused.max_timestamp_ms) == (
            disabled,
            "alice",
            0,
        )
        assert renew(client, b"x") == (disabled, 0)
        assert expire(client, b"x") == (disabled, 0)
        assert describe(client, everything=True).error_code == disabled
        assert create(raw_client(started, "PLAINTEXT")).error_code == NOT_ALLOWED, "told first"
        wrong = create(client, "bob", renewers_type="Group")
        assert wrong.error_code == ErrorCode.INVALID_PRINCIPAL_TYPE, "told first, too"


def test_kafkas_own_tool_makes_renews_and_removes_tokens(broker: Broker, tmp_path: Path) -> None:
    secret = USERS["bob"]
    login = tmp_path / "bob.properties"
    login.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config="
        "org.apache.kafka.common.security.plain.PlainLoginModule required"
        f' username="bob" password="{secret}";\n'
    )
    tool = "org.apache.kafka.tools.DelegationTokenCommand"
    address = ("--bootstrap-server", broker.bootstrap_of("SASL"), "--command-config", str(login))
    made = run_java(
        tool, *address, "--create", "--max-life-time-period", "-1", "--renewer-principal", "User:alice"
    )
    row = made.stdout.splitlines()[-1].split()
    token_id, secret = row[0], row[1]
    assert row[2:5] == ["User:bob", "User:bob", "[User:alice]"]

    def listed() -> str:
        return run_java(tool, *address, "--describe", "--owner-principal", "User:bob").stdout

    eventually(lambda: token_id in listed(), waiting_for="the token in the list")
    renewed = run_java(tool, *address, "--renew", "--renew-time-period", "-1", "--hmac", secret).stdout
    assert "Completed renew operation" in renewed
    with_token = tmp_path / "token.properties"
    with_token.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-512\nsasl.jaas.config="
        "org.apache.kafka.common.security.scram.ScramLoginModule required"
        f' username="{token_id}" password="{secret}" tokenauth="true";\n'
    )
    by_token = (*address[:2], "--command-config", str(with_token))
    assert run_java("org.apache.kafka.tools.TopicCommand", *by_token, "--list").stdout.strip() == ""
    listed_by_kawal = subprocess.run(
        [KAWAL, "topics", "list", "--bootstrap", address[1], "--command-config", str(with_token)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert listed_by_kawal.returncode == 0, listed_by_kawal.stderr
    refused = run_java(tool, *by_token, "--create", "--max-life-time-period", "-1", succeed=False)
    assert "DelegationTokenAuthorizationException" not in refused.stderr
    assert "Delegation Token requests are not allowed" in refused.stdout + refused.stderr
    run_java(tool, *address, "--expire", "--expiry-time-period", "-1", "--hmac", secret)
    eventually(lambda: token_id not in listed(), waiting_for="the end of the token")
