"""TLS over a pair of sockets: handshakes, records, bytes that wait inside OpenSSL, refused clients."""

import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from broker.config.config import config_of
from broker.security.audit_trail import Batch, Done
from broker.server.audit_setup import make_trail
from broker.server.tls import make_tls, settings_of
from broker.server.tls_transport import CHUNK_BYTES, HandshakeRefused, TlsTransport
from protocol.framing import RequestReader
from tests.broker.gateway import Gateway
from tests.broker.server.pems import (
    CA,
    CLIENT,
    CLIENT_KEY,
    SERVER,
    SERVER_KEY,
    SERVERS_ONLY,
    SERVERS_ONLY_KEY,
)
from tests.broker.server.ranges import FakeFile, file_range, put

MakePair = Callable[..., "Pair"]


class Pair:
    """A transport and its client, which speaks by an SSLObject, or in clear text."""

    def __init__(self, **settings: Any) -> None:
        values = {f"ssl.{name.replace('_', '.')}": value for name, value in settings.items()}
        texts = {"ssl.keystore.key": SERVER_KEY, "ssl.keystore.certificate.chain": SERVER}
        config = config_of({"listeners": "SSL://127.0.0.1:0"} | texts | values)
        self.gateway = Gateway()
        ours, self.socket = socket.socketpair()
        ours.setblocking(False)
        self.socket.setblocking(False)
        self.transport = TlsTransport(
            ours, self.gateway.client().connection, host="a", tls=make_tls(settings_of(config)["SSL"])
        )
        self.transport.connection.ready_by_ms = 10
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()

    def client(self, pem: str = "", **limits: Any) -> ssl.SSLObject:
        context = ssl.create_default_context(cadata=CA)
        for name, value in limits.items():
            setattr(context, name, value)
        if pem:
            from broker.server.tls import _memory_file

            with _memory_file(pem) as path:
                context.load_cert_chain(path)
        return context.wrap_bio(self.incoming, self.outgoing, server_hostname="localhost")

    def exchange(self) -> None:
        """Carry the client's bytes to the server's socket, and what is there back."""
        if self.outgoing.pending:
            self.socket.sendall(self.outgoing.read())
        try:
            self.incoming.write(self.socket.recv(1 << 20))
        except BlockingIOError:
            return

    def shake_hands(self, client: ssl.SSLObject) -> int:
        """Carry on until both are done; return how often the server was served."""
        for step in range(1, 10):
            with suppress(ssl.SSLWantReadError):
                client.do_handshake()
            self.exchange()
            assert self.transport.receive() == -1
            self.exchange()
            if self.transport.connection.ready_by_ms is None:
                return step
        raise AssertionError("no end of the handshake")

    def close(self) -> None:
        self.transport.close(reset=False)
        self.socket.close()


@pytest.fixture
def pair() -> Iterator[MakePair]:
    made: list[Pair] = []

    def make(**settings: Any) -> Pair:
        made.append(Pair(**settings))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_handshake_waits_its_turn_with_other_new_clients(pair: MakePair, version: ssl.TLSVersion) -> None:
    here = pair()
    client = here.client(maximum_version=version)
    here.transport.new = False
    assert here.transport.receive() == -1
    assert not here.transport.new
    client_done = here.shake_hands(client)
    assert client_done == 2
    assert not here.transport.new
    assert here.transport.connection.principal == "User:ANONYMOUS"


def test_a_half_finished_handshake_counts_as_new(pair: MakePair) -> None:
    here = pair()
    client = here.client()
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    here.exchange()
    here.transport.new = False
    assert here.transport.receive() == -1
    assert here.transport.new
    assert here.transport.connection.ready_by_ms == 10


def test_the_principal_is_the_certificate_s_name_by_the_rules(pair: MakePair) -> None:
    trusted = {"client_auth": "required", "truststore_certificates": CA}
    here = pair(**trusted)
    here.shake_hands(here.client(CLIENT_KEY + CLIENT))
    assert here.transport.connection.principal == "User:CN=Dave,OU=dev,O=lab"
    mapped = pair(**trusted, principal_mapping_rules="RULE:^CN=(.*?),.*$/$1/L")
    mapped.shake_hands(mapped.client(CLIENT_KEY + CLIENT))
    assert mapped.transport.connection.principal == "User:dave"


def test_only_a_client_with_a_certificate_has_logged_in_for_the_audit_log(pair: MakePair) -> None:
    told: list[tuple[str, str]] = []

    def write(batch: Batch, done: Done) -> None:
        told.extend((event["event"], event["user"]) for event in batch.events)
        done(None)

    for pem in ("", CLIENT_KEY + CLIENT):
        here = pair(client_auth="requested", truststore_certificates=CA)
        make_trail(here.gateway.broker, here.gateway.config, write)
        here.shake_hands(here.client(pem))
    assert told == [("login.ok", "User:CN=Dave,OU=dev,O=lab")]


def test_a_certificate_that_cannot_be_told_is_refused_where_that_is_asked_for(pair: MakePair) -> None:
    here = pair(client_auth="required", truststore_certificates=CA)
    config = replace(here.gateway.config, kawal_audit_when_full="refuse")
    trail = make_trail(here.gateway.broker, config, lambda _batch, done: done("no room"))
    trail.record("something")
    with pytest.raises(HandshakeRefused, match="the audit log cannot be written: no room"):
        here.shake_hands(here.client(CLIENT_KEY + CLIENT))


