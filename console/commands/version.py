"""`kawal version`: the version of this installation."""

from __future__ import annotations

import argparse
import sys

from console.errors import OK
from console.help import describe

KAFKA_VERSION = "4.3"
"""The release of Apache Kafka whose protocol and behaviour are the measure."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    describe(
        parser,
        "Print the version of kawal, and with --verbose the versions of what it runs on.",
        [("version", "kawal's version alone, for scripts"), ("version --verbose", "for a bug report")],
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="also print what it runs on")


def run(arguments: argparse.Namespace) -> int:
    """Print the version."""
    from importlib.metadata import PackageNotFoundError, version  # 20 ms that other commands need not spend

    try:
        print(f"kawal {version('kawal')}")
    except PackageNotFoundError:
        print("kawal (not installed as a package)")
    if arguments.verbose:
        print(f"python {sys.version.split()[0]}")
        print(f"kafka protocol as of {KAFKA_VERSION}")
        for name in ("trio", "kafka-python", "construct"):
            print(f"{name} {version(name)}")
    return OK
