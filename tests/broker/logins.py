"""A whole broker with logins, and the messages of clients that log in."""

from __future__ import annotations

import hashlib
import hmac
import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from broker.connections.logins import Logins
from broker.security.sasl_oauthbearer import Validator
from protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from protocol.messages.sasl_handshake import SaslHandshakeRequest
from tests.broker.gateway import Client, Gateway

USERS = {"alice": "secret", "bob": "b"}

JAAS = "org.apache.kafka.common.security.plain.PlainLoginModule required {};".format(
    " ".join(f'user_{name}="{password}"' for name, password in USERS.items())
)

HASHES = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}


class LoginGateway(Gateway):
    """A broker whose clients come to a listener LOGIN."""

    def __init__(
        self,
        file: Callable[[], Mapping[str, str]] | None = None,
        validator: Validator | None = None,
        **settings: Any,
    ) -> None:
        """`file` returns hashed passwords, `validator` judges tokens."""
        self._file = file
        self._validator = validator
        overrides: dict[str, object] = {"listener.name.login.plain.sasl.jaas.config": JAAS}
        if file is not None:
            overrides = {"listener.name.login.kawal.sasl.plain.users": "users"}
        own = settings.pop("listener_overrides", {})
        mechanisms = ("PLAIN", *HASHES)
        if validator is not None:
            mechanisms = (*mechanisms, "OAUTHBEARER")
            settings["sasl_oauthbearer_jwks_endpoint_url"] = "https://issuer"
        super().__init__(sasl_enabled_mechanisms=mechanisms, listener_overrides=overrides | own, **settings)

    def _start(self) -> Any:
        broker = super()._start()
        file = self._file
        logins = Logins(
            broker,
            self.config,
            broker.catalogue,
            Random(2),
            lambda _path: file or dict,
            decoy_key=b"k",
            validator=lambda _settings: self._judge(),
            tokens=broker.tokens,
        )
        self._begin = logins.beginner("LOGIN")
        return broker

    def _judge(self) -> Validator:
        assert self._validator is not None
        return self._validator

    def login_client(self, host: str = "10.0.0.9") -> Client:
        """Open a connection that has to log in."""
        client = self.client(host)
        client.connection.ready_by_ms = self.now_ms + 10_000
        self._begin(client.connection)
        return client


def plain_token(user: str = "alice", password: str = "secret", authorized: str = "") -> bytes:
    return f"{authorized}\0{user}\0{password}".encode()


def choose(client: Client, mechanism: str = "PLAIN", version: int = 1) -> int:
    """Choose a mechanism; return the error code."""
    code: int = client.call(SaslHandshakeRequest(mechanism=mechanism), version).error_code
    return code


def give(client: Client, token: bytes, version: int = 2) -> Any:
    """Send a token; return the answer, at once or after the delay."""
    client.send(SaslAuthenticateRequest(auth_bytes=token), version)
    client.gateway.settle()
    answers = client.answers()
    if not answers:
        client.gateway.advance(100)
        answers = client.answers()
    return answers[0]


def log_in(client: Client, token: bytes | None = None) -> Any:
    """Log in by PLAIN; return the answer."""
    assert choose(client) == 0
    return give(client, plain_token() if token is None else token)


class ScramClient:
    """The client's side of SCRAM (RFC 5802)."""

    def __init__(
        self, mechanism: str, user: str, password: str, nonce: str = "client", extensions: str = ""
    ) -> None:
        self._hash = HASHES[mechanism]
        self._password = password.encode()
        self.bare = f"n={user},r={nonce}{extensions}"
        self.first = f"n,,{self.bare}".encode()
        self.signature = b""

    def final(self, server_first: bytes, *, binding: str = "biws", nonce: str | None = None) -> bytes:
        """Return the final message."""
        found = re.fullmatch(r"r=([^,]+),s=([^,]+),i=(\d+)", server_first.decode())
        assert found is not None
        salted = hashlib.pbkdf2_hmac(self._hash, self._password, b64decode(found[2]), int(found[3]))
        client_key = hmac.digest(salted, b"Client Key", self._hash)
        bare = f"c={binding},r={nonce or found[1]}"
        messages = f"{self.bare},{server_first.decode()},{bare}".encode()
        stored = hashlib.new(self._hash, client_key).digest()
        signed = hmac.digest(stored, messages, self._hash)
        proof = bytes(a ^ b for a, b in zip(client_key, signed, strict=True))
        server_key = hmac.digest(salted, b"Server Key", self._hash)
        self.signature = b"v=" + b64encode(hmac.digest(server_key, messages, self._hash))
        return f"{bare},p={b64encode(proof).decode()}".encode()
