"""The order of requests in a login, byte by byte; every rule was seen on Apache Kafka, too."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from compat_tests.broker import Broker, Kind
from compat_tests.conftest import running_broker
from compat_tests.logins import (
    MECHANISMS,
    USERS,
    choose,
    give,
    log_in,
    login_settings,
    plain_token,
    raw_client,
)
from compat_tests.waiting import eventually
from compat_tests.wire import RawClient
from protocol.error_codes import ErrorCode
from protocol.messages.api_versions import ApiVersionsRequest
from protocol.messages.metadata import MetadataRequest
from protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from protocol.messages.sasl_handshake import SaslHandshakeRequest

VERSIONS = ApiVersionsRequest(client_software_name="raw", client_software_version="1")
WRONG = "Authentication failed: Invalid username or password"
GENERIC = "Authentication failed during authentication due to invalid credentials with SASL mechanism "
Connect = Callable[[str], RawClient]
ILLEGAL, FAILED = ErrorCode.ILLEGAL_SASL_STATE, ErrorCode.SASL_AUTHENTICATION_FAILED


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory, broker_kind: Kind) -> Iterator[Broker]:
    """Start a broker with listeners for endless sessions, for sessions of a minute, and for short ones."""
    listeners = dict.fromkeys(("SASL", "MINUTE", "SHORT"), "SASL_PLAINTEXT")
    settings = login_settings(**listeners) | {
        "listener.name.minute.plain.connections.max.reauth.ms": "60000",
        "listener.name.short.connections.max.reauth.ms": "300",
    }
    with running_broker(broker_kind, tmp_path_factory.mktemp("sasl"), settings) as started:
        yield started


@pytest.fixture
def connect(broker: Broker) -> Iterator[Connect]:
    """Yield a function that connects to a listener; the connections end with the test."""
    clients: list[RawClient] = []

    def connect_to(listener: str) -> RawClient:
        clients.append(raw_client(broker, listener))
        return clients[-1]

    yield connect_to
    for client in clients:
        client.close()


@pytest.mark.parametrize("version", [0, 1, 2])
def test_a_client_logs_in_and_is_served(connect: Connect, version: int) -> None:
    client = connect("SASL")
    assert client.call(VERSIONS, 3).error_code == 0
    code, mechanisms = choose(client)
    assert (code, sorted(mechanisms)) == (0, sorted(MECHANISMS))
    assert give(client, plain_token("alice", USERS["alice"]), version) == (0, "", b"", 0)
    assert client.call(MetadataRequest(topics=[]), 12).brokers


def test_bare_tokens_follow_a_handshake_of_version_0(connect: Connect) -> None:
    client = connect("SASL")
    assert choose(client, version=0)[0] == 0
    client.send_frame(plain_token("alice", USERS["alice"]))
    assert client.receive_frame() == b""
    assert client.call(VERSIONS, 3).error_code == 0
    wrong = connect("SASL")
    choose(wrong, version=0)
    wrong.send_frame(plain_token("alice", "wrong"))
    assert wrong.is_closed_by_peer()


def test_requests_that_follow_at_once_are_served_after_the_login(connect: Connect) -> None:
    client = connect("SASL")
    client.send(VERSIONS, 3)
    client.send(SaslHandshakeRequest(mechanism="PLAIN"), 1)
    client.send(SaslAuthenticateRequest(auth_bytes=plain_token("bob", "b")), 2)
    client.send(MetadataRequest(topics=[]), 12)
    assert [client.receive().__class__.__name__ for _ in range(4)][-1] == "MetadataResponse"


def test_a_session_without_an_end_is_not_begun_again_and_goes_on(connect: Connect) -> None:
    client = connect("SASL")
    assert log_in(client) == 0
    assert choose(client) == (ILLEGAL, [])
    assert give(client, plain_token("alice", USERS["alice"]))[0] == ILLEGAL
    assert client.call(MetadataRequest(topics=[]), 12).brokers


def test_nothing_else_passes_before_the_handshake(connect: Connect) -> None:
    for request, version in ((MetadataRequest(topics=[]), 12), (SaslAuthenticateRequest(auth_bytes=b"x"), 2)):
        client = connect("SASL")
        client.send(request, version, answered=False)
        assert client.is_closed_by_peer()


def test_api_versions_is_answered_once(connect: Connect) -> None:
    client = connect("SASL")
    keys = {row.api_key for row in client.call(VERSIONS, 3).api_keys}
    assert {17, 36} <= keys
    client.send(VERSIONS, 3, answered=False)
    assert client.is_closed_by_peer()


def test_api_versions_may_come_again_after_an_error(connect: Connect) -> None:
    client = connect("SASL")
    bad = ApiVersionsRequest(client_software_name="-", client_software_version="1")
    assert client.call(bad, 3).error_code == ErrorCode.INVALID_REQUEST
    assert client.call(VERSIONS, 3).error_code == 0


def test_an_unknown_mechanism_is_told_which_there_are(connect: Connect) -> None:
    client = connect("SASL")
    code, mechanisms = choose(client, "GSSAPI")
    assert (code, sorted(mechanisms)) == (ErrorCode.UNSUPPORTED_SASL_MECHANISM, sorted(MECHANISMS))
    assert client.is_closed_by_peer()


def test_a_request_in_the_midst_of_a_login_is_illegal(connect: Connect) -> None:
    for request, version in ((VERSIONS, 3), (SaslHandshakeRequest(mechanism="PLAIN"), 1)):
        client = connect("SASL")
        choose(client)
        assert client.call(request, version).error_code == ILLEGAL
        assert client.is_closed_by_peer()


@pytest.mark.parametrize(
    ("token", "message"),
    [
        (plain_token("alice", "wrong"), WRONG),
        (plain_token("nobody", "wrong"), WRONG),
        (plain_token("", "x"), "Authentication failed: username not specified"),
        (plain_token("alice", ""), "Authentication failed: password not specified"),
        (
            plain_token("bob", "b", "alice"),
            "Authentication failed: Client requested an authorization id that is different from username",
        ),
        (b"no parts", "Invalid SASL/PLAIN response: expected 3 tokens, got 1"),
        (b"a\0b\0c\0d", "Invalid SASL/PLAIN response: expected 3 tokens, got 4"),
    ],
)
def test_a_failed_login_is_told_why_and_closed(connect: Connect, token: bytes, message: str) -> None:
    client = connect("SASL")
    choose(client)
    assert give(client, token)[:2] == (FAILED, message)
    assert client.is_closed_by_peer()


@pytest.mark.parametrize("token", [b"", b"n,,n=alice", b"p=x,,n=alice,r=abc", b"n,a=bob,n=alice,r=abc"])
def test_a_wrong_first_message_of_scram_fails(connect: Connect, token: bytes) -> None:
    client = connect("SASL")
    choose(client, "SCRAM-SHA-256")
    assert give(client, token)[:2] == (FAILED, f"{GENERIC}SCRAM-SHA-256")
    assert client.is_closed_by_peer()


def test_a_frame_above_the_limit_closes(connect: Connect) -> None:
    client = connect("SASL")
    client.socket.sendall((524_289).to_bytes(4, "big") + b"\0\x12\0\0")
    assert client.is_closed_by_peer()


def test_after_a_login_a_token_alone_is_illegal_and_does_no_harm(connect: Connect) -> None:
    client = connect("SASL")
    log_in(client)
    assert give(client, b"x")[:2] == (
        ILLEGAL,
        "SaslAuthenticate request received after successful authentication",
    )
    assert client.call(VERSIONS, 3).error_code == 0


def test_a_listener_without_logins_takes_none(connect: Connect) -> None:
    client = connect("PLAINTEXT")
    assert choose(client) == (ILLEGAL, [])
    assert give(client, b"x")[0] == ILLEGAL
    assert client.call(VERSIONS, 3).error_code == 0


def test_a_session_without_end_is_not_renewed(connect: Connect) -> None:
    client = connect("SASL")
    log_in(client)
    assert choose(client) == (ILLEGAL, [])
    assert client.call(VERSIONS, 3).error_code == 0


def test_a_session_with_an_end_is_renewed_but_not_twice_in_a_second(connect: Connect) -> None:
    for _ in range(10):
        client = connect("MINUTE")
        assert log_in(client) == 60_000
        began = time.monotonic()
        assert log_in(client) == 60_000
        again = choose(client)
        if time.monotonic() - began < 1:
            break
    assert again == (ILLEGAL, [])
    assert client.call(MetadataRequest(topics=[]), 12).brokers


def test_a_login_as_another_on_the_same_connection_fails(connect: Connect) -> None:
    client = connect("MINUTE")
    log_in(client, "alice")
    choose(client)
    code, message, _, _ = give(client, plain_token("bob", "b"))
    assert (code, message) == (
        FAILED,
        "Cannot change principals during re-authentication from User.alice: User.bob",
    )
    assert client.is_closed_by_peer()


def test_a_later_login_by_another_mechanism_fails(connect: Connect) -> None:
    client = connect("SHORT")
    log_in(client)
    assert choose(client, "SCRAM-SHA-256")[0] == 0
    client.send(SaslAuthenticateRequest(auth_bytes=b"n,,n=alice,r=abc"), 2, answered=False)
    assert client.is_closed_by_peer()


def test_a_session_that_is_over_closes_with_the_next_request(connect: Connect) -> None:
    client = connect("SHORT")
    assert log_in(client) == 300
    eventually(lambda: not is_served(client), waiting_for="the end of a session")


def test_a_session_that_is_over_can_be_renewed(connect: Connect) -> None:
    client, other = connect("SHORT"), connect("SHORT")
    log_in(client)
    log_in(other)
    eventually(lambda: not is_served(other), waiting_for="the end of the other session")
    assert log_in(client) == 300


def test_a_session_ends_though_the_client_was_not_told(connect: Connect) -> None:
    client = connect("SHORT")
    log_in(client, version=0)
    eventually(lambda: not is_served(client), waiting_for="the end of a session")


def is_served(client: RawClient) -> bool:
    """Whether a request is answered, not by the connection's end."""
    try:
        client.call(VERSIONS, 3)
    except (OSError, AssertionError):
        return False
    return True
