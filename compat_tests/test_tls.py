"""Stock clients over TLS, with and without certificates of their own; the same settings on Apache Kafka."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from kafka import KafkaConsumer, KafkaProducer

from compat_tests.broker import Broker
from compat_tests.certificates import Certificates, make_certificates
from compat_tests.confluent import make_producer, open_consumer, produce, read
from compat_tests.conftest import StartBroker
from compat_tests.java import run_java
from compat_tests.topics import create_topic
from compat_tests.waiting import eventually

VALUES = [b"x" * size for size in (1, 100, 16_384, 16_385, 200_000)]

Send = Callable[[str, Certificates, str, bool], list[bytes]]


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """Make the certificates of all tests here."""
    return make_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def broker(start_broker: StartBroker, certificates: Certificates) -> Broker:
    """Start a broker with a listener for TLS and one that needs certificates of clients."""
    return start_broker(
        **{
            "extra.listeners": "SSL,MUTUAL",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SSL:SSL,MUTUAL:SSL",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(certificates.server),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(certificates.authority),
            "listener.name.mutual.ssl.client.auth": "required",
        }
    )


def context(certificates: Certificates, *, mutual: bool = False) -> ssl.SSLContext:
    made = ssl.create_default_context(cafile=str(certificates.authority))
    if mutual:
        made.load_cert_chain(certificates.client)
    return made


def connected(broker: Broker, listener: str, client: ssl.SSLContext) -> ssl.SSLSocket:
    """Connect without a client library."""
    host, _, port = broker.bootstrap_of(listener).rpartition(":")
    plain = socket.create_connection((host, int(port)), timeout=60)
    return client.wrap_socket(plain, server_hostname="localhost")


def by_librdkafka(bootstrap: str, certificates: Certificates, topic: str, mutual: bool) -> list[bytes]:
    settings: dict[str, Any] = {
        "bootstrap_servers": bootstrap,
        "security_protocol": "SSL",
        "ssl_ca_location": str(certificates.authority),
    }
    if mutual:
        settings["ssl_certificate_location"] = settings["ssl_key_location"] = str(certificates.client)
    here: Any = type("Address", (), {"bootstrap": bootstrap})()
    produce(make_producer(here, **settings), topic, VALUES)
    with open_consumer(here, **settings) as consumer:
        return [message.value() for message in read(consumer, topic, len(VALUES))]


def by_kafka_python(bootstrap: str, certificates: Certificates, topic: str, mutual: bool) -> list[bytes]:
    settings = {
        "bootstrap_servers": bootstrap,
        "security_protocol": "SSL",
        "ssl_context": context(certificates, mutual=mutual),
    }
    producer = KafkaProducer(**settings)
    for value in VALUES:
        producer.send(topic, value).get(60)
    producer.close()
    consumer = KafkaConsumer(topic, auto_offset_reset="earliest", consumer_timeout_ms=30_000, **settings)
    found = [next(consumer).value for _ in VALUES]
    consumer.close()
    return found


def by_aiokafka(bootstrap: str, certificates: Certificates, topic: str, mutual: bool) -> list[bytes]:
    settings = {
        "bootstrap_servers": bootstrap,
        "security_protocol": "SSL",
        "ssl_context": context(certificates, mutual=mutual),
    }

    async def run() -> list[bytes]:
        async with AIOKafkaProducer(**settings) as producer:
            for value in VALUES:
                await producer.send_and_wait(topic, value)
        async with AIOKafkaConsumer(topic, auto_offset_reset="earliest", **settings) as consumer:
            return [(await asyncio.wait_for(consumer.getone(), 30)).value for _ in VALUES]

    return asyncio.run(run())


@pytest.mark.parametrize("send", [by_librdkafka, by_kafka_python, by_aiokafka])
@pytest.mark.parametrize("listener", ["SSL", "MUTUAL"])
def test_a_client_writes_and_reads_over_tls(
    broker: Broker, certificates: Certificates, topic: str, send: Send, listener: str
) -> None:
    create_topic(broker, topic, 1, {})
    found = send(broker.bootstrap_of(listener), certificates, topic, listener == "MUTUAL")
    assert found == VALUES


@pytest.mark.parametrize("listener", ["SSL", "MUTUAL"])
def test_kafka_s_own_tools_speak_tls(
    broker: Broker, certificates: Certificates, topic: str, listener: str, tmp_path: Path
) -> None:
    properties = tmp_path / "client.properties"
    properties.write_text(
        "security.protocol=SSL\nssl.truststore.type=PEM\nssl.keystore.type=PEM\n"
        f"ssl.truststore.location={certificates.authority}\nssl.keystore.location={certificates.client}\n"
    )
    address = ("--bootstrap-server", broker.bootstrap_of(listener), "--command-config", str(properties))
    tool = "org.apache.kafka.tools.TopicCommand"
    run_java(tool, *address, "--create", "--topic", topic)
    assert topic in run_java(tool, *address, "--list").stdout.split()


def test_a_client_without_a_certificate_does_not_get_in(broker: Broker, certificates: Certificates) -> None:
    # TLS 1.3: the client is done before the server has judged it, and learns of it by its first read.
    refused = pytest.raises(ssl.SSLError, match=r"CERTIFICATE_REQUIRED|BAD_CERTIFICATE")
    with connected(broker, "MUTUAL", context(certificates)) as client, refused:
        client.recv(1)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_both_versions_of_tls_are_served(
    broker: Broker, certificates: Certificates, version: ssl.TLSVersion
) -> None:
    made = context(certificates)
    made.minimum_version = made.maximum_version = version
    with connected(broker, "SSL", made) as client:
        assert client.version() == version.name.replace("_", ".")


@pytest.mark.only_kawal(reason="Apache Kafka takes a new certificate by IncrementalAlterConfigs")
def test_a_new_certificate_is_served_after_sighup_and_connections_stay(
    broker: Broker, certificates: Certificates, tmp_path: Path
) -> None:
    old = certificates.server.read_bytes()
    others = make_certificates(tmp_path / "others")

    def connect(authority: Path) -> ssl.SSLSocket:
        return connected(broker, "SSL", ssl.create_default_context(cafile=str(authority)))

    def is_new() -> bool:
        try:
            connect(others.authority).close()
        except ssl.SSLError:
            return False
        return True

    kept = connect(certificates.authority)
    try:
        certificates.server.write_text("no certificate at all")
        os.kill(broker.process.pid, signal.SIGHUP)
        eventually(lambda: "there is no private key in" in broker.process.output(), waiting_for="the error")
        connect(certificates.authority).close()
        certificates.server.write_bytes(others.server.read_bytes())
        os.kill(broker.process.pid, signal.SIGHUP)
        eventually(is_new, waiting_for="the new certificate")
        kept.sendall(bytes.fromhex("0000000a 0012 0000 00000001 ffff"))
        assert kept.recv(4)
    finally:
        certificates.server.write_bytes(old)
        kept.close()


@pytest.mark.only_kawal(reason="the limits and the log are its own")
def test_half_finished_handshakes_by_the_hundred_do_not_keep_others_out(
    broker: Broker, certificates: Certificates, topic: str
) -> None:
    host, _, port = broker.bootstrap_of("SSL").rpartition(":")
    half = [socket.create_connection((host, int(port)), timeout=60) for _ in range(300)]
    for number, client in enumerate(half):
        client.sendall(b"\x16\x03\x01\x02\x00"[: number % 6])
    create_topic(broker, topic, 1, {})
    assert by_librdkafka(broker.bootstrap_of("SSL"), certificates, topic, False) == VALUES
    for client in half:
        client.close()
