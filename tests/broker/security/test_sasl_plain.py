"""PLAIN: one token, and nothing in it can be taken for another user's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.security.sasl_exchange import Accepted, LoginRefused, Pending
from broker.security.sasl_plain import PlainExchange


class Users:
    """Users whose passwords are known, or must be checked."""

    def __init__(self, *, known: bool) -> None:
        self._known = known

    def known(self, user: str, password: str) -> bool | None:
        return self.check(user, password) if self._known else None

    def check(self, user: str, password: str) -> bool:
        return (user, password) == ("alice", "secret")


def step(token: bytes, *, known: bool = True) -> Accepted:
    found = PlainExchange(Users(known=known)).step(token)
    outcome = found.work() if isinstance(found, Pending) else found
    assert isinstance(outcome, Accepted)
    return outcome


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("token", [b"\0alice\0secret", b"alice\0alice\0secret"])
def test_the_right_password_is_accepted(token: bytes, known: bool) -> None:
    assert step(token, known=known) == Accepted("alice")


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("token", [b"\0alice\0wrong", b"\0nobody\0secret"])
def test_an_unknown_user_and_a_wrong_password_are_told_the_same(token: bytes, known: bool) -> None:
    with pytest.raises(LoginRefused) as refused:
        step(token, known=known)
    assert refused.value.told == "Authentication failed: Invalid username or password"
    assert "secret" not in str(refused.value)
    assert "wrong" not in str(refused.value)


@pytest.mark.parametrize(
    ("token", "told"),
    [
        (b"bob\0alice\0secret", "Client requested an authorization id that is different from username"),
        (b"\0\0secret", "username not specified"),
        (b"\0alice\0", "password not specified"),
        (b"alice", "expected 3 tokens, got 1"),
        (b"\0alice\0secret\0", "expected 3 tokens, got 4"),
        (b"\0alice\0\xff", ""),
        (b"\0alice\0" + b"x" * 5_000, ""),
    ],
)
def test_a_wrong_token_is_refused(token: bytes, told: str) -> None:
    with pytest.raises(LoginRefused) as refused:
        step(token)
    assert refused.value.told.endswith(told)


@given(st.binary(max_size=60))
def test_no_bytes_but_the_right_ones_are_accepted(token: bytes) -> None:
    with pytest.raises(LoginRefused):
        step(token)
