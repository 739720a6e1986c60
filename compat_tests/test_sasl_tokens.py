"""Clients with tokens: their issuer's keys come over HTTP, change, and are away for a while."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient

from compat_tests.broker import Broker
from compat_tests.conftest import StartBroker
from compat_tests.logins import choose, give, raw_client
from compat_tests.waiting import eventually
from protocol.error_codes import ErrorCode
from tests.broker.tokens import AUDIENCE, ISSUER, claims, key_set, signed

pytestmark = pytest.mark.only_kawal(reason="Apache Kafka takes addresses of keys from a property of Java")


class Issuer:
    """A server of keys on this machine."""

    def __init__(self) -> None:
        self.answer: bytes | None = key_set("rsa")
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                if issuer.answer is None or self.path != "/keys":
                    self.send_response(302)
                    self.send_header("Location", "/keys")
                    self.end_headers()
                    return
                self.send_response(200)
                self.end_headers()
                self.wfile.write(issuer.answer)

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/keys"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    made = Issuer()
    yield made
    made.close()


@pytest.fixture
def broker(start_broker: StartBroker, issuer: Issuer) -> Broker:
    return start_broker(
        **{
            "extra.listeners": "SASL",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT",
            "sasl.enabled.mechanisms": "OAUTHBEARER",
            "sasl.oauthbearer.jwks.endpoint.url": issuer.url,
            "sasl.oauthbearer.jwks.endpoint.refresh.ms": "1000",
            "sasl.oauthbearer.expected.issuer": ISSUER,
            "sasl.oauthbearer.expected.audience": AUDIENCE,
        }
    )


def token(kid: str = "rsa", **more: Any) -> str:
    return signed(claims(int(time.time() * 1000), **more), kid)


def answer_to(broker: Broker, text: str) -> tuple[int, bytes, int]:
    """Log in with a token; return code, token and lifetime of the last answer."""
    client = raw_client(broker, "SASL")
    try:
        assert choose(client, "OAUTHBEARER")[0] == 0
        code, _, data, lifetime_ms = give(client, f"n,,\x01auth=Bearer {text}\x01\x01".encode())
        if data:
            code = give(client, b"\x01")[0]
        return code, data, lifetime_ms
    finally:
        client.close()


def is_let_in(broker: Broker, text: str) -> bool:
    return answer_to(broker, text)[0] == 0


def test_librdkafka_logs_in_with_a_token(broker: Broker) -> None:
    settings: dict[str, Any] = {
        "bootstrap.servers": broker.bootstrap_of("SASL"),
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "oauth_cb": lambda _: (token(), time.time() + 300),
    }
    eventually(lambda: is_let_in(broker, token()), waiting_for="the keys")
    admin = AdminClient(settings)
    admin.poll(0)
    assert admin.list_topics(timeout=60).brokers


def test_a_session_ends_with_its_token(broker: Broker) -> None:
    eventually(lambda: is_let_in(broker, token()), waiting_for="the keys")
    code, data, lifetime_ms = answer_to(broker, token())
    assert (code, data) == (0, b"")
    assert 290_000 < lifetime_ms <= 301_000


def test_bad_tokens_are_told_and_never_logged(broker: Broker) -> None:
    eventually(lambda: is_let_in(broker, token()), waiting_for="the keys")
    bad = [token(iss="https://evil.example"), token(exp=1), token(aud="x"), token("rsa-other"), token()[:-8]]
    for text in bad:
        code, data, _ = answer_to(broker, text)
        assert (code, data) == (ErrorCode.SASL_AUTHENTICATION_FAILED, b'{"status":"invalid_token"}')
    output = broker.process.output()
    assert "invalid" in output or "token" in output
    assert not any(text.split(".")[1] in output for text in bad)


def test_new_keys_are_found_and_old_ones_serve_while_the_issuer_is_away(
    broker: Broker, issuer: Issuer
) -> None:
    eventually(lambda: is_let_in(broker, token()), waiting_for="the keys")
    issuer.answer = None
    eventually(
        lambda: is_let_in(broker, token()) and "those in use were kept" in broker.process.output(),
        waiting_for="a failure to read the keys",
    )
    issuer.answer = key_set("rsa-new")
    eventually(lambda: is_let_in(broker, token("rsa-new")), waiting_for="the new key")
    assert not is_let_in(broker, token())
