"""Help that teaches."""

import argparse

import pytest

from console.errors import UsageError
from console.help import HELP_COLUMNS, Actions, Parser, describe, dispatch


def colours() -> Parser:
    parser = Parser(prog="kawal colours")
    describe(
        parser, "Show\n   colours.\n\nAnd more.", [("colours red", "the first"), ("colours blue", "another")]
    )
    actions = Actions(parser)
    red = actions.add(
        "red", summary="the red one", description="Red.", examples=[("colours red", "red")], run=lambda _: 7
    )
    red.add_argument("--dark", action="store_true")
    return parser


def test_the_description_is_filled_and_examples_are_aligned() -> None:
    text = colours().format_help()
    assert "Show colours.\n\nAnd more." in text
    assert "  kawal colours red    the first\n  kawal colours blue   another" in text


def test_long_examples_put_their_meaning_on_a_line_of_its_own() -> None:
    parser = Parser(prog="kawal x")
    describe(parser, "word " * 60, [("x " + "y" * 70, "meaning")])
    assert "y\n      meaning" in parser.format_help()
    assert parser.description is not None
    assert max(map(len, parser.description.splitlines())) <= HELP_COLUMNS


def test_the_action_named_is_run() -> None:
    assert dispatch(colours().parse_args(["red", "--dark"])) == 7


def test_without_an_action_the_actions_are_named() -> None:
    with pytest.raises(UsageError, match="say what to do: red; see 'kawal colours --help'"):
        dispatch(colours().parse_args([]))


@pytest.mark.parametrize("words", [["green"], ["red", "--light"]])
def test_a_wrong_argument_is_a_usage_error(words: list[str]) -> None:
    with pytest.raises(UsageError, match="see 'kawal colours"):
        colours().parse_args(words)


def test_the_parser_of_an_action_has_its_own_examples() -> None:
    actions = next(action for action in colours()._actions if isinstance(action, argparse._SubParsersAction))
    assert "  kawal colours red   red" in actions.choices["red"].format_help()
