"""The options of `kawal profile set` for TLS and logins, made into the settings that a profile keeps."""

from __future__ import annotations

import argparse
import os
from typing import Final

from broker.config.properties import Property
from console.credentials import from_file
from console.errors import UsageError
from console.passwords import add_password_file, read_password
from console.security import (
    CA,
    CERTIFICATE,
    FILES,
    HOST_CHECK,
    JAAS,
    KEY,
    KEY_PASSWORD,
    MECHANISM,
    MECHANISMS,
    PASSWORD,
    PROTOCOL,
    PROTOCOLS,
    USER,
    security_of,
)

OPTIONS: Final = {
    PROTOCOL: "protocol",
    MECHANISM: "mechanism",
    USER: "user",
    CA: "ca",
    CERTIFICATE: "certificate",
    KEY: "key",
}
"""The options by the settings that they give."""


def add_security_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--from", dest="from_file", metavar="FILE", help="client settings as Kafka's tools take them"
    )
    parser.add_argument("--protocol", choices=PROTOCOLS, help="whether to encrypt and to log in")
    parser.add_argument("--mechanism", choices=MECHANISMS, help="how to log in")
    parser.add_argument("--user", metavar="NAME", help="the user to log in as")
    add_password_file(parser)
    parser.add_argument("--ca", metavar="FILE", help="PEM file of the authorities that sign for the broker")
    parser.add_argument("--certificate", metavar="FILE", help="PEM file of a certificate for the client")
    parser.add_argument("--key", metavar="FILE", help="PEM file of its key (default: the certificate's)")
    parser.add_argument("--key-password-file", metavar="FILE", help="file with the password of the key")
    parser.add_argument(
        "--any-host-name", action="store_true", help="accept a certificate for another host name"
    )


def security_settings(arguments: argparse.Namespace) -> dict[str, str] | None:
    """Return the settings to keep; None when the options give none.  Raises: CommandError, UsageError."""
    known = from_file(arguments.from_file) if arguments.from_file else {}
    found = {key: each.value for key, each in known.items()}
    given = {key: value for key, name in OPTIONS.items() if (value := getattr(arguments, name)) is not None}
    found |= given
    _add_secrets(found, arguments)
    if arguments.any_host_name:
        found[HOST_CHECK] = ""
    for key in FILES:
        if key in found:
            found[key] = os.path.abspath(found[key])
    if not found:
        return None
    source = arguments.from_file or "the command line"
    places = {key: known[key].place for key in known.keys() - given.keys()}
    security = security_of(
        {key: Property(key, value, places.get(key, source)) for key, value in found.items()}, source
    )
    if security.encrypts:
        from console.secure_connection import context_of

        context_of(security)  # says which file cannot be used
    return {} if security.protocol == "PLAINTEXT" else found


def _add_secrets(found: dict[str, str], arguments: argparse.Namespace) -> None:
    """Read the passwords that files and the terminal give.  Raises: CommandError, UsageError."""
    if arguments.key_password_file is not None:
        found[KEY_PASSWORD] = read_password("the key", arguments.key_password_file)
    has_one = PASSWORD in found or JAAS in found
    if arguments.password_file is not None and USER not in found:
        raise UsageError("--password-file is given without --user; add the name of the user")
    if USER in found and (arguments.password_file is not None or not has_one):
        found[PASSWORD] = read_password(found[USER], arguments.password_file)
        found.pop(JAAS, None)
