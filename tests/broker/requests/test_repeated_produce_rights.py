"""A Produce that repeats an earlier one is served if its client may write at that moment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from broker.catalogue.catalogue_records import AclAdded
from broker.config.acl_keys import STANDARD_AUTHORIZER
from broker.requests import dispatcher
from broker.security.acls import Acl, PatternType, Permission
from broker.security.authorized_operations import Operation
from broker.security.authorizer import Policy
from protocol.error_codes import ErrorCode
from protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
)
from protocol.messages.produce import ProduceRequest
from protocol.wire import decode
from tests.broker import client_quotas
from tests.broker.audited import Audited
from tests.broker.gateway import Client, Gateway
from tests.broker.guarded import ADMIN, ALICE, TOPIC, Guarded, rule
from tests.broker.kit import batch, create, producing, read, send
from tests.broker.logins import LoginGateway, choose, log_in, plain_token

DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the versions of the Produce requests that were decoded."""
    found: list[int] = []

    def noting(cls: type[Any], version: int, *arguments: Any) -> Any:
        if cls is ProduceRequest:
            found.append(version)
        return decode(cls, version, *arguments)

    monkeypatch.setattr(dispatcher, "decode", noting)
    return found


def writing(client: Client, value: bytes = b"v") -> int:
    """Produce a record to `t`; return the error code."""
    code: int = send(client, "t", batch(value), 0).error_code
    return code


def known(guarded: Guarded, principal: str = ALICE) -> Client:
    """Return a client that has produced twice, the second time without being decoded."""
    create(guarded.admin, "t")
    guarded.allow(Operation.WRITE, TOPIC, "t")
    client = guarded.of(principal)
    assert [writing(client), writing(client)] == [0, 0]
    return client


def test_with_rules_only_the_first_request_is_decoded(decoded: list[int]) -> None:
    guarded = Guarded()
    client = known(guarded)
    assert writing(client) == 0
    assert len(decoded) == 1
    assert len(read(guarded.admin, "t")) == 3


def test_an_audited_server_decodes_the_first_request_alone_too(decoded: list[int]) -> None:
    guarded = Audited()
    create(guarded.admin, "t")
    assert [writing(guarded.admin) for _ in range(3)] == [0, 0, 0]
    assert len(decoded) == 1


def test_an_audited_server_records_the_denial_of_a_repetition() -> None:
    guarded = Audited()
    create(guarded.admin, "t")
    acl = guarded.allow(Operation.WRITE, TOPIC, "t")
    client = guarded.of(ALICE)
    assert [writing(client), writing(client)] == [0, 0]
    guarded.take(acl)
    assert writing(client) == DENIED
    guarded.settle()
    assert guarded.last("request.denied")["user"] == ALICE


def removed(guarded: Guarded) -> None:
    guarded.take(rule(Operation.WRITE, TOPIC, "t"))


def denied(guarded: Guarded) -> None:
    guarded.deny(Operation.WRITE, TOPIC, "t")


def all_denied(guarded: Guarded) -> None:
    guarded.deny(Operation.ALL, TOPIC, "*")


def denied_by_prefix(guarded: Guarded) -> None:
    guarded.put(rule(Operation.WRITE, TOPIC, "t", permission=Permission.DENY, pattern=PatternType.PREFIXED))


def everyone_denied(guarded: Guarded) -> None:
    guarded.put(rule(Operation.WRITE, TOPIC, "t", principal="User:*", permission=Permission.DENY))


def host_denied(guarded: Guarded) -> None:
    guarded.put(rule(Operation.WRITE, TOPIC, "t", host="10.0.0.9", permission=Permission.DENY))


@pytest.mark.parametrize(
    "revoke", [removed, denied, all_denied, denied_by_prefix, everyone_denied, host_denied]
)
def test_the_next_request_after_a_change_of_rules_is_refused(revoke: Callable[[Guarded], None]) -> None:
    guarded = Guarded()
    client = known(guarded)
    revoke(guarded)
    assert [writing(client), writing(client)] == [DENIED, DENIED]
    assert len(read(guarded.admin, "t")) == 2


def test_a_right_that_is_given_back_counts_at_once(decoded: list[int]) -> None:
    guarded = Guarded()
    client = known(guarded)
    acl = guarded.deny(Operation.WRITE, TOPIC, "t")
    assert writing(client) == DENIED
    guarded.take(acl)
    assert writing(client) == 0
    assert len(decoded) == 2


def test_requests_that_came_together_with_the_change_are_judged_after_it() -> None:
    """The rule is applied between two requests of one connection that lie in the receive buffer."""
    guarded = Guarded()
    client = known(guarded)
    guarded.broker.metadata_log.append(
        AclAdded(**rule(Operation.WRITE, TOPIC, "t", permission=Permission.DENY)._asdict()), guarded.now_ms
    )
    assert writing(client) == DENIED


@pytest.mark.parametrize("principal", ["User:bob", "User:ANONYMOUS"])
def test_what_one_client_may_is_no_right_of_another(principal: str) -> None:
    guarded = Guarded()
    known(guarded)
    assert writing(guarded.of(principal)) == DENIED
    assert len(read(guarded.admin, "t")) == 2


