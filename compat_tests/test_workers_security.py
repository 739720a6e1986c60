"""Gateways of two workers with logins, certificates, rules and quotas: the same at each worker."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ConfigResource,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)

from compat_tests.certificates import Certificates, make_certificates, sign_server
from compat_tests.client_quotas import limit
from compat_tests.configs import BROKER, SET, incremental
from compat_tests.confluent import make_producer
from compat_tests.groups import group_consumer
from compat_tests.logins import MECHANISMS, USERS, add_scram_users, login_settings, raw_client
from compat_tests.tokens import TOKEN_SETTINGS, create, logged_in, shown, token_login
from compat_tests.waiting import eventually
from compat_tests.wire import RawClient
from compat_tests.workers import WorkersBroker
from protocol.error_codes import ErrorCode
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol.messages.metadata import MetadataRequest

pytestmark = pytest.mark.only_kawal(reason="Apache Kafka has no workers")

PARTITIONS = 4
LISTENERS = {"SASL": "SASL_PLAINTEXT", "SECURE": "SASL_SSL", "MUTUAL": "SSL"}
STORE = "listener.name.mutual.ssl.keystore.location"

each_worker = pytest.mark.parametrize("number", [0, 1], ids=["controller", "other"])


class Secured(NamedTuple):
    """A gateway, and the certificates that it and its clients have."""

    broker: WorkersBroker
    certificates: Certificates
    keystore: Path
    """The server's key and certificate, a copy that tests replace."""


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    """Start a gateway of two workers with a listener of each kind, users, rules and tokens."""
    directory = tmp_path_factory.mktemp("secured")
    certificates = make_certificates(directory / "certificates")
    keystore = directory / "server.pem"
    shutil.copy(certificates.server, keystore)
    settings = login_settings(**LISTENERS) | TOKEN_SETTINGS
    settings |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(keystore)}
    settings |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(certificates.authority)}
    settings |= {
        "listener.name.mutual.ssl.client.auth": "required",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
        "group.initial.rebalance.delay.ms": "0",
    }
    broker = WorkersBroker(directory / "broker", 2, **settings)
    broker.start()
    add_scram_users(broker.at(1))
    yield Secured(broker, certificates, keystore)
    assert broker.stop()[0] == 0
    assert "ended with" not in broker.process.output()


def login_of(secured: Secured, user: str, number: int) -> tuple[Any, dict[str, Any]]:
    """Return the address of a worker's listener with TLS and logins, and what a client of it is told."""
    broker = secured.broker.at(number)
    address: Any = type("Address", (), {"bootstrap": broker.bootstrap_of("SECURE")})()
    return address, {
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "SCRAM-SHA-512",
        "sasl_username": user,
        "sasl_password": USERS[user],
        "ssl_ca_location": str(secured.certificates.authority),
    }


def admin_of(secured: Secured, user: str, number: int) -> AdminClient:
    """Return an admin client that logs in at a worker."""
    address, login = login_of(secured, user, number)
    settings = {name.replace("_", "."): text for name, text in login.items()}
    return AdminClient({"bootstrap.servers": address.bootstrap, **settings})


def allow(broker: WorkersBroker, user: str, prefix: str) -> None:
    """Let a user do everything with topics, groups and transactions of a prefix."""
    kinds = (ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID)
    rules = [
        AclBinding(
            kind,
            prefix,
            ResourcePatternType.PREFIXED,
            f"User:{user}",
            "*",
            AclOperation.ALL,
            AclPermissionType.ALLOW,
        )
        for kind in kinds
    ]
    for future in broker.admin().create_acls(rules).values():
        future.result(60)


def refusal_of(future: Any) -> int:
    """Return the error code with which a request was refused."""
    with pytest.raises(KafkaException) as refused:
        future.result(60)
    error: KafkaError = refused.value.args[0]
    return int(error.code())


@each_worker
def test_a_client_with_tls_scram_and_rules_works_through_any_worker(
    secured: Secured, topic: str, number: int
) -> None:
    allow(secured.broker.at(1 - number), "alice", topic)
    address, login = login_of(secured, "alice", number)
    admin = admin_of(secured, "alice", number)
    copy = f"{topic}-copy"
    for name, future in admin.create_topics(
        [NewTopic(each, PARTITIONS, 1) for each in (topic, copy)]
    ).items():
        assert future.result(60) is None, name
    producer = make_producer(address, **login)
    for index in range(PARTITIONS):
        producer.produce(topic, b"%d" % index, partition=index)
    assert producer.flush(60) == 0
    writer = make_producer(address, transactional_id=topic, **login)
    writer.init_transactions(60)
    with group_consumer(address, topic, topic, isolation_level="read_committed", **login) as consumer:
        found: list[Any] = []

        def has_all() -> bool:
            message = consumer.poll(0.1)
            if message is not None and not message.error():
                found.append(message)
            return len(found) == PARTITIONS

        eventually(has_all, waiting_for="the records")
        writer.begin_transaction()
        for message in found:
            writer.produce(copy, message.value(), partition=message.partition())
        places = [TopicPartition(topic, index, 1) for index in range(PARTITIONS)]
        writer.send_offsets_to_transaction(places, consumer.consumer_group_metadata(), 60)
        writer.commit_transaction(60)
        assert {place.offset for place in consumer.committed(places, 60)} == {1}
    assert {message.value() for message in found} == {b"%d" % index for index in range(PARTITIONS)}
    for future in admin.delete_topics([topic, copy]).values():
        future.result(60)


