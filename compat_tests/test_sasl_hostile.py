"""Logins that are never finished, and wrong passwords: others are let in and served meanwhile."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from broker.security.plain_passwords import hashed_password
from compat_tests.broker import HOST, Broker
from compat_tests.conftest import StartBroker
from compat_tests.logins import choose, give, plain_token, raw_client
from compat_tests.wire import RawClient
from protocol.error_codes import ErrorCode
from protocol.messages.metadata import MetadataRequest

pytestmark = pytest.mark.only_kawal(reason="the limits, the file of users and the log are its own")

SECRET = "canary-of-alice"

WRONG_CLIENTS = 20

PATIENCE_SECONDS = 3
"""A hash takes 0.05 s, on a busy machine several times that; half of the logins may meet a pause of it."""


@pytest.fixture
def broker(start_broker: StartBroker, tmp_path: Path) -> Broker:
    """Start a broker whose users have hashed passwords."""
    users = tmp_path / "users"
    users.write_text(f"alice:{hashed_password(SECRET, bytes(16))}\n")
    return start_broker(
        **{
            "extra.listeners": "SASL",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT",
            "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
            "kawal.sasl.plain.users": str(users),
            "connection.failed.authentication.delay.ms": "10",
        }
    )


def log_in(client: RawClient, password: str) -> int:
    assert choose(client)[0] == 0
    code: int = give(client, plain_token("alice", password))[0]
    return code


def client_from(address: str, broker: Broker) -> RawClient:
    """Connect from another of this machine's addresses."""
    client = raw_client(broker, "SASL")
    client.socket.close()
    port = int(broker.bootstrap_of("SASL").rpartition(":")[2])
    client.socket = socket.create_connection((HOST, port), timeout=60, source_address=(address, 0))
    return client


@contextmanager
def wrong_logins(broker: Broker) -> Iterator[list[int]]:
    """Try wrong passwords, each a new one, for the length of a block; yield the codes of the answers."""
    codes: list[int] = []
    over = threading.Event()

    def attack(number: int) -> None:
        for attempt in range(10_000):
            if over.is_set():
                return
            client = raw_client(broker, "SASL")
            codes.append(log_in(client, f"canary-{number}-{attempt}"))
            client.close()

    threads = [threading.Thread(target=attack, args=(number,)) for number in range(WRONG_CLIENTS)]
    for thread in threads:
        thread.start()
    yield codes
    over.set()
    for thread in threads:
        thread.join()


def test_a_good_client_is_let_in_and_served_beside_wrong_passwords(broker: Broker) -> None:
    with wrong_logins(broker) as codes:
        took = []
        for attempt in range(10):
            began = time.monotonic()
            client = client_from(f"127.0.0.{2 + attempt}", broker)
            assert log_in(client, SECRET) == 0
            assert client.call(MetadataRequest(topics=[]), 12).brokers
            client.close()
            took.append(time.monotonic() - began)
    assert sorted(took)[5] < PATIENCE_SECONDS, took
    assert set(codes) == {ErrorCode.SASL_AUTHENTICATION_FAILED}
    output = broker.process.output()
    assert "refused a client" in output
    assert "canary" not in output


def test_half_finished_logins_by_the_hundred_keep_no_other_out(broker: Broker) -> None:
    half = [raw_client(broker, "SASL") for _ in range(300)]
    for number, client in enumerate(half):
        if number % 3:
            choose(client, "PLAIN" if number % 2 else "SCRAM-SHA-256")
        if number % 3 == 2:
            client.socket.sendall(b"\0\0\1\0\0")
    good = raw_client(broker, "SASL")
    assert log_in(good, SECRET) == 0
    assert good.call(MetadataRequest(topics=[]), 12).brokers
    for client in (*half, good):
        client.close()


def test_no_secret_is_in_the_arguments_of_the_process(broker: Broker) -> None:
    arguments = Path(f"/proc/{broker.process.pid}/cmdline").read_bytes()
    assert b"canary" not in arguments
    assert b"scrypt" not in arguments
