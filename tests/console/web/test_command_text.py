"""Commands that a page shows mean what the page would do, whatever the names are."""

from __future__ import annotations

import shlex
from argparse import Namespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.cli import command_module, parser_of
from console.web.command_text import command, config_options, option

NAMES = st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=12)
HOSTILE = NAMES | st.sampled_from(
    ["-x", "--", "--yes", "--bootstrap=evil:1", "it's", "a -- b", "-", "$(id)", "\n"]
)


def parsed(text: str) -> Namespace:
    """Return what the command line understands, as a shell divides it."""
    kawal, name, *words = shlex.split(text)
    assert kawal == "kawal"
    return parser_of(name, command_module(name)).parse_args(words)


@given(name=HOSTILE)
def test_a_topic_is_named_whatever_its_name_begins_with(name: str) -> None:
    arguments = parsed(command("b:1", "topics delete", name, options="--yes"))
    assert arguments.bootstrap == "b:1"
    assert arguments.yes
    assert name in vars(arguments).values() or [name] in vars(arguments).values()


# argparse takes no "--" as the value of an option (bpo-14364); a key alone is never the whole value.
VALUES = HOSTILE.filter(lambda text: text != "--")


@given(name=HOSTILE, key=VALUES, value=VALUES)
def test_options_have_the_values_given(name: str, key: str, value: str) -> None:
    setting = f"{key}={value}"
    arguments = parsed(command("b:1", "topics create", name, options=config_options({key: value})))
    assert arguments.config == [setting]
    options = f"{option('topic', value)} {option('to', key)}"
    arguments = parsed(command("b:1", "groups reset-offsets", name, options=options))
    assert (arguments.topic, arguments.to) == ([value], key)


@pytest.mark.parametrize("statement", ["-- a comment\nSHOW TOPICS", "SELECT '--' FROM t"])
def test_a_statement_may_begin_with_a_comment(statement: str) -> None:
    assert statement in vars(parsed(command("b:1", "sql", statement))).values()


def test_names_stand_where_readers_expect_them_as_long_as_they_can() -> None:
    assert (
        command("b:1", "topics delete", "t", options="--yes") == "kawal topics delete t --yes --bootstrap b:1"
    )
    assert command("b:1", "topics delete", "-t") == "kawal topics delete --bootstrap b:1 -- -t"
