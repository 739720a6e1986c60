"""Each listener's mechanisms, and where their users are."""

from __future__ import annotations

from broker.security.plain_passwords import hashed_password
from broker.security.sasl_oauthbearer import Bearer
from protocol.error_codes import ErrorCode
from tests.broker.gateway import START_MS
from tests.broker.handlers.scram import alter, deletion, upsertion_of
from tests.broker.logins import HASHES, LoginGateway, ScramClient, choose, give, log_in, plain_token

FAILED = ErrorCode.SASL_AUTHENTICATION_FAILED


def log_in_by_scram(gateway: LoginGateway, mechanism: str, user: str, password: str) -> int:
    client = gateway.login_client()
    scram = ScramClient(mechanism, user, password)
    assert choose(client, mechanism) == 0
    final = scram.final(give(client, scram.first).auth_bytes)
    answer = give(client, final)
    assert bytes(answer.auth_bytes) == (b"" if answer.error_code else scram.signature)
    code: int = answer.error_code
    return code


def test_users_of_scram_are_those_of_the_catalogue_as_soon_as_they_are_altered() -> None:
    gateway = LoginGateway()
    admin = gateway.client()
    for mechanism in HASHES:
        assert log_in_by_scram(gateway, mechanism, "alice", "secret") == FAILED
        alter(admin, upsertion_of("alice", mechanism, "secret"))
        assert log_in_by_scram(gateway, mechanism, "alice", "secret") == 0
        assert log_in_by_scram(gateway, mechanism, "alice", "wrong") == FAILED
    alter(admin, upsertion_of("alice", "SCRAM-SHA-256", "changed"))
    assert log_in_by_scram(gateway, "SCRAM-SHA-256", "alice", "secret") == FAILED
    assert log_in_by_scram(gateway, "SCRAM-SHA-256", "alice", "changed") == 0
    alter(admin, deletion("alice", 1))
    assert log_in_by_scram(gateway, "SCRAM-SHA-256", "alice", "changed") == FAILED
    assert log_in_by_scram(gateway, "SCRAM-SHA-512", "alice", "secret") == 0


def test_a_name_that_does_not_exist_is_challenged_as_users_are() -> None:
    gateway = LoginGateway()
    alter(gateway.client(), upsertion_of("alice", "SCRAM-SHA-512", "secret"))

    def shape(user: str) -> tuple[int, str]:
        client = gateway.login_client()
        choose(client, "SCRAM-SHA-512")
        challenge = bytes(give(client, ScramClient("SCRAM-SHA-512", user, "x").first).auth_bytes).decode()
        _nonce, salt, rounds = challenge.split(",")
        return len(salt), rounds

    assert shape("nobody") == shape("alice")


def test_users_are_there_with_the_first_login_after_a_crash() -> None:
    gateway = LoginGateway()
    alter(gateway.client(), upsertion_of("alice", "SCRAM-SHA-256", "secret"))
    gateway.crash()
    assert log_in_by_scram(gateway, "SCRAM-SHA-256", "alice", "secret") == 0


class Judge:
    def bearer_of(self, token: str) -> Bearer:
        return Bearer(token, START_MS + 5_000)


def test_a_session_by_token_ends_with_the_token() -> None:
    gateway = LoginGateway(validator=Judge())
    client = gateway.login_client()
    assert choose(client, "OAUTHBEARER") == 0
    answer = give(client, b"n,,\x01auth=Bearer alice\x01\x01")
    assert (answer.error_code, answer.session_lifetime_ms) == (0, 5_000)
    assert client.connection.principal == "User:alice"


def test_nonces_are_different() -> None:
    gateway = LoginGateway()
    told = set()
    for _ in range(20):
        client = gateway.login_client()
        choose(client, "SCRAM-SHA-256")
        told.add(bytes(give(client, b"n,,n=alice,r=x").auth_bytes))
    assert len(told) == 20


def test_users_of_plain_may_be_in_a_file_of_hashes() -> None:
    gateway = LoginGateway(file=lambda: {"carol": hashed_password("c", bytes(16))})
    for _ in range(2):
        assert log_in(gateway.login_client(), plain_token("carol", "c")).error_code == 0
        assert log_in(gateway.login_client(), plain_token("carol", "d")).error_code == FAILED
        assert log_in(gateway.login_client(), plain_token("alice", "secret")).error_code == FAILED
