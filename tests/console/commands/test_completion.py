"""`kawal completion`."""

from __future__ import annotations

import pytest

from console.cli import main
from console.commands import completion as command
from console.completion import SHELLS


@pytest.mark.parametrize("shell", command.SHELLS)
def test_the_script_is_printed(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    assert capsys.readouterr().out == SHELLS[shell]()


def test_another_shell_is_a_mistake(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "tcsh"]) == 2
    assert "invalid choice: 'tcsh'" in capsys.readouterr().err


def test_the_shells_are_those_there_are_scripts_for() -> None:
    assert tuple(SHELLS) == command.SHELLS
