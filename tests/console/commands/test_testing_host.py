"""`kawal testing-host`."""

from __future__ import annotations

import io
import sys

import pytest

from console.cli import main


def test_a_person_at_a_terminal_is_told_who_starts_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal = io.StringIO()
    terminal.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr(sys, "stdin", terminal)
    assert main(["testing-host"]) == 2
    assert "takes commands from the pytest plugin" in capsys.readouterr().err


def test_with_a_pipe_it_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    from broker.server.testing import host

    monkeypatch.setattr(sys, "stdin", io.StringIO())
    monkeypatch.setattr(host, "main", lambda: 0)
    assert main(["testing-host"]) == 0
