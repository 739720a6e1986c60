"""`kawal testing-host`: the process behind the pytest fixtures `kawal` and `kawal_broker`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from console.errors import OK, UsageError
from console.help import describe


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    describe(
        parser,
        """Run brokers in memory for a test run.  The pytest plugin kawal_pytest starts one such process for
        each of its workers and ends it; there is no need to start it by hand.  It takes commands on standard
        input and ends when that does.

        Where Kawal cannot be installed beside the code under test, because that has packages of the same
        names, install it in an environment of its own, set KAWAL_EXECUTABLE to its command, and copy the
        plugin, which needs nothing but pytest.""",
        [
            ("testing-host --plugin", "print where the plugin is, to copy it"),
            ("testing-host", "take commands on standard input"),
        ],
    )
    parser.add_argument("--plugin", action="store_true", help="print the folder of the pytest plugin and end")


def run(arguments: argparse.Namespace) -> int:
    """Serve until standard input ends.  Raises: UsageError on a terminal, which gives no commands."""
    if arguments.plugin:
        print(Path(__file__).parents[2] / "kawal_pytest")
        return OK
    if sys.stdin.isatty():
        raise UsageError(
            "testing-host takes commands from the pytest plugin, not from a terminal; see --help"
        )
    from broker.server.testing.host import main  # trio and the engine, which --plugin does not need

    return main()
