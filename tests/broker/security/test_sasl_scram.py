"""SCRAM: only a client that knows the password gets in, and users that do not exist look like others."""

from __future__ import annotations

import hashlib
from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.security.sasl_exchange import Accepted, Challenge, LoginRefused, Pending
from broker.security.sasl_scram import Bearer, ScramExchange
from broker.security.scram import Credential, Mechanism, credential_of, read_credential
from protocol.messages.alter_user_scram_credentials import ScramCredentialUpsertion
from tests.broker.logins import HASHES, ScramClient

SALT = b"sixteen bytes..."


def credential(mechanism: str = "SCRAM-SHA-256", password: str = "secret") -> Credential:
    salted = hashlib.pbkdf2_hmac(HASHES[mechanism], password.encode(), SALT, 4096)
    number = Mechanism[mechanism.replace("-", "_")]
    given = ScramCredentialUpsertion(
        name="alice", mechanism=number, iterations=4096, salt=SALT, salted_password=salted
    )
    return read_credential(credential_of(given))


def exchange(mechanism: str = "SCRAM-SHA-256", user: str = "alice") -> ScramExchange:
    stored = {user: credential(mechanism)}
    kind = Mechanism[mechanism.replace("-", "_")]
    return ScramExchange(kind, stored.get, nonce="server", decoy_key=b"k")


def challenge(server: ScramExchange, first: bytes) -> bytes:
    found = server.step(first)
    assert isinstance(found, Challenge)
    return found.data


@pytest.mark.parametrize("mechanism", HASHES)
def test_who_knows_the_password_gets_in_and_learns_that_the_server_does(mechanism: str) -> None:
    client, server = ScramClient(mechanism, "alice", "secret"), exchange(mechanism)
    final = client.final(challenge(server, client.first))
    assert server.step(final) == Accepted("alice", client.signature)


