"""First bytes of another protocol, on each kind of listener: the connection ends unanswered, as on Kafka."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from compat_tests.broker import API_VERSIONS_REQUEST, HOST, Broker, Kind, answers_api_versions
from compat_tests.certificates import make_certificates
from compat_tests.conftest import running_broker
from compat_tests.logins import login_settings
from compat_tests.overload.strangers import HTTP, SSH, hello

LISTENERS = {"SASL": "SASL_PLAINTEXT", "TLS": "SSL", "SECURE": "SASL_SSL"}
WITH_TLS = ("TLS", "SECURE")

ALERT = 0x15
"""The type of a TLS record that tells an error."""

CASES = [
    *((listener, name) for listener in ("PLAINTEXT", "SASL") for name in ("tls", "http", "ssh", "ones")),
    *((listener, name) for listener in WITH_TLS for name in ("kafka", "http", "ssh", "zeros", "ones")),
]

BYTES = {
    "tls": hello(),
    "kafka": API_VERSIONS_REQUEST,
    "http": HTTP,
    "ssh": SSH,
    "zeros": bytes(64),
    "ones": b"\xff" * 64,
}


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory, broker_kind: Kind) -> Iterator[Broker]:
    """Start a broker with a listener of each kind."""
    directory = tmp_path_factory.mktemp("first-bytes")
    certificates = make_certificates(directory / "certificates")
    settings = login_settings(**LISTENERS)
    settings |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(certificates.server)}
    with running_broker(broker_kind, directory, settings) as started:
        yield started


@pytest.mark.parametrize(("listener", "first"), CASES)
def test_other_first_bytes_end_the_connection_unanswered(broker: Broker, listener: str, first: str) -> None:
    port = broker.port if listener == "PLAINTEXT" else broker.other_ports[listener]
    with socket.create_connection((HOST, port), timeout=60) as client:
        client.sendall(BYTES[first])
        told = b""
        try:
            while part := client.recv(4096):
                told += part
        except ConnectionResetError:
            pass
    if listener in WITH_TLS:
        assert not told or told[0] == ALERT, told
    else:
        assert told == b""
    assert answers_api_versions(broker.port)