@each_worker
def test_a_user_may_not_do_through_another_worker_what_it_may_not_do(
    secured: Secured, topic: str, number: int
) -> None:
    allow(secured.broker, "alice", topic)
    alice, bob = admin_of(secured, "alice", number), admin_of(secured, "bob", number)
    refused = int(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    assert refusal_of(bob.create_topics([NewTopic(topic, 1, 1)])[topic]) == refused
    assert refusal_of(alice.create_topics([NewTopic("other", 1, 1)])["other"]) == refused
    alice.create_topics([NewTopic(topic, 1, 1)])[topic].result(60)
    assert refusal_of(bob.delete_topics([topic])[topic]) == int(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    asked = ConfigResource(ResourceType.BROKER, str(secured.broker.ids[number]))
    assert refusal_of(bob.describe_configs([asked])[asked]) == ErrorCode.CLUSTER_AUTHORIZATION_FAILED


@each_worker
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_each_mechanism_lets_in_at_any_worker(secured: Secured, number: int, mechanism: str) -> None:
    address, login = login_of(secured, "bob", number)
    settings = {name.replace("_", "."): text for name, text in login.items()} | {"sasl.mechanism": mechanism}
    admin = AdminClient({"bootstrap.servers": address.bootstrap, **settings})
    assert set(admin.list_topics(timeout=60).brokers) == set(secured.broker.ids)
    wrong = AdminClient({"bootstrap.servers": address.bootstrap, **settings, "sasl.password": "wrong"})
    with pytest.raises(KafkaException):
        wrong.list_topics(timeout=2)


@each_worker
def test_a_token_made_through_one_worker_belongs_to_its_client_and_lets_in_at_the_other(
    secured: Secured, number: int
) -> None:
    with_password = logged_in(secured.broker.at(number), "alice")
    made = create(with_password)
    assert (made.error_code, made.principal_name) == (0, "alice")

    def let_in() -> RawClient | None:
        client = raw_client(secured.broker.at(1 - number), "SASL")
        return client if token_login(client, made.token_id, made.hmac)[0] == 0 else None

    other = eventually(let_in, waiting_for="the other worker to know the token")
    assert other is not None
    owned = {
        user: shown(logged_in(secured.broker.at(1 - number), user), everything=True)
        for user in ("alice", "bob")
    }
    assert [user for user, tokens in owned.items() if made.token_id in tokens] == ["alice"]
    # A client that has shown a token may not make another, through any worker.
    assert create(other).error_code == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED


def serial_at(secured: Secured, number: int) -> int:
    """Return the serial number of the certificate that a worker has."""
    context = ssl.create_default_context(cafile=str(secured.certificates.authority))
    context.load_cert_chain(secured.certificates.client)
    port = secured.broker.at(number).other_ports["MUTUAL"]
    with (
        socket.create_connection(("127.0.0.1", port), timeout=60) as plain,
        context.wrap_socket(plain, server_hostname="localhost") as client,
    ):
        certificate = client.getpeercert()
    assert certificate is not None
    return int(str(certificate["serialNumber"]), 16)


def test_sighup_renews_the_certificates_of_all_workers(secured: Secured) -> None:
    before = serial_at(secured, 0)
    assert serial_at(secured, 1) == before
    renewed = sign_server(secured.certificates, "renewed", names="DNS:localhost,IP:127.0.0.1")
    shutil.copy(renewed, secured.keystore)
    os.kill(secured.broker.process.pid, signal.SIGHUP)
    for number in range(2):
        eventually(
            lambda number=number: serial_at(secured, number) != before,  # type: ignore[misc]
            waiting_for="the new certificate",
        )


def store_at(secured: Secured, number: int, path: Path) -> int:
    """Give one worker another key and certificate; return the error code."""
    raw = raw_client(secured.broker.at(number), "PLAINTEXT")
    ((code, _),) = incremental(raw, (BROKER, str(secured.broker.ids[number]), [(STORE, SET, str(path))]))
    raw.close()
    return code


def test_a_client_changes_the_certificate_of_one_worker_soon_and_of_no_other(secured: Secured) -> None:
    before = serial_at(secured, 0)
    own = sign_server(secured.certificates, "own", names="DNS:localhost,IP:127.0.0.1")
    assert store_at(secured, 1, own) == 0
    # Sooner than a file is looked at otherwise.
    eventually(lambda: serial_at(secured, 1) != before, waiting_for="its certificate", within_seconds=5)
    assert serial_at(secured, 0) == before
    assert store_at(secured, 1, own.with_suffix(".away")) == ErrorCode.INVALID_REQUEST


@each_worker
def test_a_client_above_its_quota_of_changes_waits_at_the_worker_that_it_is_connected_to(
    secured: Secured, topic: str, number: int
) -> None:
    limit(secured.broker.at(1 - number), "controller_mutation_rate", 0.5, client_id=topic)
    raw = raw_client(secured.broker.at(number), "PLAINTEXT")

    def make(name: str, partitions: int) -> Any:
        new = CreatableTopic(
            name=name, num_partitions=partitions, replication_factor=1, assignments=[], configs=[]
        )
        return raw.call(CreateTopicsRequest(topics=[new], timeout_ms=30_000), 7, client_id=topic)

    assert make(topic, 7).topics[0].error_code == 0
    answer = make(f"{topic}-more", 1)
    assert answer.topics[0].error_code == ErrorCode.THROTTLING_QUOTA_EXCEEDED
    assert 1_000 < answer.throttle_time_ms <= 4_000
    raw.send(MetadataRequest(topics=[]), 12, client_id=topic)
    raw.socket.settimeout(0.5)
    with pytest.raises(TimeoutError):
        raw.socket.recv(1)
    raw.socket.settimeout(60)
    raw.receive()
    raw.close()
