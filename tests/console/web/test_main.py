"""`python -m console.web` ends with a code and a sentence."""

from __future__ import annotations

import subprocess
import sys

import pytest

from console.errors import CommandError
from console.web import __main__ as program


def test_it_serves_what_it_is_handed(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[tuple[str, ...]] = []
    monkeypatch.setattr(program, "serve_handed_over", given.append)
    monkeypatch.setattr("sys.argv", ["console.web", "--data=/d"])
    assert program.main() == 0
    assert given == [("--data=/d",)]


def test_a_hand_over_that_cannot_be_used_is_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(_flags: tuple[str, ...]) -> None:
        raise CommandError("no socket")

    monkeypatch.setattr(program, "serve_handed_over", refuse)
    assert program.main() == 1
    assert capsys.readouterr().err == "kawal: no socket\n"


def test_an_error_of_ours_is_in_the_log(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_flags: tuple[str, ...]) -> None:
        raise ZeroDivisionError("on purpose")

    monkeypatch.setattr(program, "serve_handed_over", fail)
    assert program.main() == 1
    assert "ZeroDivisionError: on purpose" in caplog.text


def test_the_console_brings_no_broker_into_its_memory() -> None:
    code = (
        "import sys, console.web.start;"
        "rooms = ('core', 'start', 'requests', 'handlers', 'catalogue', 'storage', 'connections', 'upkeep');"
        "print([name for name in sys.modules if name.startswith(tuple(f'broker.{room}' for room in rooms))])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "[]\n"
