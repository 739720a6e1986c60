"""A listener's key and certificate, changed by clients while the broker runs; the same on Apache Kafka."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from compat_tests.broker import Broker, Kind
from compat_tests.certificates import Certificates, make_certificates, sign_server
from compat_tests.configs import BROKER, DELETE, EVERY_NODE, SET, Told, incremental
from compat_tests.conftest import running_broker
from compat_tests.waiting import eventually
from compat_tests.wire import RawClient
from protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource

INVALID_REQUEST: Final = 42
ALL_NAMES: Final = "DNS:localhost,IP:127.0.0.1"
FILE, TEXT = "listener.name.file.ssl.", "listener.name.text.ssl."


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """Make the certificates with which the broker starts."""
    return make_certificates(tmp_path_factory.mktemp("certificates"))


def halves(path: Path) -> tuple[str, str]:
    """Return key and certificate of a file."""
    text = path.read_text()
    start = text.index("-----BEGIN CERTIFICATE")
    return text[:start], text[start:]


@pytest.fixture
def broker(tmp_path: Path, broker_kind: Kind, made: Certificates) -> Iterator[Broker]:
    """Start a broker with a listener that reads a file, and one with key and certificate as text."""
    key, chain = (part.replace("\n", " ") for part in halves(made.server))
    settings = {
        "extra.listeners": "FILE,TEXT",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,FILE:SSL,TEXT:SSL",
        f"{FILE}keystore.type": "PEM",
        f"{FILE}keystore.location": str(made.server),
        f"{TEXT}keystore.type": "PEM",
        f"{TEXT}keystore.key": key,
        f"{TEXT}keystore.certificate.chain": chain,
    }
    with running_broker(broker_kind, tmp_path / "broker", settings) as started:
        yield started


def served(broker: Broker, listener: str) -> str:
    """Return the certificate that a new connection gets."""
    host, _, port = broker.bootstrap_of(listener).rpartition(":")
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with context.wrap_socket(socket.create_connection((host, int(port)), timeout=60)) as client:
        der = client.getpeercert(binary_form=True)
    assert der is not None
    return ssl.DER_cert_to_PEM_cert(der)


def comes(broker: Broker, listener: str, path: Path) -> None:
    """Wait until new connections get the certificate of this file; Kafka takes some milliseconds."""
    eventually(
        lambda: served(broker, listener) == halves(path)[1],
        waiting_for=f"the certificate of {path.name} on {listener}",
    )


def alter(broker: Broker, *lines: tuple[str, int, str | None], node: str = "1", dry: bool = False) -> Told:
    """Alter the node, or every node."""
    raw = RawClient(broker)
    (told,) = incremental(raw, (BROKER, node, list(lines)), validate_only=dry)
    raw.close()
    return told


def texts_of(path: Path, prefix: str = TEXT) -> list[tuple[str, int, str | None]]:
    key, chain = halves(path)
    return [(f"{prefix}keystore.key", SET, key), (f"{prefix}keystore.certificate.chain", SET, chain)]


def test_a_new_file_and_new_texts_are_served_at_once_connections_stay_and_a_restart_keeps_them(
    broker: Broker, made: Certificates
) -> None:
    renewed = sign_server(made, "renewed", names=ALL_NAMES)
    host, _, port = broker.bootstrap_of("FILE").rpartition(":")
    trusting = ssl.create_default_context(cafile=str(made.authority))
    with trusting.wrap_socket(
        socket.create_connection((host, int(port)), timeout=60), server_hostname="localhost"
    ) as kept:
        assert alter(broker, (f"{FILE}keystore.location", SET, str(renewed))) == (0, None)
        assert alter(broker, *texts_of(renewed)) == (0, None)
        comes(broker, "FILE", renewed)
        comes(broker, "TEXT", renewed)
        kept.sendall(bytes.fromhex("0000000a 0012 0000 00000001 ffff"))
        assert kept.recv(4)
    broker.kill()
    broker.restart()
    comes(broker, "FILE", renewed)
    comes(broker, "TEXT", renewed)
    lines = [(name, DELETE, None) for name, _, _ in texts_of(renewed)]
    assert alter(broker, *lines) == (0, None)
    comes(broker, "TEXT", made.server)


def test_the_same_path_is_read_again(broker: Broker, made: Certificates, tmp_path: Path) -> None:
    path = tmp_path / "one.pem"
    path.write_bytes(made.server.read_bytes())
    assert alter(broker, (f"{FILE}keystore.location", SET, str(path))) == (0, None)
    path.write_bytes(sign_server(made, "again", names=ALL_NAMES).read_bytes())
    assert alter(broker, (f"{FILE}keystore.location", SET, str(path))) == (0, None)
    comes(broker, "FILE", path)


def test_what_cannot_be_served_is_refused_and_the_old_certificate_stays(
    broker: Broker, made: Certificates, tmp_path: Path
) -> None:
    fewer = sign_server(made, "fewer", names="DNS:localhost")
    elsewhere = sign_server(made, "elsewhere", subject="/O=lab/CN=elsewhere", names=ALL_NAMES)
    broken = tmp_path / "broken.pem"
    broken.write_text("no certificate at all")
    for lines in (
        [(f"{FILE}keystore.location", SET, str(fewer))],
        [(f"{FILE}keystore.location", SET, str(elsewhere))],
        [(f"{FILE}keystore.location", SET, str(broken))],
        [(f"{FILE}keystore.location", SET, str(tmp_path / "nothing.pem"))],
        [(f"{FILE}keystore.location", SET, "")],
        [(f"{FILE}keystore.type", SET, "JKS")],
        texts_of(fewer),
        [(name, SET, "canary") for name, _, _ in texts_of(fewer)],
        texts_of(made.server, FILE),
        [(f"{TEXT}keystore.location", SET, str(made.server))],
        [(f"{FILE}truststore.location", SET, str(broken))],
        [(f"{FILE}client.auth", SET, "sometimes")],
    ):
        for dry in (True, False):
            code, message = alter(broker, *lines, dry=dry)
            assert code == INVALID_REQUEST, (lines, message)
            assert "canary" not in str(message)
            assert "PRIVATE KEY" not in str(message)
    comes(broker, "FILE", made.server)
    comes(broker, "TEXT", made.server)


@pytest.mark.parametrize(
    ("node", "name", "message"),
    [
        (
            EVERY_NODE,
            f"{FILE}keystore.location",
            "Cannot update these configs at default cluster level, broker id must be specified:"
            f" [{FILE}keystore.location]",
        ),
        *(
            (
                node,
                "ssl.keystore.location",
                "These security configs can be dynamically updated only per-listener using the listener"
                " prefix: [ssl.keystore.location]",
            )
            for node in ("1", EVERY_NODE)
        ),
        ("1", "ssl.allow.dn.changes", "Cannot update these configs dynamically: [ssl.allow.dn.changes]"),
    ],
)
def test_certificates_are_set_for_one_listener_of_one_node(
    broker: Broker, made: Certificates, node: str, name: str, message: str
) -> None:
    assert alter(broker, (name, SET, str(made.server)), node=node) == (INVALID_REQUEST, message)


@pytest.mark.differs(reason="Apache Kafka takes a key that does not match, and no client connects any more")
def test_a_key_of_another_certificate_is_refused(
    broker: Broker, made: Certificates, broker_kind: Kind
) -> None:
    renewed = sign_server(made, "renewed", names=ALL_NAMES)
    (key, _), (_, chain) = halves(made.server), halves(renewed)
    lines = [(f"{TEXT}keystore.key", SET, key), (f"{TEXT}keystore.certificate.chain", SET, chain)]
    code, _ = alter(broker, *lines)
    if broker_kind == "kawal":
        assert code == INVALID_REQUEST
        comes(broker, "TEXT", made.server)
        return
    assert code == 0

    def refused() -> bool:
        try:
            served(broker, "TEXT")
        except ssl.SSLError:
            return True
        return False

    eventually(refused, waiting_for="the wrong key")


def test_no_key_is_answered(broker: Broker, made: Certificates) -> None:
    assert alter(broker, *texts_of(sign_server(made, "renewed", names=ALL_NAMES))) == (0, None)
    raw = RawClient(broker)
    for named in (None, [f"{TEXT}keystore.key", f"{TEXT}keystore.certificate.chain"]):
        resource = DescribeConfigsResource(resource_type=BROKER, resource_name="1", configuration_keys=named)
        (told,) = raw.call(DescribeConfigsRequest(resources=[resource], include_synonyms=True), 4).results
        found = {config.name: config for config in told.configs}
        for name, _, _ in texts_of(made.server):
            config = found[name]
            assert (config.value, config.is_sensitive, config.config_source) == (None, True, 2)
            assert {synonym.value for synonym in config.synonyms} == {None}
        assert "PRIVATE KEY" not in repr(told)
    raw.close()
