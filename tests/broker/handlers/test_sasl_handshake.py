"""SaslHandshake: a mechanism is chosen, or the client learns which there are."""

from __future__ import annotations

from protocol.error_codes import ErrorCode
from protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from tests.broker.gateway import Client, Gateway
from tests.broker.logins import LoginGateway, log_in

MECHANISMS = ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]


def shake(client: Client, mechanism: str = "PLAIN", version: int = 1) -> SaslHandshakeResponse:
    client.send(SaslHandshakeRequest(mechanism=mechanism), version)
    client.gateway.advance(100)
    (answer,) = client.answers()
    assert isinstance(answer, SaslHandshakeResponse)
    return answer


def test_an_enabled_mechanism_is_taken_and_all_are_listed() -> None:
    for version in (0, 1):
        answer = shake(LoginGateway().login_client(), version=version)
        assert (answer.error_code, answer.mechanisms) == (0, MECHANISMS)


def test_another_one_is_refused_with_the_list_and_the_connection_closes() -> None:
    client = LoginGateway().login_client()
    answer = shake(client, "GSSAPI")
    assert (answer.error_code, answer.mechanisms) == (ErrorCode.UNSUPPORTED_SASL_MECHANISM, MECHANISMS)
    assert client.connection.close_reason == "the SASL mechanism 'GSSAPI' is not enabled"


def test_a_listener_without_logins_answers_illegal_sasl_state() -> None:
    client = Gateway().client()
    answer = shake(client)
    assert (answer.error_code, answer.mechanisms) == (ErrorCode.ILLEGAL_SASL_STATE, [])
    assert client.connection.close_reason is None


def test_a_session_without_end_is_not_renewed() -> None:
    client = LoginGateway().login_client()
    log_in(client)
    assert shake(client).error_code == ErrorCode.ILLEGAL_SASL_STATE
    assert client.connection.close_reason is None
