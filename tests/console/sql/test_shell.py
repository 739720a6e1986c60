"""The shell: statements over several lines, errors that end nothing, completion and the history."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from console.sql.results import Format, Result
from console.sql.shell import Completer, Shell, history_path, known_names, prepare_readline, show
from tests.broker.kit import create
from tests.console.sql.conftest import Sql


def typed(lines: list[str | type[BaseException]], prompts: list[str]) -> Callable[[str], str]:
    """Return a function that gives these lines in turn, and then the end."""
    left = iter(lines)

    def read_line(prompt: str) -> str:
        prompts.append(prompt)
        line = next(left, EOFError)
        if isinstance(line, str):
            return line
        raise line

    return read_line


def run_shell(sql: Sql, *lines: str | type[BaseException], form: Format = Format.TABLE) -> list[str]:
    prompts: list[str] = []
    Shell(sql.session, form, typed(list(lines), prompts)).loop()
    return prompts


def test_a_statement_runs_when_its_semicolon_comes(sql: Sql, capsys: pytest.CaptureFixture[str]) -> None:
    prompts = run_shell(sql, "CREATE DATABASE", "  power -- here", ";", "USE power; SHOW TOPICS;", "", "exit")
    assert capsys.readouterr().out == "created power\nusing power\nno rows\n"
    assert prompts == ["kawal> ", "    -> ", "    -> ", "kawal> ", "kawal:power> ", "kawal:power> "]


def test_an_error_ends_its_statement_only(sql: Sql, capsys: pytest.CaptureFixture[str]) -> None:
    run_shell(sql, "DROP TOPIC gone; SHOW NOTHING; SHOW TOPICS;")
    printed = capsys.readouterr()
    assert printed.out == "no rows\n"
    assert "'gone'" in printed.err
    assert "'SHOW NOTHING' is not a statement" in printed.err


def test_control_c_forgets_what_was_typed(sql: Sql, capsys: pytest.CaptureFixture[str]) -> None:
    prompts = run_shell(sql, "DROP TOPIC", KeyboardInterrupt, "QUIT;", "never")
    assert prompts == ["kawal> ", "    -> ", "kawal> "]
    assert capsys.readouterr().out == "\n"


def test_programs_get_rows_on_standard_output_only(capsys: pytest.CaptureFixture[str]) -> None:
    show(Result("created t"), Format.JSON)
    show(Result(columns=("a",), rows=[(1,)]), Format.CSV)
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("a\n1\n", "created t\n")


def test_words_and_names_are_completed() -> None:
    completer = Completer(lambda: ["late", "Lisbon"])
    assert completer.matches("sub") == ["subscribe", "subscriptions"]
    assert completer.matches("SUB") == ["SUBSCRIBE", "SUBSCRIPTIONS"]
    assert completer.matches("la") == ["late"]
    assert completer.matches("L") == ["LIMIT", "Lisbon"]
    assert [completer.complete("la", state) for state in (0, 1)] == ["late", None]


def test_names_are_those_that_the_server_has(sql: Sql, monkeypatch: pytest.MonkeyPatch) -> None:
    create(sql.gateway.client(), "flights")
    assert {"flights", "default", "information_schema.ins_topics"} <= set(known_names(sql.session))
    from console import admin
    from console.errors import CommandError

    def unreachable(*_: Any) -> Any:
        raise CommandError("no server")

    monkeypatch.setattr(admin, "ask_server", unreachable)
    assert "flights" not in known_names(sql.session)


class Readline:
    """The part of readline that is used; it writes its history as text."""

    def __init__(self) -> None:
        self.read: list[str] = []
        self.completer: Any = None

    def set_completer_delims(self, _delims: str) -> None:
        """Accept them."""

    def set_completer(self, completer: Any) -> None:
        self.completer = completer

    def parse_and_bind(self, _line: str) -> None:
        """Accept it."""

    def set_history_length(self, _length: int) -> None:
        """Accept it."""

    def read_history_file(self, path: str) -> None:
        self.read.append(path)

    def write_history_file(self, path: str) -> None:
        Path(path).write_text("SHOW TOPICS;\n")


def test_the_history_is_kept_for_its_user_alone(sql: Sql, tmp_path: Path) -> None:
    path = str(tmp_path / "kawal" / "sql_history")
    readline = Readline()
    keep = prepare_readline(readline, sql.session, path)
    assert readline.read == []
    keep()
    assert Path(path).stat().st_mode & 0o777 == 0o600
    prepare_readline(readline, sql.session, path)
    assert readline.read == [path]
    assert "SHOW" in (readline.completer("SHO", 0) or "")


def test_the_history_lies_with_the_users_state(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/state")
    assert history_path() == "/state/kawal/sql_history"
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", "/home/u")
    assert history_path() == "/home/u/.local/state/kawal/sql_history"
