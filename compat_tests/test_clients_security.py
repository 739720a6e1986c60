"""Every client program over TLS and with logins, on a broker that lets in nothing else; the same on Kafka.

Each client has one mutual TLS, one login over TLS and one login without; `--every-login` tries each mechanism
on each protocol, and TLS without certificates of clients.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from typing import Any

import pytest

from compat_tests.broker import Broker, Kind
from compat_tests.certificates import Certificates, make_certificates
from compat_tests.clients.program import CannotError, Program
from compat_tests.clients.registry import COMMANDS
from compat_tests.conftest import running_broker
from compat_tests.logins import MECHANISMS, USERS, add_scram_users, login_settings
from compat_tests.times import START_MS
from compat_tests.tokens import TOKEN_SETTINGS, create, logged_in, shown
from compat_tests.topics import create_topic
from compat_tests.waiting import eventually

LISTENERS = {"SASL": "SASL_PLAINTEXT", "SECURE": "SASL_SSL", "TLS": "SSL", "MUTUAL": "SSL"}
"""Security protocols by listener; the last one demands certificates of clients."""

WITH_TOKENS = ("java", "java-3.9", "franz-go")
"""Clients that can log in with delegation tokens."""

Way = tuple[str, str]

ALWAYS: list[Way] = [("MUTUAL", ""), ("SASL", "SCRAM-SHA-256"), ("SECURE", "SCRAM-SHA-512")]
AT_LENGTH: list[Way] = [
    ("TLS", ""),
    ("SASL", "PLAIN"),
    ("SASL", "SCRAM-SHA-512"),
    ("SECURE", "PLAIN"),
    ("SECURE", "SCRAM-SHA-256"),
]
"""The ways to connect of each client: listener and mechanism."""


WITHOUT_SCRAM = frozenset({"kcat"})
"""Debian 12's kcat has librdkafka 2.0, whose final message of SCRAM has a wrong nonce (mended in 2.6.1); no
server without CVE-2024-56128 lets it in, as Kafka since 3.9 does not."""


def cases() -> list[Any]:
    """Return all ways of all clients; the long part is marked."""
    found = []
    for client in COMMANDS:
        always = [("MUTUAL", ""), ("SECURE", "PLAIN")] if client in WITHOUT_SCRAM else ALWAYS
        for way in [*ALWAYS, *AT_LENGTH]:
            if client not in WITHOUT_SCRAM or not way[1].startswith("SCRAM"):
                marks = () if way in always else pytest.mark.at_length
                found.append(pytest.param(client, way, id=_name(client, way), marks=marks))
    return found


def _name(client: str, way: Way) -> str:
    return "-".join(part for part in (client, *way) if part)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """Make the certificates of all tests here."""
    return make_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def broker(
    tmp_path_factory: pytest.TempPathFactory, broker_kind: Kind, certificates: Certificates
) -> Iterator[Broker]:
    """Start a broker with a listener of each kind, users and tokens."""
    settings = login_settings(**LISTENERS) | TOKEN_SETTINGS
    for kind, path in (("keystore", certificates.server), ("truststore", certificates.authority)):
        settings |= {f"ssl.{kind}.type": "PEM", f"ssl.{kind}.location": str(path)}
    settings |= {"listener.name.mutual.ssl.client.auth": "required", "group.initial.rebalance.delay.ms": "0"}
    with running_broker(broker_kind, tmp_path_factory.mktemp("security"), settings) as started:
        add_scram_users(started)
        yield started


@pytest.fixture
def program(client: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    """Start the client's program."""
    started = Program(client, COMMANDS[client], tmp_path_factory.mktemp("program") / "log")
    yield started
    started.close()


def security_of(way: Way, certificates: Certificates) -> dict[str, Any]:
    """Return the field `security` of a request."""
    listener, mechanism = way
    security: dict[str, Any] = {"protocol": LISTENERS[listener]}
    if security["protocol"].endswith("SSL"):
        security["authority"] = str(certificates.authority)
    if listener == "MUTUAL":
        security["certificate"] = str(certificates.client)
    if mechanism:
        security |= {"mechanism": mechanism, "user": "alice", "password": USERS["alice"]}
    return security


def work(program: Program, broker: Broker, topic: str, listener: str, security: dict[str, Any]) -> None:
    """Make a topic, write to it and read it in a group, all on the secure listener."""
    known = {"bootstrap": broker.bootstrap_of(listener), "topic": topic, "security": security}
    try:
        program.ask("create_topic", partitions=1, configs={}, **known)
    except CannotError:
        create_topic(broker, topic, 1, {})
    records = [
        {"key": "k", "value": text, "headers": [], "timestamp": START_MS} for text in ("a", "b" * 50_000)
    ]
    program.ask("produce", partition=0, codec="none", acks="all", idempotent=False, records=records, **known)
    found = program.ask("consume_group", group=f"{topic}-group", count=len(records), **known)["records"]
    assert [record["value"] for record in found] == [record["value"] for record in records]


@pytest.mark.parametrize(("client", "way"), cases())
def test_a_client_makes_a_topic_writes_and_reads(
    broker: Broker, certificates: Certificates, topic: str, program: Program, way: Way
) -> None:
    work(program, broker, topic, way[0], security_of(way, certificates))


@pytest.mark.parametrize("client", WITH_TOKENS)
@pytest.mark.parametrize(
    "mechanism", [pytest.param(MECHANISMS[1], marks=pytest.mark.at_length), MECHANISMS[2]]
)
def test_a_client_logs_in_with_a_delegation_token(
    broker: Broker, certificates: Certificates, topic: str, program: Program, mechanism: str
) -> None:
    owner = logged_in(broker, "alice")
    token = create(owner)
    eventually(lambda: token.token_id in shown(owner, "alice"), waiting_for="the token")
    security = security_of(("SECURE", mechanism), certificates)
    security |= {"user": token.token_id, "password": b64encode(token.hmac).decode(), "token": True}
    work(program, broker, topic, "SECURE", security)


@pytest.mark.parametrize("client", ["java", "franz-go", "sarama", "kafka-go", "kafkajs", "aiokafka"])
def test_a_wrong_password_is_an_error_of_the_client(
    broker: Broker, certificates: Certificates, topic: str, program: Program
) -> None:
    security = security_of(("SECURE", "SCRAM-SHA-512"), certificates) | {"password": "wrong"}
    # kafka-go does not say more than that the broker is not available.
    with pytest.raises(AssertionError, match=r"(?i)sasl|auth|credential|not available"):
        work(program, broker, topic, "SECURE", security)
