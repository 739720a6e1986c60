"""Logins on connections, and refusals as sentences without secrets."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

import pytest

from console import login
from console.errors import CommandError
from console.login import LoginRefused, log_in, mechanisms_wanted
from console.security import Security
from protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

PLAIN = Security("SASL_PLAINTEXT", "PLAIN", "alice", "canary")
SCRAM = Security("SASL_SSL", "SCRAM-SHA-256", "alice", "canary")

Answering = Callable[..., list[Any]]


@pytest.fixture
def answering(monkeypatch: pytest.MonkeyPatch) -> Answering:
    """Return a function that sets the answers of a server and returns the list of what it is sent."""

    def answers(*given: Any) -> list[Any]:
        sent: list[Any] = []
        waiting = iter(given)

        def exchange(_connection: socket.socket, request: Any, _version: int, _address: str) -> Any:
            sent.append(request)
            answer = next(waiting)
            if isinstance(answer, Exception):
                raise answer
            return answer

        monkeypatch.setattr(login, "exchange", exchange)
        return sent

    return answers


def run(security: Security) -> None:
    with socket.socket() as connection:
        log_in(connection, security, "h:1")


def test_a_login_by_plain_is_one_token(answering: Answering) -> None:
    sent = answering(SaslHandshakeResponse(mechanisms=[]), SaslAuthenticateResponse(auth_bytes=b""))
    run(PLAIN)
    assert sent == [
        SaslHandshakeRequest(mechanism="PLAIN"),
        SaslAuthenticateRequest(auth_bytes=b"\0alice\0canary"),
    ]


@pytest.mark.parametrize(
    ("security", "answers", "sentence"),
    [
        (
            PLAIN,
            [SaslHandshakeResponse(error_code=33, mechanisms=["A", "B"])],
            "h:1 does not offer PLAIN; set sasl.mechanism to one that it offers: A, B",
        ),
        (
            SCRAM,
            [SaslHandshakeResponse(error_code=34, mechanisms=[])],
            "h:1 takes no logins there (error 34); set security.protocol=SSL, or",
        ),
        (
            PLAIN,
            [
                SaslHandshakeResponse(mechanisms=[]),
                SaslAuthenticateResponse(error_code=58, error_message="wrong.", auth_bytes=b""),
            ],
            "h:1 refused the login of user 'alice' by PLAIN: wrong; check sasl.username",
        ),
        (
            PLAIN,
            [SaslHandshakeResponse(mechanisms=[]), SaslAuthenticateResponse(error_code=58, auth_bytes=b"")],
            "by PLAIN: error 58; check",
        ),
        (
            SCRAM,
            [SaslHandshakeResponse(mechanisms=[]), SaslAuthenticateResponse(auth_bytes=b"no")],
            "by SCRAM-SHA-256: its first answer has not the form",
        ),
    ],
)
def test_a_refusal_is_one_sentence(
    security: Security, answers: list[Any], sentence: str, answering: Answering
) -> None:
    answering(*answers)
    with pytest.raises(LoginRefused) as refused:
        run(security)
    assert sentence in str(refused.value)
    assert "canary" not in str(refused.value)


def test_a_login_without_answer_ends(answering: Answering) -> None:
    answering(TimeoutError())
    with pytest.raises(CommandError, match="h:1 has not answered the login in time"):
        run(PLAIN)


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        (SaslHandshakeResponse(error_code=33, mechanisms=["A"]), ["A"]),
        (SaslHandshakeResponse(error_code=34, mechanisms=[]), []),
        (ConnectionResetError(), []),
    ],
)
def test_a_listener_tells_whether_it_wants_a_login(
    answer: Any, wanted: list[str], answering: Answering
) -> None:
    answering(answer)
    with socket.socket() as connection:
        assert mechanisms_wanted(connection, "h:1") == wanted
