"""The documents of every command, argument and configuration key, which match the code."""

import argparse
import shlex
from itertools import takewhile
from pathlib import Path

import pytest

from broker.config.kafka_keys import KAFKA_KEYS, PROTECTIVE
from broker.config.kawal_topic_keys import KAWAL_TOPIC_KEYS
from broker.config.server_keys import KEYS
from broker.config.topic_keys import TOPIC_KEYS
from console.cli import COMMANDS, command_module, parser_of
from console.reference import actions_of, arguments_of, command_line, configuration

DOCS = Path(__file__).parents[2] / "docs"


def parsers() -> dict[str, argparse.ArgumentParser]:
    """Return the parser of every command and action, by the words that name it."""
    found: dict[str, argparse.ArgumentParser] = {}
    for name in COMMANDS:
        parser = parser_of(name, command_module(name))
        found[name] = parser
        found.update({f"{name} {action}": subparser for action, subparser in actions_of(parser).items()})
    return found


@pytest.mark.parametrize(
    ("name", "made"),
    [("configuration.md", configuration), ("cli.md", command_line)],
    ids=lambda one: str(one)[:13],
)
def test_the_documents_are_what_the_code_says(name: str, made: object) -> None:
    assert callable(made)
    assert (DOCS / name).read_text() == made(), "run python -m console.reference"


def test_every_command_and_action_is_documented_with_two_examples() -> None:
    text = (DOCS / "cli.md").read_text()
    for words, parser in parsers().items():
        assert f"# kawal {words}\n" in text
        assert parser.description, words
        assert (parser.epilog or "").count(f"  kawal {words}") >= 2, words


def words_of(line: str) -> list[str]:
    """Return the words of a command as a shell sees them, up to a redirection or the next command."""
    reader = shlex.shlex(line, posix=True, punctuation_chars="<>|&")
    reader.whitespace_split = True
    return list(takewhile(lambda word: not set(word) <= set("<>|&"), reader))


def test_every_example_can_be_parsed() -> None:
    for words, parser in parsers().items():
        for line in (parser.epilog or "").splitlines():
            if not line.startswith("  kawal "):
                continue
            example = words_of(line.strip().split("   ")[0])[1:]
            assert example[: len(words.split())] == words.split(), line
            command = parser_of(example[0], command_module(example[0]))
            command.parse_args(example[1:])


def test_every_argument_has_help() -> None:
    for words, parser in parsers().items():
        for argument in arguments_of(parser):
            assert argument.help, f"{words}: {argument.dest}"


def test_every_key_is_documented() -> None:
    text = (DOCS / "configuration.md").read_text()
    for key in [*KEYS.values(), *TOPIC_KEYS.values(), *KAWAL_TOPIC_KEYS.values()]:
        assert f"| `{key.name}` |" in text
        assert key.doc in text
    for name in KAFKA_KEYS:
        assert f"`{name}`" in text or name.startswith(PROTECTIVE)