def test_the_exchange_of_rfc_7677_is_reproduced() -> None:
    salted = hashlib.pbkdf2_hmac("sha256", b"pencil", b"[m\x99h\x9d\x125\x8e\xec\xa0K\x14\x126\xfa\x81", 4096)
    upsertion = ScramCredentialUpsertion(
        name="user",
        mechanism=1,
        iterations=4096,
        salt=b"[m\x99h\x9d\x125\x8e\xec\xa0K\x14\x126\xfa\x81",
        salted_password=salted,
    )
    stored = {"user": read_credential(credential_of(upsertion))}
    server = ScramExchange(
        Mechanism.SCRAM_SHA_256, stored.get, nonce="%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0", decoy_key=b"k"
    )
    first = challenge(server, b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO")
    assert first == b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    final = (
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
        b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    )
    assert server.step(final) == Accepted("user", b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")


def test_a_wrong_password_fails_with_the_proof() -> None:
    client, server = ScramClient("SCRAM-SHA-256", "alice", "wrong"), exchange()
    final = client.final(challenge(server, client.first))
    with pytest.raises(LoginRefused, match="invalid username or password") as refused:
        server.step(final)
    assert refused.value.told == ""


def test_an_unknown_user_gets_a_salt_that_stays_and_fails_with_the_proof() -> None:
    client = ScramClient("SCRAM-SHA-256", "zoe", "secret")
    first, again = exchange(), exchange()
    told = challenge(first, client.first)
    assert told == challenge(again, client.first)
    assert told.split(b",")[2] == b"i=8192"
    with pytest.raises(LoginRefused, match="user 'zoe': invalid username or password"):
        first.step(client.final(told))


def test_a_name_that_does_not_exist_looks_like_those_that_do() -> None:
    kept = credential()
    stored = Credential(b"s" * 26, kept.stored_key, kept.server_key, 5_000)
    client = ScramClient("SCRAM-SHA-256", "zoe", "secret")

    def shape(user: str) -> tuple[int, bytes]:
        kind = Mechanism.SCRAM_SHA_256
        made = ScramExchange(kind, {"al": stored}.get, nonce="s", decoy_key=b"k", model=lambda _mark: stored)
        told = challenge(made, ScramClient("SCRAM-SHA-256", user, "secret").first)
        _nonce, salt, rounds = told.split(b",")
        return len(salt), rounds

    assert shape("zoe") == shape("al") == (len("s=") + 36, b"i=5000")
    assert challenge(exchange(), client.first).endswith(b",i=8192")


def test_a_token_that_does_not_exist_looks_like_one_that_does() -> None:
    told = challenge(token_exchange(), b"n,,n=nothing,r=client,tokenauth=true")
    assert told.endswith(b",i=4096")
    assert len(told.split(b",")[1]) == len("s=") + 4 * 24 // 3


@pytest.mark.parametrize("nonce", ["client", "clientserver2", "server", "clientserve", "CLIENTSERVER"])
def test_the_final_nonce_must_be_equal(nonce: str) -> None:
    client, server = ScramClient("SCRAM-SHA-256", "alice", "secret"), exchange()
    final = client.final(challenge(server, client.first), nonce=nonce)
    with pytest.raises(LoginRefused, match="nonce"):
        server.step(final)


def test_the_header_of_the_first_message_must_come_again() -> None:
    client, server = ScramClient("SCRAM-SHA-256", "alice", "secret"), exchange()
    final = client.final(challenge(server, client.first), binding=b64encode(b"y,,").decode())
    with pytest.raises(LoginRefused, match="header"):
        server.step(final)


def test_names_may_have_commas_and_equals_signs() -> None:
    client, server = ScramClient("SCRAM-SHA-256", "a=2Cb=3Dc", "secret"), exchange(user="a,b=c")
    final = client.final(challenge(server, client.first))
    assert server.step(final) == Accepted("a,b=c", client.signature)


@pytest.mark.parametrize(
    "first",
    [
        b"",
        b"n,,n=alice",
        b"p=tls-unique,,n=alice,r=x",
        b"n,a=bob,n=alice,r=x",
        b"n,,n=al=41ice,r=x",
        b"n,,n=,r=x",
        b"n,,m=ext,n=alice,r=x",
        b"n,,n=alice,r=\xff",
        b"n,,n=alice,r=" + b"x" * 9_000,
    ],
)
def test_a_wrong_first_message_is_refused(first: bytes) -> None:
    with pytest.raises(LoginRefused):
        exchange().step(first)


@given(
    st.binary(max_size=80) | st.from_regex(rb"c=biws,r=clientserver,p=[A-Za-z0-9+/=]{0,60}", fullmatch=True)
)
def test_no_final_message_is_accepted_without_the_password(final: bytes) -> None:
    server = exchange()
    challenge(server, b"n,,n=alice,r=client")
    with pytest.raises(LoginRefused):
        server.step(final)


def token_exchange(*, made: bool = True) -> ScramExchange:
    """Return a server that knows the user alice, and the token `t` of bob with the password `hmac`."""
    of_token = credential(password="hmac")
    bearer = Bearer("bob", 5000, of_token if made else None, lambda: of_token)
    return ScramExchange(
        Mechanism.SCRAM_SHA_256,
        {"alice": credential()}.get,
        nonce="server",
        decoy_key=b"k",
        find_token={"t": bearer}.get,
    )


@pytest.mark.parametrize("made", [True, False])
@pytest.mark.parametrize("extension", ["true", "TRUE", "false,tokenauth=True", "true,other=1"])
def test_a_token_logs_its_owner_in_until_its_end(extension: str, made: bool) -> None:
    client = ScramClient("SCRAM-SHA-256", "t", "hmac", extensions=f",tokenauth={extension}")
    server = token_exchange(made=made)
    first = server.step(client.first)
    assert isinstance(first, Pending) != made, "a credential that is not made yet is the work of a thread"
    found = first.work() if isinstance(first, Pending) else first
    assert isinstance(found, Challenge)
    assert server.step(client.final(found.data)) == Accepted("bob", client.signature, 5000, by_token=True)


@pytest.mark.parametrize(
    ("name", "password", "extension"),
    [
        ("t", "hmac", ""),
        ("t", "hmac", ",tokenauth=false"),
        ("t", "hmac", ",tokenauth=yes"),
        ("t", "hmac", ",tokenauth=true,tokenauth=false"),
        ("t", "hmac", ",TokenAuth=true"),
        ("t", "wrong", ",tokenauth=true"),
        ("bob", "hmac", ",tokenauth=true"),
        ("alice", "secret", ",tokenauth=true"),
    ],
)
def test_neither_tokens_without_the_extension_nor_users_with_it_get_in(
    name: str, password: str, extension: str
) -> None:
    client, server = ScramClient("SCRAM-SHA-256", name, password, extensions=extension), token_exchange()
    final = client.final(challenge(server, client.first))
    with pytest.raises(LoginRefused):
        server.step(final)


_PARTS = st.lists(
    st.sampled_from(
        ["n,,", "n,a=t,", "y,,", "n=t", "n=alice", ",r=x", ",tokenauth=true", ",tokenauth=", "=", ",", "\0"]
    )
    | st.text(max_size=5),
    max_size=10,
)


@given(_PARTS.map(lambda parts: "".join(parts).encode(errors="surrogatepass")), st.booleans())
def test_whatever_a_client_begins_with_is_answered_or_refused(first: bytes, made: bool) -> None:
    server = token_exchange(made=made)
    try:
        step = server.step(first)
    except LoginRefused:
        return
    found = step.work() if isinstance(step, Pending) else step
    assert isinstance(found, Challenge)
    with pytest.raises(LoginRefused):
        server.step(b"c=biws,r=xserver,p=AAAA")
