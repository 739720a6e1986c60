"""Stock clients log in by each mechanism that they speak, with and without TLS; the same on Apache Kafka."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.errors import KafkaError as AioKafkaError
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from kafka import KafkaConsumer, KafkaProducer

from compat_tests.broker import Broker, Kind
from compat_tests.certificates import Certificates, make_certificates
from compat_tests.confluent import make_producer, open_consumer, produce, read
from compat_tests.conftest import running_broker
from compat_tests.java import run_java
from compat_tests.logins import MECHANISMS, USERS, add_scram_users, login_settings
from compat_tests.topics import create_topic
from compat_tests.waiting import eventually

VALUES = [b"x" * size for size in (1, 100, 200_000)]

LISTENERS = {"SASL": "SASL_PLAINTEXT", "SECURE": "SASL_SSL"}


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """Make the certificates of all tests here."""
    return make_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def broker(
    tmp_path_factory: pytest.TempPathFactory, broker_kind: Kind, certificates: Certificates
) -> Iterator[Broker]:
    """Start a broker with logins, over TLS and without, and with users of each mechanism."""
    settings = login_settings(**LISTENERS) | {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(certificates.server),
    }
    with running_broker(broker_kind, tmp_path_factory.mktemp("sasl"), settings) as started:
        add_scram_users(started)
        eventually(lambda: is_known(started), waiting_for="the users of SCRAM")
        yield started


def is_known(broker: Broker) -> bool:
    """Whether the last user is let in; Kafka's changes take a moment."""
    settings = {
        "bootstrap.servers": broker.bootstrap_of("SASL"),
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": MECHANISMS[-1],
        "sasl.username": "bob",
        "sasl.password": USERS["bob"],
        "log_level": 0,
    }
    try:
        return bool(AdminClient(settings).list_topics(timeout=60).brokers)
    except KafkaException:
        return False


class Login:
    """One client's way to log in."""

    def __init__(
        self, broker: Broker, certificates: Certificates, listener: str, mechanism: str, password: str
    ) -> None:
        self.bootstrap = broker.bootstrap_of(listener)
        self.protocol = LISTENERS[listener]
        self.mechanism = mechanism
        self.password = password
        self.authority = certificates.authority

    @property
    def librdkafka(self) -> dict[str, str]:
        """The settings of librdkafka."""
        return {
            "bootstrap_servers": self.bootstrap,
            "security_protocol": self.protocol,
            "sasl_mechanism": self.mechanism,
            "sasl_username": "alice",
            "sasl_password": self.password,
            "ssl_ca_location": str(self.authority),
        }

    @property
    def python(self) -> dict[str, Any]:
        """The settings of kafka-python and aiokafka."""
        return {
            "bootstrap_servers": self.bootstrap,
            "security_protocol": self.protocol,
            "sasl_mechanism": self.mechanism,
            "sasl_plain_username": "alice",
            "sasl_plain_password": self.password,
            "ssl_context": ssl.create_default_context(cafile=str(self.authority)),
        }

    @property
    def properties(self) -> str:
        """The settings of Kafka's own tools."""
        kind = "plain.Plain" if self.mechanism == "PLAIN" else "scram.Scram"
        secret = self.password.replace('"', '\\\\"')
        return (
            f"security.protocol={self.protocol}\nsasl.mechanism={self.mechanism}\n"
            f"ssl.truststore.type=PEM\nssl.truststore.location={self.authority}\n"
            f"sasl.jaas.config=org.apache.kafka.common.security.{kind}LoginModule required"
            f' username="alice" password="{secret}";\n'
        )


def by_librdkafka(login: Login, topic: str) -> list[bytes]:
    here: Any = type("Address", (), {"bootstrap": login.bootstrap})()
    produce(make_producer(here, **login.librdkafka), topic, VALUES)
    with open_consumer(here, **login.librdkafka) as consumer:
        return [message.value() for message in read(consumer, topic, len(VALUES))]


def by_kafka_python(login: Login, topic: str) -> list[bytes]:
    producer = KafkaProducer(**login.python)
    for value in VALUES:
        producer.send(topic, value).get(60)
    producer.close()
    consumer = KafkaConsumer(topic, auto_offset_reset="earliest", consumer_timeout_ms=60_000, **login.python)
    found = [next(consumer).value for _ in VALUES]
    consumer.close()
    return found


def by_aiokafka(login: Login, topic: str) -> list[bytes]:
    async def run() -> list[bytes]:
        async with AIOKafkaProducer(**login.python) as producer:
            for value in VALUES:
                await producer.send_and_wait(topic, value)
        async with AIOKafkaConsumer(topic, auto_offset_reset="earliest", **login.python) as consumer:
            return [(await asyncio.wait_for(consumer.getone(), 60)).value for _ in VALUES]

    return asyncio.run(run())


@pytest.mark.parametrize("client", [by_librdkafka, by_kafka_python, by_aiokafka])
@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("listener", LISTENERS)
def test_a_client_logs_in_writes_and_reads(
    broker: Broker,
    certificates: Certificates,
    topic: str,
    client: Callable[[Login, str], list[bytes]],
    mechanism: str,
    listener: str,
) -> None:
    create_topic(broker, topic, 1, {})
    login = Login(broker, certificates, listener, mechanism, USERS["alice"])
    assert client(login, topic) == VALUES


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_wrong_password_is_an_error_of_the_client(
    broker: Broker, certificates: Certificates, mechanism: str
) -> None:
    login = Login(broker, certificates, "SASL", mechanism, "wrong")
    settings = {key.replace("_", "."): value for key, value in login.librdkafka.items()} | {"log_level": 0}
    with pytest.raises(KafkaException):
        AdminClient(settings).list_topics(timeout=3)

    async def run() -> None:
        producer = AIOKafkaProducer(**login.python)
        try:
            await producer.start()
        finally:
            await producer.stop()

    with pytest.raises(AioKafkaError):
        asyncio.run(run())


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("listener", LISTENERS)
def test_kafka_s_own_tools_log_in(
    broker: Broker, certificates: Certificates, topic: str, mechanism: str, listener: str, tmp_path: Path
) -> None:
    login = Login(broker, certificates, listener, mechanism, USERS["alice"])
    properties = tmp_path / "client.properties"
    properties.write_text(login.properties)
    address = ("--bootstrap-server", login.bootstrap, "--command-config", str(properties))
    tool = "org.apache.kafka.tools.TopicCommand"
    run_java(tool, *address, "--create", "--topic", topic)
    eventually(
        lambda: topic in run_java(tool, *address, "--list").stdout.split(), waiting_for=f"{topic} in the list"
    )


def test_a_user_made_by_kafka_configs_logs_in(broker: Broker, certificates: Certificates, topic: str) -> None:
    run_java(
        "kafka.admin.ConfigCommand",
        *("--bootstrap-server", broker.bootstrap, "--alter", "--entity-type", "users"),
        *("--entity-name", "carol", "--add-config", "SCRAM-SHA-256=[iterations=4096,password=c]"),
    )
    create_topic(broker, topic, 1, {})
    login = Login(broker, certificates, "SASL", "SCRAM-SHA-256", "c")
    settings = {key.replace("_", "."): value for key, value in login.librdkafka.items()}

    def let_in() -> bool:
        try:
            admin = AdminClient(settings | {"sasl.username": "carol", "log_level": 0})
            return topic in admin.list_topics(timeout=60).topics
        except KafkaException:
            return False

    eventually(let_in, waiting_for="carol to be let in")
