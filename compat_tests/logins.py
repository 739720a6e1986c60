"""Brokers with logins, for tests: the users, and the settings that let them in, the same for both brokers."""

from __future__ import annotations

from typing import Final, NamedTuple

from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from compat_tests.broker import Broker
from compat_tests.wire import RawClient
from protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from protocol.messages.sasl_handshake import SaslHandshakeRequest

MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")

USERS: Final = {"alice": 'alice\'s "secret"', "bob": "b"}

_QUOTED = {name: secret.replace('"', '\\"') for name, secret in USERS.items()}
_PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required {};".format(
    " ".join(f'user_{name}="{secret}"' for name, secret in _QUOTED.items())
)
_SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required;"


def login_settings(**listeners: str) -> dict[str, str]:
    """Return the settings of a broker whose listeners have these security protocols, and a plain one."""
    settings = {
        "extra.listeners": ",".join(listeners),
        "listener.security.protocol.map": ",".join(
            f"{name}:{protocol}" for name, protocol in {"PLAINTEXT": "PLAINTEXT", **listeners}.items()
        ),
        "sasl.enabled.mechanisms": ",".join(MECHANISMS),
    }
    for name in listeners:
        prefix = f"listener.name.{name.lower()}"
        settings[f"{prefix}.plain.sasl.jaas.config"] = _PLAIN
        for mechanism in MECHANISMS[1:]:
            settings[f"{prefix}.{mechanism.lower()}.sasl.jaas.config"] = _SCRAM
    return settings


def add_scram_users(broker: Broker) -> None:
    """Give every user a credential of both mechanisms; one request may change a user once."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
        info = ScramCredentialInfo(mechanism, 4096)
        changes = [UserScramCredentialUpsertion(name, info, USERS[name].encode()) for name in USERS]
        for future in admin.alter_user_scram_credentials(changes).values():
            future.result(timeout=60)


class Address(NamedTuple):
    """One of a broker's other listeners."""

    port: int


def raw_client(broker: Broker, listener: str) -> RawClient:
    """Connect to a listener."""
    address = broker.bootstrap if listener == "PLAINTEXT" else broker.bootstrap_of(listener)
    return RawClient(Address(int(address.rpartition(":")[2])))


def plain_token(user: str, password: str, authorized: str = "") -> bytes:
    """Return the token of PLAIN."""
    return f"{authorized}\0{user}\0{password}".encode()


def choose(client: RawClient, mechanism: str = "PLAIN", version: int = 1) -> tuple[int, list[str]]:
    """Choose a mechanism; return the error code and the mechanisms of the answer."""
    answer = client.call(SaslHandshakeRequest(mechanism=mechanism), version)
    return answer.error_code, answer.mechanisms


def give(client: RawClient, token: bytes, version: int = 2) -> tuple[int, str | None, bytes, int]:
    """Send a token; return code, message, token and lifetime of the answer."""
    answer = client.call(SaslAuthenticateRequest(auth_bytes=token), version)
    return answer.error_code, answer.error_message, bytes(answer.auth_bytes), answer.session_lifetime_ms


def log_in(client: RawClient, user: str = "alice", version: int = 2) -> int:
    """Log in by PLAIN; return the session's length."""
    assert choose(client)[0] == 0
    code, message, _, lifetime_ms = give(client, plain_token(user, USERS[user]), version)
    assert code == 0, message
    return lifetime_ms
