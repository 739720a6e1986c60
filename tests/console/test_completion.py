"""The completions for shells, which know what the commands know."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from console.cli import COMMANDS
from console.completion import SHELLS, bash, fish, tree, zsh

SCRIPT = bash()


def complete(*words: str) -> list[str]:
    """Ask bash itself what it would offer after these words, the last of which is being typed."""
    script = (
        'kawal() { echo "orders $2 ${*:3}"; }\n'
        f"{SCRIPT}\nCOMP_WORDS=({' '.join(f'{word!r}' for word in words)}); COMP_CWORD={len(words) - 1}\n"
        '_kawal; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    ended = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert ended.stderr == ""
    return ended.stdout.split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("kawal", "to"), ["topics"]),
        (("kawal", "topics", "de"), ["describe", "delete", "delete-records"]),
        (("kawal", "topics", "alter", "--part"), ["--partitions"]),
        (("kawal", "configs", "describe", "to"), ["topic"]),
        (("kawal", "completion", "z"), ["zsh"]),
        (("kawal", "serve", "--print"), ["--print-config"]),
        (("kawal", "produce", "t", "--acks", "a"), ["all"]),
        (("kawal", "nothing", "x"), []),
        (("kawal", "consume", "o"), ["orders"]),
        (("kawal", "topics", "describe", "t"), ["topics"]),
        (("kawal", "groups", "describe", "g"), ["groups"]),
        (("kawal", "subscriptions", "--topic", "o"), ["orders"]),
        (("kawal", "consume", "--bootstrap", "h:1", "h"), ["h:1"]),
    ],
)
def test_bash_offers_what_may_come(words: tuple[str, ...], offered: list[str]) -> None:
    assert complete(*words) == offered


def test_bash_offers_every_command_first() -> None:
    assert set(complete("kawal", "")) >= set(COMMANDS)


def test_every_shell_knows_every_command_action_and_option() -> None:
    nodes = tree()
    for make in SHELLS.values():
        script = make()
        for node in nodes:
            assert node.words[-1] in script
            for option in node.options:
                for text in option.spellings:
                    assert text.lstrip("-") in script


def test_quotes_in_help_do_not_end_a_script_early() -> None:
    assert bash().count("'") % 2 == 0
    for line in [*zsh().splitlines(), *fish().splitlines()]:
        assert line.count("'") % 2 == 0, line


@pytest.mark.parametrize("shell", [shell for shell in SHELLS if shutil.which(shell)])
def test_the_shell_itself_finds_no_mistake(shell: str) -> None:
    checked = subprocess.run(
        [shell, "-n"], input=SHELLS[shell](), capture_output=True, text=True, check=False
    )
    assert (checked.returncode, checked.stderr) == (0, "")
