"""The commands that README, docs and the guides for contributors show exist, with their arguments."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from console.cli import COMMANDS, command_module, parser_of
from console.reference import actions_of

ROOT = Path(__file__).parent.parent
MADE = {"cli.md", "compatibility.md"}
"""Pages that are written by programs, from the same declarations."""
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "ARCHITECTURE.md")] + [
    page for page in sorted((ROOT / "docs").glob("*.md")) if page.name not in MADE
]
BLOCK = re.compile(r"^```\w*\n(.*?)^```", re.DOTALL | re.MULTILINE)
LINE = re.compile(r"(?:^|[|;(]|&& |\$ )\s*(?:\.venv/bin/)?kawal (\w.*)")
SPAN = re.compile(r"`kawal (\w[^`]*)`")

PRINTED = ("ready ", "console http")
"""The beginnings of lines that a server prints."""


def words(text: str) -> list[str]:
    """Return the words of a command, without what follows it in the shell."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars="|<>&;()")
    lexer.whitespace_split = True
    found = []
    for word in lexer:
        if set(word) <= set("|<>&;()"):
            break
        found.append(word)
    return found


def lines(page: str) -> Iterator[str]:
    """Yield the commands in blocks, without `kawal`; a statement in quotes may go on over lines."""
    for block in BLOCK.findall(page):
        rest = iter(block.replace("\\\n", " ").splitlines())
        for line in rest:
            for shown in LINE.findall(line):
                text = shown
                while text.count('"') % 2 or text.count("'") % 2:
                    text += "\n" + next(rest)
                if not text.startswith(PRINTED):
                    yield text


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_commands_in_blocks_can_be_given_so(page: Path) -> None:
    for line in lines(page.read_text()):
        name, *arguments = words(line)
        assert name in COMMANDS, line
        parser_of(name, command_module(name)).parse_args(arguments)


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_commands_in_sentences_have_these_actions_and_options(page: Path) -> None:
    for span in SPAN.findall(BLOCK.sub("", page.read_text())):
        name, *arguments = span.replace("\n", " ").split()
        assert name in COMMANDS, span
        parser: argparse.ArgumentParser = parser_of(name, command_module(name))
        actions = actions_of(parser)
        if actions and arguments and not arguments[0].startswith("-"):
            assert arguments[0] in actions, span
            parser = actions[arguments[0]]
        known = {option for argument in parser._actions for option in argument.option_strings}
        used = {word.split("=")[0] for word in arguments if word.startswith("--")}
        assert used <= known, span


def test_the_pages_show_more_than_a_hundred_commands() -> None:
    pages = [page.read_text() for page in PAGES]
    assert sum(len(list(lines(page))) + len(SPAN.findall(BLOCK.sub("", page))) for page in pages) > 100
