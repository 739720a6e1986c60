"""Help that teaches."""

import argparse
from collections.abc import Callable

import pytest

from console.errors import UsageError
from console.help import HELP_COLUMNS, Actions, Parser, describe, dispatch, int16, int32, int64, utf8


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


@pytest.mark.parametrize(("kind", "largest"), [(int16, 32_767), (int32, 2_147_483_647), (int64, 2**63 - 1)])
def test_a_number_that_the_protocol_cannot_carry_is_refused(kind: Callable[[str], int], largest: int) -> None:
    assert (kind(f"{largest}"), kind(f"-{largest}")) == (largest, -largest)
    for text, problem in (
        (f"{largest + 1}", f"{largest + 1} is beyond {largest}"),
        (f"{-largest - 1}", f"{-largest - 1} is beyond -{largest}"),
        ("many", "'many' is not a whole number"),
        ("9" * 5_000, "is not a whole number"),
    ):
        with pytest.raises(argparse.ArgumentTypeError, match=problem):
            kind(text)


def test_help_that_cannot_be_written_is_an_error() -> None:
    with open("/dev/full", "w", encoding="utf-8") as full, pytest.raises(OSError, match="No space left"):
        colours()._print_message("help" * 10_000, full)


def test_a_name_is_text() -> None:
    assert utf8("größe") == "größe"
    with pytest.raises(argparse.ArgumentTypeError, match=r"'\\udcff' is not text in UTF-8"):
        utf8("\udcff")
