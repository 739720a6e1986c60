"""One server.properties starts Apache Kafka and the gateway, and the same clients log in to both."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from compat_tests.broker import Broker, Kind
from compat_tests.certificates import Certificates, make_certificates
from compat_tests.confluent import make_producer, open_consumer, produce, read
from compat_tests.kafka_broker import KafkaBroker, server_properties
from compat_tests.kawal_broker import KAWAL
from compat_tests.kawal_properties import KawalByProperties
from compat_tests.logins import USERS, login_settings
from compat_tests.process import ServerProcess
from compat_tests.topics import create_topic
from compat_tests.waiting import eventually

VALUES = [b"x" * size for size in (1, 100, 200_000)]


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """Make the certificates of all tests here."""
    return make_certificates(tmp_path_factory.mktemp("certificates"))


def settings_of(certificates: Certificates) -> dict[str, str]:
    """Return settings as a secured broker of Kafka has them: inline PEM, secrets elsewhere, an authorizer."""
    pem = certificates.server.read_text()
    start = pem.index("-----BEGIN CERTIFICATE")
    one_listener = {
        "listener.name.secure.ssl.keystore.key": pem[:start],
        "listener.name.secure.ssl.keystore.certificate.chain": pem[start:],
        "listener.name.secure.plain.sasl.server.callback.handler.class": (
            "org.apache.kafka.common.security.plain.internals.PlainServerCallbackHandler"
        ),
    }
    secrets = certificates.server.with_name("secrets.properties")
    own = login_settings(SECURE="SASL_SSL")
    users = "listener.name.secure.plain.sasl.jaas.config"
    secrets.write_text("users=" + own[users].replace("\\", "\\\\") + "\n")
    return {
        **own,
        "config.providers": "file",
        "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
        "config.providers.file.param.allowed.paths": str(secrets.parent),
        users: f"${{file:{secrets}:users}}",
        "ssl.keystore.type": "PEM",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(certificates.authority),
        # For listeners with SASL only their own key counts (KIP-684): its clients need no certificate.
        "ssl.client.auth": "required",
        # Line ends are blanks here: in a file of properties a line would end there.
        **{name: " ".join(value.split("\n")) for name, value in one_listener.items()},
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS;User:alice",
        "principal.builder.class": (
            "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder"
        ),
        "default.replication.factor": "1",
        "num.network.threads": "3",
        "metric.reporters": "org.apache.kafka.common.metrics.JmxReporter",
        "someones.own.key": "1",
    }


@pytest.fixture(scope="module")
def broker(
    tmp_path_factory: pytest.TempPathFactory, broker_kind: Kind, certificates: Certificates
) -> Iterator[Broker]:
    """Start a broker by the file."""
    kind = KafkaBroker if broker_kind == "kafka" else KawalByProperties
    started = kind(tmp_path_factory.mktemp("properties") / "broker", settings_of(certificates))
    started.start()
    yield started
    started.kill()


def login(certificates: Certificates, user: str, password: str) -> dict[str, str]:
    """Return the settings of librdkafka by which a user logs in."""
    return {
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "PLAIN",
        "sasl_username": user,
        "sasl_password": password,
        "ssl_ca_location": str(certificates.authority),
    }


def at(broker: Broker) -> Any:
    """Return the listener with logins, as a broker."""
    return type("Address", (), {"bootstrap": broker.bootstrap_of("SECURE")})()


def admin(broker: Broker, certificates: Certificates, user: str, password: str) -> AdminClient:
    """Return a client that is logged in, or tries to."""
    dotted = {name.replace("_", "."): value for name, value in login(certificates, user, password).items()}
    return AdminClient({"bootstrap.servers": broker.bootstrap_of("SECURE"), "log_level": 0, **dotted})


def test_a_user_of_the_file_writes_and_reads(broker: Broker, certificates: Certificates) -> None:
    create_topic(broker, "carried-over")
    alice = login(certificates, "alice", USERS["alice"])
    produce(make_producer(at(broker), **alice), "carried-over", VALUES)
    with open_consumer(at(broker), **alice) as consumer:
        assert [message.value() for message in read(consumer, "carried-over", len(VALUES))] == VALUES


def test_who_is_no_super_user_may_do_nothing(broker: Broker, certificates: Certificates) -> None:
    bob = admin(broker, certificates, "bob", USERS["bob"])
    with pytest.raises(KafkaException) as caught:
        bob.create_topics([NewTopic("bobs", 1, 1)])["bobs"].result(timeout=60)
    assert caught.value.args[0].code() == KafkaError.TOPIC_AUTHORIZATION_FAILED


def test_a_wrong_password_is_refused(broker: Broker, certificates: Certificates) -> None:
    with pytest.raises(KafkaException):
        admin(broker, certificates, "alice", "wrong").list_topics(timeout=3)


@pytest.mark.only_kawal(reason="the log line is the gateway's")
def test_keys_without_effect_are_named_in_one_line(broker: Broker) -> None:
    log = (broker.directory / "broker.log").read_text()
    (line,) = (line for line in log.splitlines() if "no effect here" in line)
    for name in ("process.roles", "controller.quorum.voters", "num.network.threads", "someones.own.key"):
        assert name in line
    assert USERS["alice"] not in log


@pytest.mark.only_kawal(reason="Kafka loads classes")
def test_an_authorizer_that_is_not_known_ends_the_start(tmp_path: Path, certificates: Certificates) -> None:
    settings = settings_of(certificates) | {"authorizer.class.name": "org.acme.Authorizer"}
    path = tmp_path / "server.properties"
    path.write_text(server_properties(tmp_path, "PLAINTEXT://127.0.0.1:0", 1, settings))
    process = ServerProcess(
        [KAWAL, "serve", "--config", str(path)], log_path=tmp_path / "log", environment={}
    )
    eventually(lambda: process.exit_code is not None, waiting_for="the end of the start")
    assert process.exit_code != 0
    assert "server.properties, line" in process.tail()
    assert "'authorizer.class.name': must be one of" in process.tail()
