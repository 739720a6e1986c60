"""The client's side of SCRAM, against the example of RFC 7677 and the server's side."""

from __future__ import annotations

import pytest

from broker.security.sasl_exchange import Accepted, Challenge, LoginRefused
from broker.security.sasl_scram import Bearer, ScramExchange
from broker.security.scram import HASHES, Credential, Mechanism, salted_password
from console.scram import ScramClient, ScramError

SERVER_FIRST = b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
SERVER_FINAL = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def example() -> ScramClient:
    return ScramClient("SCRAM-SHA-256", "user", "pencil", "rOprNGfwEbeRWgbNEkqO")


def test_the_example_of_the_rfc_is_made() -> None:
    client = example()
    assert client.first() == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    assert client.final(SERVER_FIRST).endswith(b",p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=")
    client.check(SERVER_FINAL)


def credential(mechanism: Mechanism, password: str) -> Credential:
    import hmac

    algorithm = HASHES[mechanism]
    salted = salted_password(mechanism, password, b"salt", 4096)
    stored = algorithm(hmac.digest(salted, b"Client Key", algorithm)).digest()
    return Credential(b"salt", stored, hmac.digest(salted, b"Server Key", algorithm), 4096)


@pytest.mark.parametrize("mechanism", Mechanism)
@pytest.mark.parametrize("user", ["alice", "a=b,c", "Jürgen"])
def test_it_logs_in_at_our_server(mechanism: Mechanism, user: str) -> None:
    kept = credential(mechanism, 's "e,=c')
    server = ScramExchange(mechanism, {user: kept}.get, nonce="server", decoy_key=b"d")
    client = ScramClient(mechanism.name.replace("_", "-"), user, 's "e,=c', "nonce")
    challenge = server.step(client.first())
    assert isinstance(challenge, Challenge)
    accepted = server.step(client.final(challenge.data))
    assert isinstance(accepted, Accepted)
    client.check(accepted.data)
    assert accepted.user == user


def test_a_wrong_password_is_refused_by_the_server() -> None:
    kept = credential(Mechanism.SCRAM_SHA_256, "right")
    server = ScramExchange(Mechanism.SCRAM_SHA_256, {"a": kept}.get, nonce="s", decoy_key=b"d")
    client = ScramClient("SCRAM-SHA-256", "a", "wrong", "nonce")
    challenge = server.step(client.first())
    assert isinstance(challenge, Challenge)
    with pytest.raises(LoginRefused):
        server.step(client.final(challenge.data))


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (b"", "has not the form"),
        (b"\xff", "has not the form"),
        (b"r=rOprNGfwEbeRWgbNEkqO+,s=!,i=4096", "has not the form"),
        (b"r=other,s=W22Z,i=4096", "does not continue ours"),
        (b"r=rOprNGfwEbeRWgbNEkqO,s=W22Z,i=4096", "does not continue ours"),
        (b"r=rOprNGfwEbeRWgbNEkqO+,s=W22Z,i=1", "asks for 1 iterations"),
        (b"r=rOprNGfwEbeRWgbNEkqO+,s=W22Z,i=99999999", "asks for 99999999 iterations"),
    ],
)
def test_a_first_answer_that_does_not_fit_is_refused(answer: bytes, sentence: str) -> None:
    with pytest.raises(ScramError, match=sentence):
        example().final(answer)


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (b"e=other-error", "other-error"),
        (b"v=!", "has not the form"),
        (b"v=AAAA", "may be another server"),
        (b"", "may be another server"),
    ],
)
def test_a_server_that_does_not_know_the_password_is_not_trusted(answer: bytes, sentence: str) -> None:
    client = example()
    client.final(SERVER_FIRST)
    with pytest.raises(ScramError, match=sentence):
        client.check(answer)


def test_it_logs_in_with_a_delegation_token() -> None:
    kept = credential(Mechanism.SCRAM_SHA_256, "hmac")
    bearer = Bearer("alice", 5000, kept, lambda: kept)
    server = ScramExchange(
        Mechanism.SCRAM_SHA_256,
        {"alice": kept}.get,
        nonce="s",
        decoy_key=b"d",
        find_token={"token": bearer}.get,
    )
    client = ScramClient("SCRAM-SHA-256", "token", "hmac", "nonce", by_token=True)
    challenge = server.step(client.first())
    assert isinstance(challenge, Challenge)
    accepted = server.step(client.final(challenge.data))
    assert isinstance(accepted, Accepted)
    client.check(accepted.data)
    assert (accepted.user, accepted.by_token) == ("alice", True)
