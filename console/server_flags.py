"""The flags of a server's configuration, the same for `kawal serve` and `kawal config show`."""

from __future__ import annotations

import argparse
import json
import os

from broker.config.config_keys import ConfigProblem, Setting
from broker.config.config_sources import LoadedConfig, flag_setting, load
from console.errors import CommandError

CONFIG_VARIABLE = "KAWAL_CONFIG"
"""The variable that names the configuration file when --config does not."""


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Declare the flags; each but --config and --set is short for one configuration key."""
    parser.add_argument("--listen", metavar="HOST:PORT", help="address to listen on; port 0 takes a free one")
    parser.add_argument("--data", metavar="DIR", help="data directory (default ./data)")
    parser.add_argument(
        "--config",
        metavar="FILE",
        help=f"file with settings, TOML or Kafka's server.properties (default ${CONFIG_VARIABLE})",
    )
    parser.add_argument(
        "--set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="set one configuration key; repeatable",
    )
    parser.add_argument(
        "--http",
        metavar="HOST:PORT",
        help="address of metrics and health over HTTP; 'none' turns it off (default 127.0.0.1:9644)",
    )
    parser.add_argument(
        "--advertise", metavar="HOST:PORT", help="address clients are told to connect to, when it differs"
    )
    parser.add_argument(
        "--workers", metavar="N", help="processes, each a node with a port of its own (default 1)"
    )
    parser.add_argument("--node", metavar="I", help="number of this node in kawal.cluster.nodes, from 0 on")
    parser.add_argument(
        "--insecure",
        action="store_true",
        help="allow addresses that other machines can reach, without passwords",
    )


def flags_of(arguments: argparse.Namespace) -> list[str]:
    """Return the flags again, for a program that is to read the same configuration; no secret is in them."""
    names = ("listen", "data", "config", "http", "advertise", "workers", "node")
    given = {name: getattr(arguments, name) for name in names}
    return [
        *(f"--set={text}" for text in arguments.set),
        *(f"--{name}={value}" for name, value in given.items() if value is not None),
        *(["--insecure"] if arguments.insecure else []),
    ]


def config_file(arguments: argparse.Namespace) -> str | None:
    """Return the path of the configuration file, if there is one."""
    return arguments.config or os.environ.get(CONFIG_VARIABLE) or None


def loaded_config(arguments: argparse.Namespace) -> LoadedConfig:
    """Return the effective configuration.  Raises: CommandError with the setting at fault and its place."""
    try:
        return read_again(arguments)
    except ConfigProblem as problem:
        raise CommandError(str(problem)) from problem


def read_again(arguments: argparse.Namespace) -> LoadedConfig:
    """Return what file, environment and flags say now.  Raises: ConfigProblem, with the place at fault."""
    return load(file=config_file(arguments), environment=os.environ, flags=_settings(arguments))


def _settings(arguments: argparse.Namespace) -> list[Setting]:
    settings = [flag_setting(text) for text in arguments.set]
    if arguments.listen is not None:
        settings.append(Setting("listeners", arguments.listen, "--listen"))
    if arguments.data is not None:
        settings.append(Setting("log.dirs", arguments.data, "--data"))
    if arguments.http is not None:
        settings.append(Setting("kawal.http.listen", arguments.http, "--http"))
    if arguments.advertise is not None:
        settings.append(Setting("advertised.listeners", arguments.advertise, "--advertise"))
    if arguments.workers is not None:
        settings.append(Setting("kawal.workers", arguments.workers, "--workers"))
    if arguments.node is not None:
        settings.append(Setting("kawal.cluster.node", arguments.node, "--node"))
    if arguments.insecure:
        settings.append(Setting("kawal.insecure", True, "--insecure"))
    return settings


def as_table(loaded: LoadedConfig) -> str:
    """Return every key with its value and where it was set."""
    rows = [(key.name, value, source) for key, value, source in loaded.rows()]
    widths = [max(len(row[column]) for row in rows) for column in range(2)]
    return "\n".join(f"{name:<{widths[0]}}  {value:<{widths[1]}}  {source}" for name, value, source in rows)


def as_json(loaded: LoadedConfig) -> str:
    """Return the same as one JSON object by key, values as Kafka writes them (null: not set)."""
    tree = {key.name: {"value": value or None, "source": source} for key, value, source in loaded.rows()}
    return json.dumps(tree, indent=2)
