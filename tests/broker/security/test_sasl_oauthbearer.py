"""OAUTHBEARER: a good token lets its bearer in, a bad one is told and fails with the next message."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.security.sasl_exchange import Accepted, Challenge, LoginRefused
from broker.security.sasl_oauthbearer import INVALID, Bearer, InvalidToken, OAuthBearerExchange

GOOD = b"n,,\x01auth=Bearer good.token\x01\x01"


class Judge:
    def bearer_of(self, token: str) -> Bearer:
        if token != "good.token":
            raise InvalidToken("a bad token")
        return Bearer("alice", 9_000)


def exchange() -> OAuthBearerExchange:
    return OAuthBearerExchange(Judge())


@pytest.mark.parametrize(
    "message",
    [
        GOOD,
        b"n,a=alice,\x01auth=Bearer good.token\x01\x01",
        b"n,,\x01auth=bearer good.token\x01ext=1 2\x01\x01",
    ],
)
def test_a_good_token_lets_its_bearer_in_for_as_long_as_it_is_valid(message: bytes) -> None:
    assert exchange().step(message) == Accepted("alice", until_wall_ms=9_000)


def test_a_bad_token_is_told_and_whatever_follows_fails() -> None:
    for then in (b"\x01", GOOD):
        made = exchange()
        assert made.step(GOOD.replace(b"good", b"bad")) == Challenge(INVALID.encode())
        with pytest.raises(LoginRefused, match="a bad token") as refused:
            made.step(then)
        assert refused.value.told == INVALID


def test_the_bearer_cannot_be_another_user() -> None:
    with pytest.raises(LoginRefused, match="'alice' asked to be 'bob'") as refused:
        exchange().step(GOOD.replace(b"n,,", b"n,a=bob,"))
    assert "authorization id (bob)" in refused.value.told


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"\x01",
        b"y,,\x01auth=Bearer good.token\x01\x01",
        GOOD[:-1],
        GOOD + b"x",
        b"n,,\x01auth=Basic x\x01\x01",
        GOOD.replace(b"good", b"\xff"),
        b"n,,\x01auth=Bearer " + b"x" * 40_000 + b"\x01\x01",
    ],
)
def test_other_messages_are_refused(message: bytes) -> None:
    with pytest.raises(LoginRefused):
        exchange().step(message)


@given(st.binary(max_size=60))
def test_no_other_bytes_let_anyone_in(message: bytes) -> None:
    try:
        assert isinstance(exchange().step(message), Challenge)
    except LoginRefused:
        return
