"""The login of a connection: what passes, what ends it, and what it costs others."""

from __future__ import annotations

import struct
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker.connections.connection import ANONYMOUS
from broker.loop.stats import Cause
from broker.security.node_greeting import NONCE_BYTES, Greeter, Hello, proof_of_asking
from protocol.error_codes import ErrorCode
from protocol.messages.api_versions import ApiVersionsRequest
from protocol.messages.kawal_greet import KawalGreetRequest
from protocol.messages.metadata import MetadataRequest
from protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from protocol.messages.sasl_handshake import SaslHandshakeRequest
from tests.broker.gateway import Client, request_frame, take_outgoing
from tests.broker.logins import LoginGateway, choose, log_in, plain_token

FAILED, ILLEGAL = ErrorCode.SASL_AUTHENTICATION_FAILED, ErrorCode.ILLEGAL_SASL_STATE
VERSIONS = ApiVersionsRequest(client_software_name="x", client_software_version="1")
METADATA = MetadataRequest(topics=[])
SECRET = b"0123456789abcdef"


@pytest.fixture
def gateway() -> LoginGateway:
    return LoginGateway()


def send_raw(client: Client, token: bytes) -> bytes:
    """Send a bare token; return what comes back, with its length."""
    client.send_bytes(struct.pack(">i", len(token)) + token)
    client.gateway.settle()
    return take_outgoing(client.connection)


def is_closed(client: Client) -> bool:
    return client.connection.close_reason is not None


def test_a_login_gives_the_connection_its_principal(gateway: LoginGateway) -> None:
    client = gateway.login_client()
    assert client.connection.principal == ANONYMOUS
    assert client.call(VERSIONS, 3).error_code == 0
    answer = log_in(client)
    assert (answer.error_code, answer.error_message, answer.session_lifetime_ms) == (0, "", 0)
    assert client.connection.principal == "User:alice"
    assert client.connection.ready_by_ms is None
    assert client.call(METADATA, 12).brokers


def test_nothing_is_answered_before_the_handshake(gateway: LoginGateway) -> None:
    for request, version in ((METADATA, 12), (SaslAuthenticateRequest(auth_bytes=b"x"), 2)):
        client = gateway.login_client()
        client.send(request, version)
        assert client.answers() == []
        assert client.connection.close_cause is Cause.SETUP


def test_a_request_that_is_not_let_in_is_not_decoded(gateway: LoginGateway) -> None:
    client = gateway.login_client()
    client.send_bytes(bytes.fromhex("0000000d 0003 000c 00000001 ffff 00 ffff"))
    assert client.connection.close_reason == "a request that needs a login came before it"


def test_a_failed_login_is_answered_after_the_delay_and_not_read_on(gateway: LoginGateway) -> None:
    client, other = gateway.login_client(), gateway.login_client()
    choose(client)
    client.send(SaslAuthenticateRequest(auth_bytes=plain_token(password="wrong")), 2)
    client.send(SaslAuthenticateRequest(auth_bytes=plain_token()), 2)
    gateway.advance(99)
    assert client.answers() == []
    assert log_in(other).error_code == 0
    gateway.advance(1)
    (answer,) = client.answers()
    assert answer.error_code == FAILED
    assert is_closed(client)
    assert client.connection.principal == ANONYMOUS


def test_a_client_that_leaves_before_its_refusal_leaves_nothing(gateway: LoginGateway) -> None:
    client = gateway.login_client()
    choose(client)
    before = len(gateway.broker.timers)
    client.send(SaslAuthenticateRequest(auth_bytes=b"wrong"), 2)
    client.close()
    assert len(gateway.broker.timers) == before


def test_bare_tokens_are_answered_bare(gateway: LoginGateway) -> None:
    client = gateway.login_client()
    assert choose(client, version=0) == 0
    assert send_raw(client, plain_token()) == b"\0\0\0\0"
    assert client.call(METADATA, 12).brokers


def test_a_wrong_bare_token_closes_without_an_answer(gateway: LoginGateway) -> None:
    client = gateway.login_client()
    choose(client, version=0)
    assert send_raw(client, plain_token(password="wrong")) == b""
    assert not is_closed(client)
    gateway.advance(100)
    assert take_outgoing(client.connection) == b""
    assert is_closed(client)


def test_requests_sent_at_once_are_served_in_order(gateway: LoginGateway) -> None:
    client = gateway.login_client()
    client.send(VERSIONS, 3)
    client.send(SaslHandshakeRequest(mechanism="PLAIN"), 1)
    client.send(SaslAuthenticateRequest(auth_bytes=plain_token()), 2)
    client.send(METADATA, 12)
    gateway.settle()
    assert [answer.__class__.__name__ for answer in client.answers()] == [
        "ApiVersionsResponse",
        "SaslHandshakeResponse",
        "SaslAuthenticateResponse",
        "MetadataResponse",
    ]


def test_a_request_in_the_midst_of_a_login_is_illegal_and_closes(gateway: LoginGateway) -> None:
    for request, version in ((VERSIONS, 3), (SaslHandshakeRequest(mechanism="PLAIN"), 1)):
        client = gateway.login_client()
        choose(client)
        client.send(request, version)
        gateway.advance(100)
        assert [answer.error_code for answer in client.answers()] == [ILLEGAL]
        assert is_closed(client)
    client = gateway.login_client()
    choose(client)
    client.send(METADATA, 12)
    assert is_closed(client)


def test_frames_are_small_until_the_login_is_done(gateway: LoginGateway) -> None:
    client = gateway.login_client()
    client.send_bytes(struct.pack(">i", 524_289))
    assert is_closed(client)
    good = gateway.login_client()
    log_in(good)
    good.send_bytes(struct.pack(">i", 524_289))
    assert not is_closed(good)


