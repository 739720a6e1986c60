"""Gateways of two workers with logins by signed tokens (OAUTHBEARER): each worker knows the issuer's keys."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from compat_tests.confluent import take
from compat_tests.logins import choose, give, raw_client
from compat_tests.test_workers_security import allow, refusal_of
from compat_tests.waiting import eventually
from compat_tests.workers import WorkersBroker
from protocol.error_codes import ErrorCode
from tests.broker.tokens import AUDIENCE, ISSUER, claims, key_set, signed

pytestmark = pytest.mark.only_kawal(reason="Apache Kafka has no workers")

PARTITIONS = 4
LIFETIME_MS = 300_000

each_worker = pytest.mark.parametrize("number", [0, 1], ids=["controller", "other"])


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file of the issuer's keys."""
    file = tmp_path_factory.mktemp("issuer") / "keys.json"
    file.write_bytes(key_set("rsa"))
    return file


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory, keys: Path) -> Iterator[WorkersBroker]:
    """Start a gateway of two workers that takes the tokens of one issuer."""
    settings = {
        "extra.listeners": "SASL",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "OAUTHBEARER",
        "sasl.oauthbearer.jwks.endpoint.url": f"file://{keys}",
        "sasl.oauthbearer.jwks.endpoint.refresh.ms": "1000",
        "sasl.oauthbearer.expected.issuer": ISSUER,
        "sasl.oauthbearer.expected.audience": AUDIENCE,
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
        "group.initial.rebalance.delay.ms": "0",
    }
    broker = WorkersBroker(tmp_path_factory.mktemp("bearers"), 2, **settings)
    broker.start()
    yield broker
    assert broker.stop()[0] == 0
    assert "ended with" not in broker.process.output()


def token(kid: str = "rsa", **more: Any) -> str:
    """Return a token that is good now."""
    return signed(claims(int(time.time() * 1000), **more), kid)


def login_at(workers: WorkersBroker, number: int, user: str = "alice", **more: Any) -> dict[str, Any]:
    """Return the properties of a client that is told of one worker, and logs in by tokens for a user."""
    return {
        "bootstrap.servers": workers.at(number).bootstrap_of("SASL"),
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "oauth_cb": lambda _: (token(sub=user), time.time() + LIFETIME_MS / 1000),
        "log_level": 2,
        **more,
    }


def answer_to(workers: WorkersBroker, number: int, text: str) -> tuple[int, int]:
    """Log in at a worker with a token; return the code and the lifetime of the session."""
    client = raw_client(workers.at(number), "SASL")
    try:
        assert choose(client, "OAUTHBEARER")[0] == 0
        code, _, data, lifetime_ms = give(client, f"n,,\x01auth=Bearer {text}\x01\x01".encode())
        return (give(client, b"\x01")[0] if data else code), lifetime_ms
    finally:
        client.close()


def admin_of(workers: WorkersBroker, number: int, user: str) -> AdminClient:
    """Return an admin client that has logged in at a worker."""
    admin = AdminClient(login_at(workers, number, user))
    admin.poll(0)
    return admin


@each_worker
def test_a_client_with_tokens_works_through_any_worker_and_at_all_of_them(
    workers: WorkersBroker, topic: str, number: int
) -> None:
    allow(workers.at(1 - number), "alice", topic)
    admin = admin_of(workers, number, "alice")
    admin.create_topics([NewTopic(topic, PARTITIONS, 1)])[topic].result(60)
    producer = Producer(login_at(workers, number))
    for index in range(PARTITIONS):
        producer.produce(topic, b"%d" % index, partition=index)
    assert producer.flush(60) == 0
    group: dict[str, Any] = {"group.id": topic, "enable.auto.commit": False, "auto.offset.reset": "error"}
    consumer = Consumer(login_at(workers, 1 - number, **group))
    try:
        consumer.assign([TopicPartition(topic, index, 0) for index in range(PARTITIONS)])
        found = take(consumer, PARTITIONS)
        assert {record.value() for record in found} == {b"%d" % index for index in range(PARTITIONS)}
        places = [TopicPartition(topic, index, 1) for index in range(PARTITIONS)]
        consumer.commit(offsets=places, asynchronous=False)
        assert {place.offset for place in consumer.committed(places, 60)} == {1}
    finally:
        consumer.close()
    admin.delete_topics([topic])[topic].result(60)


@each_worker
def test_the_user_of_a_token_may_not_do_through_a_worker_what_it_may_not_do(
    workers: WorkersBroker, topic: str, number: int
) -> None:
    allow(workers, "alice", topic)
    bob = admin_of(workers, number, "bob")
    refused = refusal_of(bob.create_topics([NewTopic(topic, 1, 1)])[topic])
    assert refused == KafkaError.TOPIC_AUTHORIZATION_FAILED


@each_worker
def test_a_session_at_any_worker_ends_with_its_token(workers: WorkersBroker, number: int) -> None:
    eventually(lambda: answer_to(workers, number, token())[0] == 0, waiting_for="the keys")
    code, lifetime_ms = answer_to(workers, number, token())
    assert code == 0
    assert LIFETIME_MS - 60_000 < lifetime_ms <= LIFETIME_MS + 1_000


@each_worker
def test_bad_tokens_are_refused_by_any_worker(workers: WorkersBroker, number: int) -> None:
    bad = [token(iss="https://evil.example"), token(exp=1), token(aud="x"), token("rsa-other"), token()[:-8]]
    codes = [answer_to(workers, number, text)[0] for text in bad]
    assert codes == [ErrorCode.SASL_AUTHENTICATION_FAILED] * len(bad)


def test_new_keys_of_the_issuer_are_found_by_all_workers(workers: WorkersBroker, keys: Path) -> None:
    assert answer_to(workers, 1, token("rsa-new"))[0] == ErrorCode.SASL_AUTHENTICATION_FAILED
    keys.write_bytes(key_set("rsa", "rsa-new"))
    for number in range(2):
        eventually(
            lambda number=number: answer_to(workers, number, token("rsa-new"))[0] == 0,  # type: ignore[misc]
            waiting_for="the new key",
        )
