"""Passwords as commands take them: from the terminal, a file or standard input, never from arguments."""

from __future__ import annotations

import argparse
import sys
from typing import Final

from console.errors import CommandError, UsageError

PASSWORD_CHARACTERS_MAX: Final = 1_024


class _Refused(argparse.Action):
    """An argument that many will try; without it, it would count as short for --password-file."""

    def __call__(self, *_: object) -> None:
        raise UsageError("others can read command lines; give the password by --password-file FILE, or -")


def add_password_file(parser: argparse.ArgumentParser) -> None:
    """Declare --password-file."""
    parser.add_argument(
        "--password-file",
        metavar="FILE",
        help="file whose one line is the password; - is standard input (default: ask at the terminal)",
    )
    parser.add_argument("--password", action=_Refused, help=argparse.SUPPRESS)


def read_password(user: str, file: str | None) -> str:
    """Return the password of a user.  Raises: CommandError, UsageError."""
    if file is not None:
        password = _from_file(file)
    elif sys.stdin.isatty():
        from getpass import getpass  # most commands ask for no password

        password = getpass(f"password of {user}: ")
        if getpass("once more: ") != password:
            raise UsageError("the two passwords are not the same")
    else:
        raise UsageError("there is no terminal to ask for the password; give --password-file FILE, or -")
    if not password or "\0" in password or len(password) > PASSWORD_CHARACTERS_MAX:
        raise UsageError(
            f"the password must have between 1 and {PASSWORD_CHARACTERS_MAX} characters, none of them NUL"
        )
    return password


def _from_file(file: str) -> str:
    try:
        if file == "-":
            lines = sys.stdin.read().splitlines()
        else:
            with open(file, encoding="utf-8") as stream:
                lines = stream.read().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise CommandError(f"cannot read the password from {file}: {reason}") from error
    if len(lines) != 1:
        raise UsageError(f"{file} has {len(lines)} lines, and a password is one line")
    return lines[0]
