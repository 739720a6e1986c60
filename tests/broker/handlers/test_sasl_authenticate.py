"""SaslAuthenticate: tokens are answered in every version, and refused where no login is under way."""

from __future__ import annotations

import pytest

from protocol.error_codes import ErrorCode
from protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from tests.broker.gateway import Gateway
from tests.broker.logins import LoginGateway, choose, give, log_in, plain_token


@pytest.mark.parametrize("version", [0, 1, 2])
def test_the_last_token_is_answered_with_the_length_of_the_session(version: int) -> None:
    client = LoginGateway(connections_max_reauth_ms=7_000).login_client()
    choose(client)
    answer = give(client, plain_token(), version)
    assert (answer.error_code, answer.error_message, bytes(answer.auth_bytes)) == (0, "", b"")
    assert answer.session_lifetime_ms == (7_000 if version else 0)


def test_a_wrong_password_is_told_in_kafkas_words() -> None:
    answer = log_in(LoginGateway().login_client(), plain_token(password="wrong"))
    assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert answer.error_message == "Authentication failed: Invalid username or password"


def test_a_failure_of_scram_tells_no_reason() -> None:
    client = LoginGateway().login_client()
    choose(client, "SCRAM-SHA-512")
    assert give(client, b"nonsense").error_message == (
        "Authentication failed during authentication due to invalid credentials with SASL mechanism"
        " SCRAM-SHA-512"
    )


def test_without_a_login_under_way_it_is_illegal_and_does_no_harm() -> None:
    logged_in = LoginGateway().login_client()
    log_in(logged_in)
    for client in (logged_in, Gateway().client()):
        answer = client.call(SaslAuthenticateRequest(auth_bytes=b"x"), 2)
        assert answer.error_code == ErrorCode.ILLEGAL_SASL_STATE
        assert client.connection.close_reason is None
