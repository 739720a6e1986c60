"""`kawal testing-host`: the process behind the pytest fixtures `kawal` and `kawal_broker`."""

from __future__ import annotations

import argparse
import sys

from console.errors import UsageError
from console.help import describe


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    describe(
        parser,
        """Run brokers in memory for a test run.  The pytest plugin kawal-pytest starts one such process for
        each of its workers and ends it; there is no need to start it by hand.  It takes commands on standard
        input and ends when that does.

        The plugin is the package kawal-pytest.  It finds this command in its own environment or on
        PATH, or by the variable KAWAL_COMMAND.""",
        [
            ("testing-host < /dev/null", "say which version it is, and end with its input"),
            ("testing-host", "take commands on standard input, from the plugin"),
        ],
    )


def run(_: argparse.Namespace) -> int:
    """Serve until standard input ends.  Raises: UsageError on a terminal, which gives no commands."""
    if sys.stdin.isatty():
        raise UsageError(
            "testing-host takes commands from the pytest plugin, not from a terminal; see --help"
        )
    from broker.server.testing.host import main  # trio and the engine, which the sentence above does not need

    return main()
