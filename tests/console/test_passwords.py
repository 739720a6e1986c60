"""Passwords come from the terminal, a file or standard input."""

from __future__ import annotations

import getpass
import io
import sys
from pathlib import Path

import pytest

from console.errors import CommandError, UsageError
from console.help import Parser
from console.passwords import add_password_file, read_password


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def answer(monkeypatch: pytest.MonkeyPatch, *passwords: str) -> None:
    """Sit at a terminal and type these."""
    typed = list(passwords)
    monkeypatch.setattr(sys, "stdin", Terminal())
    monkeypatch.setattr(getpass, "getpass", lambda _prompt: typed.pop(0))


def test_a_password_is_asked_for_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    answer(monkeypatch, "secret", "secret")
    assert read_password("alice", None) == "secret"


def test_two_different_ones_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    answer(monkeypatch, "secret", "secrte")
    with pytest.raises(UsageError, match="not the same"):
        read_password("alice", None)


def test_a_file_or_standard_input_has_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "secret"
    path.write_text(" a b \n")
    assert read_password("alice", str(path)) == " a b "
    monkeypatch.setattr(sys, "stdin", io.StringIO("secret"))
    assert read_password("alice", "-") == "secret"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "0 lines"),
        (b"a\nb\n", "2 lines"),
        (b"\n", "between 1"),
        (b"a\0b", "NUL"),
        (b"\xff", "not UTF-8"),
    ],
)
def test_what_is_no_password_is_refused(tmp_path: Path, content: bytes, problem: str) -> None:
    path = tmp_path / "secret"
    path.write_bytes(content)
    with pytest.raises(CommandError, match=problem):
        read_password("alice", str(path))


def test_without_a_terminal_the_cure_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    with pytest.raises(UsageError, match="--password-file"):
        read_password("alice", None)
    with pytest.raises(CommandError, match="No such file"):
        read_password("alice", str(tmp_path / "none"))


def test_a_password_as_an_argument_is_refused_with_the_cure() -> None:
    parser = Parser()
    add_password_file(parser)
    with pytest.raises(UsageError, match="others can read command lines"):
        parser.parse_args(["--password", "hunter2"])
    assert parser.parse_args(["--password-file", "-"]).password_file == "-"
