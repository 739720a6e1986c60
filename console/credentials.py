"""The security of this process's connections: that of --command-config, else that of the profile.

A command talks to the brokers of one address, and every connection that it makes has the same security: it
is chosen once, before the command runs.  The settings of a profile are for the addresses of the profile, and
for no others, so that no password goes to another server.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from console.errors import CommandError
from console.outgoing import rules
from console.profiles import PROFILE_VARIABLE, load, path_of
from console.security import KEYS, PLAIN, Security, kept, security_of

if TYPE_CHECKING:
    from broker.config.properties import Property


def add_command_config(parser: argparse.ArgumentParser) -> None:
    """Declare --command-config."""
    parser.add_argument(
        "--command-config",
        metavar="FILE",
        help="client settings for TLS and logins, as Kafka's tools take them (default: those of the profile)",
    )


class _Chosen:
    """The choice of this process."""

    security: Security = PLAIN


_CHOSEN = _Chosen()


def chosen() -> Security:
    """Return the security of connections: that of the work that runs, else that of the process."""
    over = rules()
    return _CHOSEN.security if over is None else over.security


def choose(file: str | None, bootstrap: str | None, environment: Mapping[str, str] = os.environ) -> None:
    """Choose the security of a command's connections to an address.  Raises: CommandError."""
    _CHOSEN.security = PLAIN
    if file is not None:
        _CHOSEN.security = security_of(from_file(file), file)
        return
    profiles = load(environment)
    name = environment.get(PROFILE_VARIABLE) or profiles.in_use
    settings = profiles.profiles.get(name, {}) if name else {}
    if bootstrap is not None and settings.get("bootstrap") == bootstrap:
        where = f"profile {name!r} in {path_of(environment)}"
        _CHOSEN.security = security_of(from_profile(settings, where), where)


def from_profile(settings: Mapping[str, str], where: str) -> dict[str, Property]:
    """Return the settings of a profile that are about security."""
    from broker.config.properties import Property  # most profiles have no such settings

    return {key: Property(key, value, where) for key, value in settings.items() if key in KEYS}


def from_file(path: str) -> dict[str, Property]:
    """Return the settings of a file of properties; say which others it has.  Raises: CommandError."""
    from broker.config.properties import PropertiesFileError, read_properties  # most are given no file

    try:
        known, others = kept(read_properties(path))
    except PropertiesFileError as error:
        raise CommandError(str(error)) from error
    if others:
        print(f"kawal: {path}: without effect here: {', '.join(others)}", file=sys.stderr)
    return known
