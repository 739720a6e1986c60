"""Logins and denied requests are events; other errors are not."""

from __future__ import annotations

from typing import Any

from broker.security.audit_repeats import BURST
from broker.server.audit_setup import make_trail
from protocol.error_codes import ErrorCode
from protocol.messages.describe_acls import DescribeAclsRequest
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from protocol.wire import ZERO_UUID
from tests.broker.audited import Audited
from tests.broker.groups import joining
from tests.broker.kit import batch, create, fetch, send
from tests.broker.logins import LoginGateway, ScramClient, choose, give, log_in, plain_token


class AuditedLogins(LoginGateway):
    """A gateway with logins and an audit log."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(kawal_audit_file="/audit.log", **settings)
        self.events: list[dict[str, Any]] = []
        self.failing: str | None = None

        def write(found: Any, done: Any) -> None:
            if self.failing is None:
                self.events += found.events
            done(self.failing)

        self.trail = make_trail(self.broker, self.config, write)


def denied(gateway: Audited) -> list[tuple[Any, ...]]:
    found = gateway.named("request.denied")
    return [(each["request"].split()[0], each.get("resources"), each["errors"]) for each in found]


def test_logins_are_told_with_their_mechanism() -> None:
    gateway = AuditedLogins()
    client = gateway.login_client("10.0.0.7")
    client.connection.listener = "LOGIN"
    assert log_in(client).error_code == 0
    (event,) = gateway.events
    assert (event["event"], event["user"], event["address"]) == ("login.ok", "User:alice", "10.0.0.7:5000")
    assert (event["mechanism"], event["listener"], event["client_id"]) == ("PLAIN", "LOGIN", "test")


def test_failed_logins_are_told_with_the_name_that_was_claimed_and_no_password() -> None:
    gateway = AuditedLogins()
    client = gateway.login_client()
    assert log_in(client, plain_token("alice", "guess")).error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    (event,) = gateway.events
    assert (event["event"], event["outcome"]) == ("login.failed", "denied")
    assert (event["claimed"], event["user"]) == ("alice", "User:ANONYMOUS")
    assert "guess" not in str(event)


def test_a_user_that_does_not_exist_is_told_as_well() -> None:
    gateway = AuditedLogins()
    client = gateway.login_client()
    scram = ScramClient("SCRAM-SHA-256", "o'brian", "x")
    assert choose(client, "SCRAM-SHA-256") == 0
    give(client, f"n,,{scram.bare}".encode())
    give(client, b"c=biws,r=client,p=AAAA")
    assert [event["event"] for event in gateway.events] == ["login.failed"]


def test_wrong_passwords_in_a_loop_are_counted() -> None:
    gateway = AuditedLogins()
    for _ in range(BURST + 4):
        log_in(gateway.login_client(), plain_token("alice", "guess"))
    assert len(gateway.events) == BURST
    gateway.advance(10_000)
    assert gateway.events[-1]["left_out"] == 4
    assert gateway.events[-1]["of"] == "login.failed"


def test_logins_are_refused_while_they_cannot_be_told() -> None:
    for when_full, code in (("refuse", ErrorCode.SASL_AUTHENTICATION_FAILED), ("drop", 0)):
        gateway = AuditedLogins(kawal_audit_when_full=when_full)
        gateway.failing = "no room"
        gateway.trail.record("something")
        assert log_in(gateway.login_client()).error_code == code


def test_denied_requests_are_told_with_what_was_denied() -> None:
    gateway = Audited()
    create(gateway.admin, "t")
    alice = gateway.of("User:alice", "10.0.0.7")
    send(alice, "t", batch(b"a"))
    fetch(alice, "t")
    alice.call(joining("g", topics=["t"]), 4)
    every = DescribeAclsRequest(
        resource_type_filter=1,
        pattern_type_filter=1,
        operation=1,
        permission_type=1,
        resource_name_filter=None,
        principal_filter=None,
        host_filter=None,
    )
    alice.call(every, 3)
    named = MetadataRequestTopic(name="t", topic_id=ZERO_UUID)
    alice.call(MetadataRequest(topics=[named], allow_auto_topic_creation=False), 12)
    assert denied(gateway) == [
        ("PRODUCE", ["t"], ["TOPIC_AUTHORIZATION_FAILED"]),
        ("FETCH", ["t"], ["TOPIC_AUTHORIZATION_FAILED"]),
        ("JOIN_GROUP", ["g"], ["GROUP_AUTHORIZATION_FAILED"]),
        ("DESCRIBE_ACLS", ["kafka-cluster"], ["CLUSTER_AUTHORIZATION_FAILED"]),
        ("METADATA", ["t"], ["TOPIC_AUTHORIZATION_FAILED"]),
    ]
    assert gateway.last("request.denied")["user"] == "User:alice"


def test_a_topic_that_is_named_by_its_id_is_told_by_its_name() -> None:
    gateway = Audited()
    topic_id = create(gateway.admin, "t")
    alice = gateway.of("User:alice")
    named = MetadataRequestTopic(name=None, topic_id=topic_id)
    alice.call(MetadataRequest(topics=[named], allow_auto_topic_creation=False), 12)
    assert denied(gateway) == [("METADATA", ["t"], ["TOPIC_AUTHORIZATION_FAILED"])]


def test_other_errors_are_no_events() -> None:
    gateway = Audited()
    fetch(gateway.admin, "none")
    assert gateway.events == []


def test_a_client_that_tries_many_names_fills_no_disk() -> None:
    gateway = Audited()
    alice = gateway.of("User:alice")
    topics = [MetadataRequestTopic(name=f"t{number}", topic_id=ZERO_UUID) for number in range(3_000)]
    alice.call(MetadataRequest(topics=topics, allow_auto_topic_creation=False), 12)
    assert len(gateway.last("request.denied")["resources"]) == 5
    for number in range(1_100):
        fetch(alice, f"x{number}")
    assert len(gateway.named("request.denied")) == 200
    fetch(gateway.of("User:alice", "10.0.0.8"), "y")
    assert gateway.last("request.denied")["resources"] == ["y"]


def test_a_changed_file_of_settings_is_told() -> None:
    gateway = Audited()
    assert gateway.broker.stats.audit is not None
    gateway.broker.stats.audit.reloaded({"num.partitions": "7"})
    assert gateway.last("configs.reloaded")["after"] == {"num.partitions": "7"}
