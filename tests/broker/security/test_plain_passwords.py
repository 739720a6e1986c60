"""Users of PLAIN: clear passwords, hashed ones, and what is remembered of checks."""

from __future__ import annotations

import pytest

from broker.security import plain_passwords
from broker.security.plain_passwords import (
    FRESH_MS,
    PasswordFileError,
    PlainPasswords,
    hashed_password,
    is_password,
    read_lines,
)

SALT = bytes(range(16))
SECRET = hashed_password("secret", SALT)
OTHER = hashed_password("other", SALT)


class Clock:
    now_ms = 0

    def __call__(self) -> int:
        return self.now_ms


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def users() -> dict[str, str]:
    return {"alice": SECRET}


@pytest.fixture
def passwords(users: dict[str, str], clock: Clock) -> PlainPasswords:
    return PlainPasswords({"clear": "text"}, read=lambda: users, key=b"k" * 32, now_ms=clock)


@pytest.fixture
def hashings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list of passwords that were hashed."""
    seen: list[str] = []

    def counted(password: str, hashed: str) -> bool:
        seen.append(password)
        return is_password(password, hashed)

    monkeypatch.setattr(plain_passwords, "is_password", counted)
    return seen


def test_a_hash_is_that_of_its_password_alone() -> None:
    assert SECRET.startswith("$scrypt$ln=14,r=8,p=1$")
    assert "secret" not in SECRET
    assert is_password("secret", SECRET)
    assert not is_password("Secret", SECRET)


def test_clear_passwords_are_known_at_once(passwords: PlainPasswords) -> None:
    assert passwords.known("clear", "text") is True
    assert passwords.known("clear", "wrong") is False


def test_without_a_file_every_user_is_known() -> None:
    made = PlainPasswords({"a": "b"}, read=None, key=b"k" * 32, now_ms=int)
    assert [made.known("a", "b"), made.known("a", ""), made.known("x", "")] == [True, False, False]


def test_a_checked_password_is_known_for_a_while(
    passwords: PlainPasswords, clock: Clock, hashings: list[str]
) -> None:
    assert passwords.known("alice", "secret") is None
    assert passwords.check("alice", "secret") is True
    assert passwords.known("alice", "secret") is True
    clock.now_ms += FRESH_MS + 1
    assert passwords.known("alice", "secret") is None
    assert passwords.check("alice", "secret") is True
    assert hashings == ["secret"]


def test_a_wrong_password_is_remembered_too(passwords: PlainPasswords, hashings: list[str]) -> None:
    assert passwords.check("alice", "wrong") is False
    assert passwords.known("alice", "wrong") is False
    assert passwords.check("alice", "wrong") is False
    assert hashings == ["wrong"]


def test_an_unknown_user_costs_as_much_as_a_wrong_password(
    passwords: PlainPasswords, hashings: list[str]
) -> None:
    assert passwords.check("nobody", "") is False
    assert hashings == [""]


def test_a_changed_hash_and_a_removed_user_count_when_they_are_read(
    passwords: PlainPasswords, users: dict[str, str], clock: Clock
) -> None:
    assert passwords.check("alice", "secret")
    users["alice"] = OTHER
    assert not passwords.check("alice", "secret")
    assert passwords.check("alice", "other")
    del users["alice"]
    clock.now_ms += FRESH_MS + 1
    assert passwords.known("alice", "other") is None
    assert not passwords.check("alice", "other")


def test_what_is_remembered_is_bounded(passwords: PlainPasswords, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain_passwords, "REMEMBERED_MAX", 2)
    monkeypatch.setattr(plain_passwords, "is_password", lambda *_: False)
    for number in range(5):
        passwords.check("alice", str(number))
    assert [passwords.known("alice", str(number)) for number in range(5)] == [None, None, None, False, False]


def test_lines_are_read_with_comments_and_colons_in_names() -> None:
    assert read_lines(["# users", "", f"a:b:{SECRET}\n"], "f") == {"a:b": SECRET}


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (["alice"], r"f:1: not NAME:HASH"),
        ([f"a:{SECRET}", f"a:{SECRET}"], r"f:2: the user 'a' has a line already"),
        (["a:secret"], r"f:1: its hash is not"),
        (["a:$scrypt$ln=14,r=8,p=1$AA$AA"], r"f:1: .*salt or a length"),
        ([f"a:{SECRET}".replace("ln=14", "ln=30")], r"f:1: .*more than 64 MiB"),
        ([f"a:{SECRET}".replace("ln=14", "ln=x")], r"f:1: its hash"),
        ([f"a:{SECRET}".replace("p=1", "p=9")], r"f:1: its hash needs"),
    ],
)
def test_a_wrong_line_is_named(lines: list[str], problem: str) -> None:
    with pytest.raises(PasswordFileError, match=problem) as error:
        read_lines(lines, "f")
    assert "a:secret" not in str(error.value)
