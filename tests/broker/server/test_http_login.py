"""Logins at the HTTP door: the users of the server, their rights, and hostile headers."""

from __future__ import annotations

import logging
from base64 import b64encode
from typing import Any

import pytest
import trio
import trio.testing
from hypothesis import given
from hypothesis import strategies as st

from broker.catalogue.catalogue_records import ScramCredentials
from broker.security.acls import ResourceType
from broker.security.authorized_operations import Operation
from broker.server.http_conversation import Page
from broker.server.http_login import CREDENTIALS_MAX, HttpLogins, credentials_of
from tests.broker.audited import Audited
from tests.broker.gateway import START_MS, Gateway
from tests.broker.guarded import Guarded
from tests.broker.logins import JAAS
from tests.broker.security.test_scram_passwords import credential

WITH_PLAIN: dict[str, Any] = {
    "listeners": ("SASL_SSL://127.0.0.1:0", "OTHER://127.0.0.1:1"),
    "listener_security_protocol_map": "SASL_SSL:SASL_SSL,OTHER:SASL_PLAINTEXT",
    "sasl_enabled_mechanisms": ("PLAIN", "SCRAM-SHA-256"),
    "listener_overrides": {
        "listener.name.sasl_ssl.plain.sasl.jaas.config": JAAS,
        "listener.name.other.plain.sasl.jaas.config": JAAS.replace("secret", "other"),
    },
}


def basic(user: str, password: str) -> str:
    return f"Basic {b64encode(f'{user}:{password}'.encode()).decode()}"


def with_scram(gateway: Gateway, user: str, password: str) -> None:
    record = ScramCredentials(user=user, credentials={"SCRAM_SHA_256": credential(password)})
    gateway.broker.metadata_log.append(record, gateway.now_ms)
    gateway.settle()


def asked(logins: HttpLogins, header: str | None, host: str = "10.0.0.7") -> Page | None:
    headers = {} if header is None else {"authorization": header, "user-agent": "curl"}

    async def main() -> Page | None:
        return await logins.refusal(headers, host)

    return trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


def status(page: Page | None) -> int:
    return 200 if page is None else page.status


def test_users_of_scram_and_of_plain_on_any_listener_are_let_in() -> None:
    gateway = Gateway(**WITH_PLAIN)
    with_scram(gateway, "carol", "c")
    logins = HttpLogins(gateway.broker, lambda: START_MS)
    for user, password in (("carol", "c"), ("alice", "secret"), ("alice", "other")):
        assert asked(logins, basic(user, password)) is None
    for user, password in (("carol", "secret"), ("alice", "c"), ("nobody", "c"), ("alice", "")):
        assert status(asked(logins, basic(user, password))) == 401


def test_without_credentials_the_scheme_is_told_at_once() -> None:
    logins = HttpLogins(Gateway().broker, lambda: START_MS)
    page = asked(logins, None)
    assert page is not None
    assert page.status == 401
    assert dict(page.headers)["WWW-Authenticate"].startswith("Basic realm=")


def test_a_wrong_password_is_answered_late_and_told_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    logins = HttpLogins(Gateway().broker, lambda: START_MS)

    async def main() -> float:
        before = trio.current_time()
        await logins.refusal({"authorization": basic("alice", "guess")}, "10.0.0.7")
        return trio.current_time() - before

    with caplog.at_level(logging.WARNING, "kawal.security"):
        assert trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0)) >= 0.1
    assert "refused a client from 10.0.0.7: HTTP: user 'alice'" in caplog.text
    assert "guess" not in caplog.text


def test_a_deleted_user_is_not_let_in_again() -> None:
    gateway = Gateway()
    with_scram(gateway, "carol", "c")
    logins = HttpLogins(gateway.broker, lambda: START_MS)
    assert asked(logins, basic("carol", "c")) is None
    gateway.broker.metadata_log.append(ScramCredentials(user="carol", credentials={}), gateway.now_ms)
    gateway.settle()
    assert status(asked(logins, basic("carol", "c"))) == 401


def test_with_an_authorizer_the_user_needs_describe_on_the_cluster() -> None:
    gateway = Guarded()
    with_scram(gateway, "alice", "a")
    with_scram(gateway, "admin", "b")
    logins = HttpLogins(gateway.broker, lambda: START_MS)
    assert asked(logins, basic("admin", "b")) is None
    page = asked(logins, basic("alice", "a"))
    assert page is not None
    assert (page.status, page.body) == (403, b"User:alice needs DESCRIBE on the cluster\n")
    gateway.allow(Operation.DESCRIBE, ResourceType.CLUSTER, host="10.0.0.7")
    assert asked(logins, basic("alice", "a"), "::ffff:10.0.0.7") is None
    assert status(asked(logins, basic("alice", "a"), "10.0.0.8")) == 403


def test_logins_are_events_once_in_an_hour_and_failures_are_too() -> None:
    gateway = Audited()
    with_scram(gateway, "admin", "b")
    now = [START_MS]
    logins = HttpLogins(gateway.broker, lambda: now[0])
    for _ in range(3):
        assert asked(logins, basic("admin", "b")) is None
    now[0] += 3_600_000
    assert asked(logins, basic("admin", "b")) is None
    accepted = gateway.named("login.ok")
    assert len(accepted) == 2
    assert (accepted[0]["user"], accepted[0]["listener"], accepted[0]["client_id"]) == (
        "User:admin",
        "HTTP",
        "curl",
    )
    asked(logins, basic("admin", "x"))
    assert gateway.last("login.failed")["claimed"] == "admin"
    with_scram(gateway, "bob", "c")
    assert status(asked(logins, basic("bob", "c"))) == 403
    failed = gateway.last("login.failed")
    assert (failed["claimed"], failed["user"]) == ("bob", "User:ANONYMOUS")
    assert "needs DESCRIBE on the cluster" in failed["reason"]


def test_what_cannot_be_told_is_refused_where_that_is_asked_for() -> None:
    gateway = Audited(kawal_audit_when_full="refuse")
    with_scram(gateway, "admin", "b")
    gateway.failing = "no room"
    gateway.trail.record("something")
    logins = HttpLogins(gateway.broker, lambda: START_MS)
    assert status(asked(logins, basic("admin", "b"))) == 401


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Basic",
        "Basic !!!!",
        "Bearer abc",
        "Basic " + "A" * (CREDENTIALS_MAX + 1),
        "Basic " + b64encode(b"no colon").decode(),
        "Basic " + b64encode(b":no user").decode(),
        "Basic " + b64encode(b"nopassword:").decode(),
        "Basic " + b64encode(b"a\0b:c").decode(),
        "Basic " + b64encode(b"\xff\xfe:c").decode(),
        "Basic YTpi\xfc",
    ],
)
def test_headers_that_are_no_credentials(header: str) -> None:
    assert credentials_of(header) is None


def test_a_password_may_have_colons_and_any_script() -> None:
    assert credentials_of(basic("böb", "a:b:ü")) == ("böb", "a:b:ü")
    assert credentials_of(f"  bAsIc   {basic('a', 'b')[6:]} ") == ("a", "b")


@given(st.text(max_size=200))
def test_any_header_is_credentials_or_none(header: str) -> None:
    found = credentials_of(header)
    assert found is None or (found[0] and found[1])
