"""Encryption of connections, over a pair of sockets, and refusals as sentences."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from console.errors import CommandError, NotTls
from console.secure_connection import Refused, check_alert, context_of, encrypted
from console.security import Security
from tests.broker.server.pems import CA, CLIENT, CLIENT_KEY, ENCRYPTED_KEY, SERVER, SERVER_KEY


@pytest.fixture
def served(tmp_path: Path) -> Callable[..., socket.socket]:
    """Return a function that starts a server on one end of a pair and returns the other end."""
    file = tmp_path / "server.pem"
    file.write_text(SERVER_KEY + SERVER)

    def serve(answer: bytes | None = None) -> socket.socket:
        ours, theirs = socket.socketpair()
        ours.settimeout(30)

        def work() -> None:
            with theirs:
                if answer is not None:
                    theirs.recv(1 << 16)
                    theirs.sendall(answer)
                    return
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                context.load_cert_chain(file)
                try:
                    with context.wrap_socket(theirs, server_side=True) as connection:
                        connection.sendall(connection.recv(100))
                except ssl.SSLError:
                    return

        Thread(target=work, daemon=True).start()
        return ours

    return serve


def test_what_is_sent_is_encrypted(served: Callable[..., socket.socket]) -> None:
    with encrypted(served(), "localhost", Security("SSL", ca_text=CA), "h:1") as connection:
        connection.sendall(b"hello")
        assert connection.recv(100) == b"hello"


def test_a_server_of_an_unknown_authority_is_refused(served: Callable[..., socket.socket]) -> None:
    with pytest.raises(
        Refused, match=r"certificate of h:1 is not accepted: .*; name the authority .* with ssl"
    ):
        encrypted(served(), "localhost", Security("SSL"), "h:1")


def test_a_certificate_for_another_host_is_refused_unless_any_will_do(
    served: Callable[..., socket.socket],
) -> None:
    security = Security("SSL", ca_text=CA)
    with pytest.raises(Refused, match=r"ostname mismatch, .*; connect by a name that it has, or accept any"):
        encrypted(served(), "other.example", security, "h:1")
    encrypted(served(), "other.example", Security("SSL", ca_text=CA, checks_host=False), "h:1").close()


@pytest.mark.parametrize("answer", [b"", b"220 mail ready\r\n"])
def test_a_server_without_tls_is_told(answer: bytes, served: Callable[..., socket.socket]) -> None:
    with pytest.raises(NotTls, match=r"security\.protocol=SASL_SSL asks for; set SASL_PLAINTEXT, or give"):
        encrypted(served(answer), "localhost", Security("SASL_SSL", ca_text=CA), "h:1")


def test_an_alert_about_the_client_s_certificate_has_its_cure() -> None:
    without, certain = Security("SSL"), Security("SSL", certificate="/me.pem")
    error = ssl.SSLError(1, "alert")
    for error.reason in ("TLSV13_ALERT_CERTIFICATE_REQUIRED", "SSLV3_ALERT_BAD_CERTIFICATE"):
        with pytest.raises(Refused, match=r"h:1: it wants a certificate of the client; set ssl\.certificate"):
            check_alert(error, without, "h:1")
    with pytest.raises(Refused, match="h:1: it refuses the client's certificate; set"):
        check_alert(error, certain, "h:1")
    check_alert(ConnectionResetError(), without, "h:1")


def test_a_certificate_of_the_client_is_loaded_from_files_and_text(tmp_path: Path) -> None:
    (tmp_path / "both.pem").write_text(f"# Jürgen's\n{CLIENT_KEY}{CLIENT}")
    (tmp_path / "key.pem").write_text(CLIENT_KEY)
    (tmp_path / "ca.pem").write_text(CA)
    context_of(Security("SSL", certificate=str(tmp_path / "both.pem"), ca=str(tmp_path / "ca.pem")))
    context_of(Security("SSL", certificate=str(tmp_path / "both.pem"), key=str(tmp_path / "key.pem")))
    context_of(Security("SSL", chain_text=CLIENT.replace("\n", " "), key_text=CLIENT_KEY.replace("\n", " ")))
    context_of(Security("SSL", chain_text=SERVER, key_text=ENCRYPTED_KEY, key_password="secret"))


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (
            {"ca": "/nowhere/ca.pem"},
            r"cannot read /nowhere/ca\.pem, which ssl\.truststore\.location names: No",
        ),
        ({"ca": "/bin/sh"}, r"/bin/sh, which ssl\.truststore\.location names, is not PEM; convert a store"),
        ({"ca_text": "x"}, r"ssl\.truststore\.certificates has no certificates of authorities in PEM"),
        ({"chain_text": CLIENT}, r"no private key in ssl\.keystore\.certificate\.chain; name its file with"),
        ({"chain_text": CLIENT, "key_text": SERVER_KEY}, "cannot be used as certificate and key.*mismatch"),
        ({"chain_text": SERVER, "key_text": ENCRYPTED_KEY}, r"is encrypted; add ssl\.key\.password"),
        (
            {"chain_text": SERVER, "key_text": ENCRYPTED_KEY, "key_password": "canary"},
            r"cannot be used .*; look at ssl\.key\.password",
        ),
    ],
)
def test_files_that_cannot_be_used_are_one_sentence(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(CommandError, match=sentence) as refused:
        context_of(Security("SSL", **settings))
    assert "canary" not in str(refused.value)