def test_a_later_login_keeps_the_connection_and_its_principal() -> None:
    gateway = LoginGateway(connections_max_reauth_ms=60_000)
    client = gateway.login_client()
    assert log_in(client).session_lifetime_ms == 60_000
    gateway.advance(50_000)
    assert log_in(client).session_lifetime_ms == 60_000
    gateway.advance(50_000)
    assert client.call(METADATA, 12).brokers
    gateway.advance(10_001)
    client.send(METADATA, 12)
    assert (client.connection.close_reason, client.connection.close_cause) == (
        "the session is over, and the client did not log in again",
        Cause.REFUSED,
    )


def test_a_later_login_as_another_is_refused() -> None:
    gateway = LoginGateway(connections_max_reauth_ms=60_000)
    client = gateway.login_client()
    log_in(client)
    answer = log_in(client, plain_token("bob", "b"))
    assert (answer.error_code, is_closed(client)) == (FAILED, True)
    assert client.connection.principal == "User:alice"


def test_a_login_that_takes_too_long_is_closed(gateway: LoginGateway) -> None:
    client = gateway.login_client()
    gateway.client()
    choose(client)
    gateway.advance(12_000)
    assert client.connection.close_cause is Cause.SETUP


def test_thousands_of_wrong_logins_do_not_delay_a_good_one(gateway: LoginGateway) -> None:
    crowd = [gateway.login_client("10.0.0.66") for _ in range(2_000)]
    for client in crowd:
        client.send(SaslHandshakeRequest(mechanism="PLAIN"), 1)
        client.send(SaslAuthenticateRequest(auth_bytes=plain_token(password="wrong")), 2)
    good = gateway.login_client()
    assert log_in(good).error_code == 0
    gateway.advance(100)
    assert all(map(is_closed, crowd))
    assert good.call(METADATA, 12).brokers


def test_no_secret_is_logged(gateway: LoginGateway, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    for token in (plain_token(password="canary-1"), b"canary-2", plain_token("bob", "canary-3", "alice")):
        log_in(gateway.login_client(), token)
        gateway.advance(2_000)
    assert "refused a client" in caplog.text
    assert "canary" not in caplog.text


def test_a_hostile_name_is_one_line_of_the_log(
    gateway: LoginGateway, caplog: pytest.LogCaptureFixture
) -> None:
    log_in(gateway.login_client(), plain_token("a\nb\x1b[31m" * 300, "x"))
    assert "\n" not in caplog.records[-1].getMessage()
    assert "\x1b" not in caplog.records[-1].getMessage()
    assert len(caplog.records[-1].getMessage()) < 400


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32), st.booleans())
def test_hostile_bytes_never_log_in_nor_harm_others(seed: int, begun: bool) -> None:
    random = Random(seed)
    gateway = LoginGateway()
    client, good = gateway.login_client(), gateway.login_client()
    if begun:
        choose(client, random.choice(["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]), random.choice([0, 1]))
    frame = bytearray(request_frame(SaslAuthenticateRequest(auth_bytes=random.randbytes(40)), 2, 9))
    for _ in range(random.randrange(4)):
        frame[random.randrange(4, len(frame))] = random.randrange(256)
    client.send_bytes(bytes(frame))
    client.send_bytes(random.randbytes(random.randrange(100)))
    gateway.advance(200)
    assert client.connection.principal == ANONYMOUS
    assert log_in(good).error_code == 0


def test_logins_are_counted_by_mechanism_and_outcome(gateway: LoginGateway) -> None:
    log_in(gateway.login_client())
    client = gateway.login_client()
    choose(client)
    client.send(SaslAuthenticateRequest(auth_bytes=plain_token(password="wrong")), 2)
    gateway.login_client().send(SaslHandshakeRequest(mechanism="GSSAPI"), 1)
    gateway.login_client().send(METADATA, 12)
    gateway.advance(200)
    assert gateway.broker.stats.logins.logins == {
        ("", "PLAIN", "ok"): 1,
        ("", "PLAIN", "failed"): 1,
        ("", "none", "failed"): 2,
    }


def greeting(proof: bytes = b"") -> KawalGreetRequest:
    return KawalGreetRequest(number=1, to=0, count=3, nonce=bytes(NONCE_BYTES), proof=proof)


def test_a_node_greets_instead_of_logging_in_and_may_send_long_requests_then(gateway: LoginGateway) -> None:
    gateway.broker.nodes.greeter = Greeter(SECRET, number=0, count=3, random=Random(1))
    client = gateway.login_client()
    reader = client.connection.reader
    limited = reader.limit_bytes
    hello = Hello(1, 0, 3, "", bytes(NONCE_BYTES))
    proof = proof_of_asking(SECRET, hello, bytes(client.call(greeting(), 0).nonce))
    assert client.call(greeting(proof), 0).error_code == 0
    assert client.connection.from_peer
    assert client.connection.ready_by_ms is None
    assert reader.limit_bytes > limited
    assert client.call(METADATA, 12).brokers


def test_a_client_that_greets_and_has_no_secret_still_needs_a_login(gateway: LoginGateway) -> None:
    gateway.broker.nodes.greeter = Greeter(SECRET, number=0, count=3, random=Random(1))
    client = gateway.login_client()
    client.call(greeting(), 0)
    client.send(METADATA, 12)
    assert client.answers() == []
    assert client.connection.close_cause is Cause.SETUP
    client = gateway.login_client()
    client.call(greeting(), 0)
    assert log_in(client).error_code == 0


def test_a_server_without_other_nodes_takes_no_greeting_before_a_login(gateway: LoginGateway) -> None:
    client = gateway.login_client()
    client.send(greeting(), 0)
    gateway.settle()
    assert client.answers() == []
    assert is_closed(client)