def test_a_certificate_that_no_rule_matches_ends_the_connection(pair: MakePair) -> None:
    here = pair(client_auth="required", truststore_certificates=CA, principal_mapping_rules="RULE:^CN=x$/x/")
    with pytest.raises(HandshakeRefused, match=r"no rule of ssl\.principal"):
        here.shake_hands(here.client(CLIENT_KEY + CLIENT))


def test_a_client_without_the_certificate_it_needs_is_refused(
    pair: MakePair, caplog: pytest.LogCaptureFixture
) -> None:
    here = pair(client_auth="required", truststore_certificates=CA)
    with pytest.raises(HandshakeRefused, match="did not return a certificate"):
        here.shake_hands(here.client())
    assert "refused a client" in caplog.text
    assert here.transport.connection.stats.logins.handshakes == {("", "failed"): 1}
    asked = pair(client_auth="requested", truststore_certificates=CA)
    asked.shake_hands(asked.client())
    assert asked.transport.connection.principal == "User:ANONYMOUS"
    assert asked.transport.connection.stats.logins.handshakes == {("", "ok"): 1}


def test_a_certificate_that_was_made_for_servers_lets_no_client_in(pair: MakePair) -> None:
    here = pair(client_auth="required", truststore_certificates=SERVERS_ONLY)
    with pytest.raises(HandshakeRefused, match="certificate verify failed"):
        here.shake_hands(here.client(SERVERS_ONLY_KEY + SERVERS_ONLY))


@pytest.mark.parametrize("first", [b"\0\0\0\x0a\0\x12", b"GET / HTTP/1.1", b"\x16garbage that is no record"])
def test_other_bytes_end_the_connection(pair: MakePair, first: bytes) -> None:
    here = pair()
    here.socket.sendall(first)
    with pytest.raises(HandshakeRefused, match=r"does not speak TLS|handshake failed"):
        here.transport.receive()


def test_a_client_that_has_left_before_its_first_byte_costs_nothing(pair: MakePair) -> None:
    here = pair()
    here.socket.close()
    with pytest.raises(OSError, match="closed"):
        here.transport.receive()
    assert here.transport._secure is None


def open_pair(make: MakePair) -> tuple[Pair, ssl.SSLObject]:
    here = make()
    client = here.client()
    here.shake_hands(client)
    return here, client


def waits_inside(here: Pair) -> bool:
    return here.transport.buffered


def test_requests_arrive_whole_and_what_waits_inside_is_told(
    pair: MakePair, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, client = open_pair(pair)
    client.write(b"x" * 16_000)
    here.exchange()
    assert not waits_inside(here)
    small = memoryview(bytearray(100))
    monkeypatch.setattr(RequestReader, "wanted_buffer", lambda _: small)
    assert here.transport.receive() == 100
    assert waits_inside(here)
    for _ in range(159):
        assert here.transport.receive() == 100
    assert not waits_inside(here)
    assert here.transport.receive() == -1


def read_all(here: Pair, client: ssl.SSLObject) -> bytes:
    found = bytearray()
    for turn in range(10_000):
        here.transport.send(turn)
        here.exchange()
        while True:
            try:
                found += client.read(1 << 20)
            except ssl.SSLWantReadError:
                break
        if not here.transport.blocked and not here.transport.connection.outgoing:
            return bytes(found)
    raise AssertionError("no end")


def test_answers_of_every_size_arrive_though_the_socket_takes_little(pair: MakePair) -> None:
    here, client = open_pair(pair)
    here.transport.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    parts = [b"a", b"b" * 100, b"c" * (CHUNK_BYTES - 50), b"d" * (3 * CHUNK_BYTES + 7), b"e" * 5000, b"f"]
    put(here.transport, *parts)
    assert read_all(here, client) == b"".join(parts)
    assert here.transport.connection.outgoing_bytes == 0


def test_a_file_range_is_encrypted_never_sent_from_the_file(
    pair: MakePair, monkeypatch: pytest.MonkeyPatch
) -> None:
    def send(*_: Any) -> int:
        raise AssertionError("sendfile writes clear text into the stream")

    monkeypatch.setattr("broker.server.transport.os.sendfile", send)
    here, client = open_pair(pair)
    data = bytes(range(256)) * 1000
    put(here.transport, b"head", file_range(FakeFile(data), 3, len(data) - 3), b"tail")
    assert read_all(here, client) == b"head" + data[3:] + b"tail"


def test_a_cold_range_is_left_to_a_thread(pair: MakePair) -> None:
    here, _client = open_pair(pair)
    put(here.transport, file_range(FakeFile(b"x" * 10, cold=True), 0, 10, maybe_cold=True))
    here.transport.send(0)
    assert here.transport.blocked
    assert here.transport.connection.outgoing_bytes == 10


def test_a_client_learns_the_end_of_the_stream(pair: MakePair) -> None:
    here, client = open_pair(pair)
    here.transport.close(reset=False)
    here.exchange()
    assert client.read(10) == b"", "without close_notify it would still want to read"


def test_the_end_of_a_client_is_the_end_of_the_stream(pair: MakePair) -> None:
    here, _client = open_pair(pair)
    here.socket.close()
    assert here.transport.receive() == 0
