"""A password in the clear is right if it makes the stored key."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from broker.security import scram_passwords
from broker.security.scram import ITERATIONS, Mechanism, credential_of, salted_password
from broker.security.scram_passwords import REMEMBERED_MAX, ScramPasswords
from protocol.messages.alter_user_scram_credentials import ScramCredentialUpsertion

SALT = b"salt" * 4


def credential(password: str, mechanism: Mechanism = Mechanism.SCRAM_SHA_256) -> str:
    salted = salted_password(mechanism, password, SALT, 4_096)
    return credential_of(
        ScramCredentialUpsertion(
            name="", mechanism=mechanism, iterations=4_096, salt=SALT, salted_password=salted
        )
    )


def door(**users: dict[str, str]) -> ScramPasswords:
    return ScramPasswords(lambda: users, b"k" * 32)


@settings(max_examples=10, deadline=None)
@given(st.text(min_size=1, max_size=20).filter(lambda text: text.isprintable()), st.sampled_from(Mechanism))
def test_the_password_is_right_and_others_are_wrong(password: str, mechanism: Mechanism) -> None:
    users = door(alice={mechanism.name: credential(password, mechanism)})
    assert users.check("alice", password)
    assert not users.check("alice", password + "x")
    assert not users.check("alice", "")


def test_a_right_password_is_remembered_until_it_changes() -> None:
    users = {"alice": {"SCRAM_SHA_256": credential("secret")}}
    checked = ScramPasswords(lambda: users, b"k" * 32)
    assert checked.known("alice", "secret") is None
    assert checked.check("alice", "secret")
    assert checked.known("alice", "secret") is True
    assert checked.known("alice", "other") is None
    users["alice"] = {"SCRAM_SHA_256": credential("new")}
    assert checked.known("alice", "secret") is None
    assert not checked.check("alice", "secret")
    del users["alice"]
    assert checked.known("alice", "secret") is None


def test_an_unknown_user_costs_as_much_as_a_wrong_password(monkeypatch: object) -> None:
    import pytest

    assert isinstance(monkeypatch, pytest.MonkeyPatch)
    calls: list[int] = []

    def counted(mechanism: Mechanism, password: str, salt: bytes, iterations: int) -> bytes:
        calls.append(iterations)
        return salted_password(mechanism, password, salt, iterations)

    monkeypatch.setattr(scram_passwords, "salted_password", counted)
    users = door(alice={"SCRAM_SHA_256": credential("secret")})
    assert not users.check("alice", "x")
    assert not users.check("nobody", "x")
    assert calls == [4_096, 4_096]
    assert not door().check("nobody", "x")
    assert calls[-1] == ITERATIONS


def test_what_is_remembered_is_bounded(monkeypatch: object) -> None:
    import pytest

    assert isinstance(monkeypatch, pytest.MonkeyPatch)
    monkeypatch.setattr(scram_passwords, "REMEMBERED_MAX", 2)
    assert REMEMBERED_MAX == 1_000
    names = ["a", "b", "c"]
    users = door(**{name: {"SCRAM_SHA_256": credential(name)} for name in names})
    assert all(users.check(name, name) for name in names)
    assert [users.known(name, name) for name in names] == [None, True, True]
