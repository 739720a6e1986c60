"""Help that teaches: every command and action says what it does and shows at least two examples."""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Callable, Sequence
from typing import Any

from console.errors import UsageError

Example = tuple[str, str]
"""A command line (without `kawal`) and what it does."""

HELP_COLUMNS = 100


class Parser(argparse.ArgumentParser):
    """An argument parser that keeps the lines of its texts and leaves ending the program to `main`."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"formatter_class": argparse.RawDescriptionHelpFormatter, **options})

    def error(self, message: str) -> Any:
        """Raise the problem as one sentence that names the command."""
        raise UsageError(f"{message}; see '{self.prog} --help'")

    def _print_message(self, message: str, file: Any = None) -> None:
        """Print help.  argparse would say nothing of an output that is full."""
        if message:
            (file or sys.stderr).write(message)


def utf8(text: str) -> str:
    """Return the name of a topic or group; kafka-python would wait for ever with one that it cannot send."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise argparse.ArgumentTypeError(f"{text!r} is not text in UTF-8") from None
    return text


def int16(text: str) -> int:
    """Return the argument of an option that Kafka's protocol carries in 16 bits."""
    return _whole_number(text, 16)


def int32(text: str) -> int:
    """Return the argument of an option that Kafka's protocol carries in 32 bits, as partitions."""
    return _whole_number(text, 32)


def int64(text: str) -> int:
    """Return the argument of an option that Kafka's protocol carries in 64 bits, as offsets."""
    return _whole_number(text, 64)


def _whole_number(text: str, bits: int) -> int:
    largest = (1 << bits - 1) - 1
    try:
        number = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
    if not -largest <= number <= largest:
        raise argparse.ArgumentTypeError(f"{number} is beyond {largest if number > 0 else -largest}")
    return number


def describe(parser: argparse.ArgumentParser, description: str, examples: Sequence[Example]) -> None:
    """Give `parser` its description (paragraphs, filled here) and examples."""
    paragraphs = (" ".join(paragraph.split()) for paragraph in description.split("\n\n"))
    parser.description = "\n\n".join(textwrap.fill(paragraph, HELP_COLUMNS) for paragraph in paragraphs)
    width = max(len(command) for command, _ in examples)
    if width > 60:
        lines = [f"  kawal {command}\n      {meaning}" for command, meaning in examples]
    else:
        lines = [f"  kawal {command:<{width}}   {meaning}" for command, meaning in examples]
    parser.epilog = "examples:\n" + "\n".join(lines)


class Actions:
    """The actions of a command such as `topics`: `add` declares one, `dispatch` runs the one named."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self._prog = parser.prog
        self._subparsers = parser.add_subparsers(
            title="actions", dest="action_name", metavar="ACTION", parser_class=Parser
        )
        parser.set_defaults(run_action=self._ask_for_one)

    def _ask_for_one(self, _: argparse.Namespace) -> int:
        names = ", ".join(self._subparsers.choices)
        raise UsageError(f"say what to do: {names}; see '{self._prog} --help'")

    def add(
        self,
        name: str,
        *,
        summary: str,
        description: str,
        examples: Sequence[Example],
        run: Callable[[argparse.Namespace], int],
    ) -> argparse.ArgumentParser:
        """Declare the action `name`; the caller adds its arguments to the parser returned."""
        parser: argparse.ArgumentParser = self._subparsers.add_parser(name, help=summary)
        describe(parser, description, examples)
        parser.set_defaults(run_action=run)
        return parser


def dispatch(arguments: argparse.Namespace) -> int:
    """Run the action the user named."""
    code: int = arguments.run_action(arguments)
    return code
