"""`kawal serve`: run the gateway until SIGTERM or Ctrl-C."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from console.errors import OK, CommandError
from console.help import describe
from console.passwords import add_password_file
from console.server_flags import add_flags, as_table, config_file, flags_of, loaded_config, read_again

if TYPE_CHECKING:
    from broker.server.console_host import ConsoleProgram


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    describe(
        parser,
        """Serve Kafka clients from a data directory.  The server prints 'kawal ready HOST:PORT' on standard
        output once it answers, and then the address of its web console; SIGTERM or Ctrl-C ends it cleanly,
        SIGHUP makes it read its file again.

        A setting comes from a flag, else from the environment (KAWAL_NUM_PARTITIONS for num.partitions), else
        from the file (TOML, or Kafka's server.properties), else it has its default ('kawal config
        explain' lists them all).""",
        [
            ("serve", "serve on 127.0.0.1:9092, data in ./data"),
            ("serve --listen 127.0.0.1:0 --data /tmp/try", "take a free port, for a test"),
            ("serve --config kawal.toml --set num.partitions=8", "a file, and one setting changed"),
            ("serve --workers 4", "four processes, on ports 9092 to 9095, for more than one core"),
            ("serve --config kawal.toml --node 1", "serve as one node of kawal.cluster.nodes"),
            ("serve --config server.properties", "serve as Kafka did by the same file"),
            (
                "serve --config kawal.toml --add-user admin --password-file secret",
                "add the first user who may log in",
            ),
            (
                "serve --config kawal.toml --print-config",
                "show the settings and their sources, without serving",
            ),
        ],
    )
    add_flags(parser)
    parser.add_argument(
        "--add-user",
        metavar="NAME",
        help="add this user of SCRAM before clients are served, unless it exists; asks for the password",
    )
    add_password_file(parser)
    parser.add_argument(
        "--print-config",
        action="store_true",
        help="print the effective configuration with its sources and end",
    )


def run(arguments: argparse.Namespace) -> int:
    """Serve.  Raises: CommandError when the server cannot start."""
    return serve(arguments)


def serve(arguments: argparse.Namespace, *, took_over: bool = False) -> int:
    """Serve; `took_over`: as the standby that has just ended the server before.  Raises: as `run`."""
    loaded = loaded_config(arguments)
    for warning in loaded.warnings:
        print(f"kawal: warning: {warning}", file=sys.stderr)
    if arguments.print_config:
        print(as_table(loaded))
        return OK
    # Imports and the replay of the logs leave little garbage; the server turns the collector on again.
    gc.disable()
    from broker.server.listeners import StartError
    from broker.server.run import main  # trio and the engine are not needed to refuse a bad setting
    from wal.disk_errors import DiskError
    from wal.errors import StoreError

    try:
        load = partial(read_again, arguments) if config_file(arguments) else None
        users = None
        if arguments.add_user is not None:
            users = _first_user(arguments.add_user, arguments.password_file)
        kind: Callable[..., int] = partial(main, took_over=took_over)
        if loaded.config.kawal_workers > 1:
            from broker.server.supervisor import supervise  # not needed by one process

            kind = supervise
        elif loaded.config.kawal_cluster_nodes:
            from broker.server.node_place import serve_node  # nor by one that is alone

            kind = partial(serve_node, took_over=took_over)
        return kind(
            loaded.config, ready=_announce, load=load, users=users, console=_console_program(arguments)
        )
    except (StartError, StoreError, DiskError) as error:
        raise CommandError(str(error)) from error


def _first_user(name: str, password_file: str | None) -> dict[str, dict[str, str]]:
    """Return the credentials of a user who is to be there before the first client."""
    from console.passwords import read_password  # not needed without --add-user
    from console.users import first_credentials

    return {name: first_credentials(read_password(name, password_file))}


def _console_program(arguments: argparse.Namespace) -> ConsoleProgram:
    """Return the program of the web console, which finds these packages where they are.

    It gets the flags of this server, so that it can look at the machine as 'kawal doctor' does.
    """
    from broker.server.console_host import ConsoleProgram

    packages = str(Path(__file__).resolve().parents[2])
    path = os.pathsep.join(filter(None, (packages, os.environ.get("PYTHONPATH"))))
    # -P: not the folder in which the server was started, which may have packages of these names.
    command = (sys.executable, "-P", "-m", "console.web", *flags_of(arguments))
    return ConsoleProgram(command, {"PYTHONPATH": path}, _announce_console)


def _announce_console(url: str) -> None:
    print(f"kawal console {url}", flush=True)


def _announce(address: str) -> None:
    print(f"kawal ready {address}", flush=True)
