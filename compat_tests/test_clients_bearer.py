"""Client programs log in with signed tokens (OAUTHBEARER) over TLS; a file has the keys of their issuer.

Apache Kafka and the gateway are started by the same file of properties.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from compat_tests.broker import Broker, Kind
from compat_tests.certificates import Certificates, make_certificates
from compat_tests.clients.program import Program
from compat_tests.clients.registry import COMMANDS
from compat_tests.kafka_broker import KafkaBroker
from compat_tests.kawal_properties import KawalByProperties
from compat_tests.test_clients_security import work
from tests.broker.tokens import AUDIENCE, ISSUER, claims, key_set, signed

BEARERS = (
    "aiokafka",
    "confluent-kafka",
    "kafka-python",
    "java",
    "java-3.9",
    "kafkajs",
    "franz-go",
    "rdkafka-rust",
    "sarama",
)
"""Clients that take a token from their user; kafka-go and kcat have no way to.

confluent-kafka-javascript 1.10.1 has one, but on an idle machine its first question for a token is lost
before it listens, on Kafka too."""

BEARER = "org.apache.kafka.common.security.oauthbearer"


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """Make the certificates of all tests here."""
    return make_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def broker(
    tmp_path_factory: pytest.TempPathFactory, broker_kind: Kind, certificates: Certificates
) -> Iterator[Broker]:
    """Start a broker that takes the tokens of one issuer."""
    directory = tmp_path_factory.mktemp("bearer")
    keys = directory / "keys.json"
    keys.write_bytes(key_set("rsa"))
    settings = {
        "extra.listeners": "SECURE",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SECURE:SASL_SSL",
        "sasl.enabled.mechanisms": "OAUTHBEARER",
        "sasl.oauthbearer.jwks.endpoint.url": f"file://{keys}",
        "sasl.oauthbearer.expected.issuer": ISSUER,
        "sasl.oauthbearer.expected.audience": AUDIENCE,
        "listener.name.secure.oauthbearer.sasl.jaas.config": f"{BEARER}.OAuthBearerLoginModule required;",
        "listener.name.secure.oauthbearer.sasl.server.callback.handler.class": (
            f"{BEARER}.OAuthBearerValidatorCallbackHandler"
        ),
        "ssl.keystore.type": "PEM",
        "ssl.truststore.type": "PEM",
        "ssl.keystore.location": str(certificates.server),
        "group.initial.rebalance.delay.ms": "0",
    }
    kind = KafkaBroker if broker_kind == "kafka" else KawalByProperties
    started = kind(directory / "data", settings)
    started.start()
    yield started
    started.kill()


@pytest.fixture
def program(client: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    """Start the client's program."""
    started = Program(client, COMMANDS[client], tmp_path_factory.mktemp("program") / "log")
    yield started
    started.close()


def security_of(certificates: Certificates, directory: Path, **more: Any) -> dict[str, Any]:
    """Return the field `security` of a request, with a new token."""
    token = signed(claims(int(time.time() * 1000), **more), "rsa")
    file = directory / "token"
    file.write_text(token)
    return {
        "protocol": "SASL_SSL",
        "authority": str(certificates.authority),
        "mechanism": "OAUTHBEARER",
        "bearer": token,
        "bearer_file": f"file://{file}",
    }


@pytest.mark.parametrize("client", BEARERS)
def test_a_client_logs_in_with_a_signed_token(
    broker: Broker, certificates: Certificates, topic: str, program: Program, tmp_path: Path
) -> None:
    work(program, broker, topic, "SECURE", security_of(certificates, tmp_path))


@pytest.mark.parametrize("client", ["java", "franz-go"])
def test_a_token_of_another_issuer_is_an_error_of_the_client(
    broker: Broker, certificates: Certificates, topic: str, program: Program, tmp_path: Path
) -> None:
    security = security_of(certificates, tmp_path, iss="https://evil.example")
    with pytest.raises(AssertionError, match=r"(?i)sasl|auth|token"):
        work(program, broker, topic, "SECURE", security)