def test_the_same_user_at_another_address_is_judged_by_it() -> None:
    guarded = Guarded()
    create(guarded.admin, "t")
    guarded.put(rule(Operation.WRITE, TOPIC, "t", host="10.0.0.9"))
    assert [writing(guarded.of(ALICE)), writing(guarded.of(ALICE))] == [0, 0]
    assert writing(guarded.of(ALICE, "10.0.0.10")) == DENIED
    assert writing(guarded.of(ALICE, "::ffff:10.0.0.9")) == 0


def test_a_client_without_the_right_teaches_nothing(decoded: list[int]) -> None:
    guarded = Guarded()
    create(guarded.admin, "t")
    client = guarded.of(ALICE)
    assert [writing(client), writing(client)] == [DENIED, DENIED]
    repeats = guarded.broker._dispatcher._repeats
    assert repeats is not None
    assert not repeats._known
    assert len(decoded) == 2


def test_a_super_user_no_longer_is_one_after_a_change() -> None:
    guarded = Guarded()
    create(guarded.admin, "t")
    client = guarded.admin
    assert [writing(client), writing(client)] == [0, 0]
    assert guarded.broker.authorizer is not None
    guarded.broker.authorizer.configure(Policy(frozenset({ALICE})))
    assert writing(client) == DENIED
    assert writing(guarded.of(ALICE)) == 0


def test_the_first_rule_of_a_topic_counts_where_topics_without_rules_are_free() -> None:
    guarded = Guarded(allow_everyone_if_no_acl_found=True)
    create(guarded.admin, "t")
    client = guarded.of("User:bob")
    assert [writing(client), writing(client)] == [0, 0]
    guarded.allow(Operation.WRITE, TOPIC, "t")
    assert writing(client) == DENIED


def test_after_a_restart_the_rules_of_the_log_count() -> None:
    guarded = Guarded()
    known(guarded)
    guarded.restart()
    client = guarded.of(ALICE)
    assert [writing(client), writing(client)] == [0, 0]
    guarded.take(rule(Operation.WRITE, TOPIC, "t"))
    assert writing(client) == DENIED


def test_a_quota_counts_every_repetition_of_a_client_with_rights(decoded: list[int]) -> None:
    guarded = Guarded()
    client = known(guarded)
    client_quotas.alter(guarded.admin, {"user": None}, ("producer_byte_rate", 1_000_000.0))
    assert writing(client) == 0
    assert len(decoded) == 2


def secured() -> LoginGateway:
    gateway = LoginGateway(
        connections_max_reauth_ms=60_000,
        authorizer_class_name=STANDARD_AUTHORIZER,
        super_users=ADMIN,
    )
    admin = gateway.client()
    admin.connection.principal = ADMIN
    create(admin, "t")
    gateway.broker.metadata_log.append(
        AclAdded(**Acl(TOPIC, "t", PatternType.LITERAL, ALICE, "*", Operation.WRITE, 3)._asdict()),
        gateway.now_ms,
    )
    gateway.settle()
    return gateway


def logged_in(gateway: LoginGateway) -> Client:
    client = gateway.login_client()
    assert log_in(client).error_code == 0
    assert [writing(client), writing(client)] == [0, 0]
    return client


def test_a_session_that_is_over_writes_nothing_more() -> None:
    gateway = secured()
    client = logged_in(gateway)
    gateway.advance(60_001)
    client.send(producing_to_t(), 10)
    gateway.settle()
    assert client.connection.closed or client.connection.close_reason
    assert stored(gateway) == 2


def test_a_client_that_logs_in_again_as_another_writes_nothing_more() -> None:
    gateway = secured()
    client = logged_in(gateway)
    assert log_in(client, plain_token("bob", "b")).error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    client.send(producing_to_t(), 10)
    gateway.advance(200)
    assert client.connection.closed or client.connection.close_reason
    assert stored(gateway) == 2


def test_a_produce_amid_a_repeated_login_is_not_served() -> None:
    gateway = secured()
    client = logged_in(gateway)
    gateway.advance(2_000)
    assert choose(client) == 0
    client.send(producing_to_t(), 10)
    gateway.advance(200)
    assert stored(gateway) == 2


def test_a_deleted_user_writes_as_long_as_its_rules_and_session_allow() -> None:
    """As in Kafka: a deleted user cannot log in again, and its open connection lives on."""
    gateway = secured()
    client = logged_in(gateway)
    admin = gateway.client()
    admin.connection.principal = ADMIN
    admin.call(
        AlterUserScramCredentialsRequest(
            deletions=[ScramCredentialDeletion(name="alice", mechanism=1)], upsertions=[]
        ),
        0,
    )
    assert writing(client) == 0
    gateway.advance(60_001)
    client.send(producing_to_t(), 10)
    gateway.settle()
    assert stored(gateway) == 3


def producing_to_t() -> Any:
    return producing(("t", 0, batch(b"late")))


def stored(gateway: Gateway) -> int:
    admin = gateway.client()
    admin.connection.principal = ADMIN
    return len(read(admin, "t"))
