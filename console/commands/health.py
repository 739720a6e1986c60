"""`kawal health`: ask a server whether it answers, for the health checks of containers and supervisors."""

from __future__ import annotations

import argparse
import os

from broker.config.config_keys import ConfigProblem
from console.credentials import add_command_config
from console.errors import OK, CommandError
from console.health import ask_health, own_address
from console.help import describe


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    describe(
        parser,
        """Ask a server for its APIs, as every Kafka client does first, and end with 0 if it answers without
        an error, else with 1.  Without --bootstrap, ask the server that this environment configures: the
        first of KAWAL_LISTENERS, or of the listeners in the file that KAWAL_CONFIG names.""",
        [
            ("health", "the server of this machine, or of this container"),
            ("health --bootstrap 10.0.0.5:9092", "any Kafka broker"),
        ],
    )
    parser.add_argument("--bootstrap", metavar="HOST:PORT", help="server to ask")
    add_command_config(parser)


def run(arguments: argparse.Namespace) -> int:
    """Ask the server.  Raises: CommandError when there is no answer, or a bad one."""
    try:
        address = arguments.bootstrap or own_address(os.environ)
    except ConfigProblem as error:
        raise CommandError(str(error)) from error
    health = ask_health(address)
    print(f"{address} answers: {health.apis} APIs, {health.milliseconds:.1f} ms")
    return OK
