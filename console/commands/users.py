"""`kawal users`: who may log in, by SCRAM through a server, by PLAIN in a file."""

from __future__ import annotations

import argparse
import json

from broker.security.scram import ITERATIONS
from broker.server.logs import escaped
from console.client import add_bootstrap
from console.errors import OK, CommandError, UsageError
from console.help import Actions, describe, int32
from console.help import dispatch as run
from console.passwords import add_password_file, read_password
from console.tables import table
from console.users import (
    WORDS,
    file_users,
    hashed,
    listed,
    mechanisms_of,
    remove,
    set_password,
    word_of,
    write_file,
)

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the actions."""
    describe(
        parser,
        """Users who may log in.  Those of SCRAM are kept by the server, of any Kafka broker; those of PLAIN
        may be in a file with hashed passwords, which a server reads (kawal.sasl.plain.users).

        Passwords are asked for, or read from a file or standard input, and are never arguments.""",
        [
            ("users add alice", "ask for a password; alice may log in by SCRAM"),
            (
                "users add alice --file /etc/kawal/users",
                "the same by PLAIN, with the password hashed in a file",
            ),
        ],
    )
    actions = Actions(parser)
    _add_setting(actions, "add", "add a user", _add)
    _add_setting(actions, "alter", "change a user's password", _alter)
    action = actions.add(
        "list",
        summary="list users and their mechanisms",
        description="List users with their mechanisms; a server tells no more about them.",
        examples=[
            ("users list", "all users of SCRAM"),
            ("users list --file /etc/kawal/users --json", "those of PLAIN in a file, for a program"),
        ],
        run=_list,
    )
    action.add_argument("--json", action="store_true", help="print a JSON list")
    _add_place(action)
    action = actions.add(
        "remove",
        summary="remove a user",
        description="Remove a user.  Connections that are logged in stay until they end.",
        examples=[
            ("users remove alice", "alice may not log in by SCRAM any more"),
            ("users remove alice --mechanism SCRAM-SHA-256", "not by this mechanism, but by the other"),
        ],
        run=_remove,
    )
    action.add_argument("name", metavar="NAME", help="name of the user")
    action.add_argument("--mechanism", choices=WORDS, help="this mechanism alone (default: all)")
    _add_place(action)


def _add_setting(actions: Actions, word: str, summary: str, run_it: object) -> None:
    action = actions.add(
        word,
        summary=summary,
        description=f"""{summary.capitalize()}.  The server gets keys made of the password, not the password
            itself.  The next login counts; connections that are logged in stay.""",
        examples=[
            (f"users {word} alice", "ask for the password"),
            (f"users {word} alice --password-file - < secret", "read it from standard input"),
        ],
        run=run_it,  # type: ignore[arg-type]
    )
    action.add_argument("name", metavar="NAME", help="name of the user")
    action.add_argument("--mechanism", choices=WORDS, help="for this mechanism alone (default: both)")
    action.add_argument(
        "--iterations",
        metavar="COUNT",
        type=int32,
        default=ITERATIONS,
        help=f"rounds of hashing by SCRAM, 4096 to 16384 (default {ITERATIONS})",
    )
    add_password_file(action)
    _add_place(action)


def _add_place(action: argparse.ArgumentParser) -> None:
    action.add_argument("--file", metavar="FILE", help="file of PLAIN users, in place of a server")
    add_bootstrap(action)


def _add(arguments: argparse.Namespace) -> int:
    return _set(arguments, is_new=True)


def _alter(arguments: argparse.Namespace) -> int:
    return _set(arguments, is_new=False)


def _set(arguments: argparse.Namespace, *, is_new: bool) -> int:
    name, file = arguments.name, arguments.file
    if not name or "\0" in name or "\n" in name:
        raise UsageError("a user's name has at least one character, and neither NUL nor a line end")
    known = file_users(file) if file else dict.fromkeys(mechanisms_of(arguments.bootstrap, name), "")
    exists = name in known if file else bool(known)
    if exists and is_new:
        raise CommandError(f"the user {name!r} exists; change the password with 'kawal users alter'")
    if not exists and not is_new:
        raise CommandError(f"there is no user {name!r}; add it with 'kawal users add'")
    password = read_password(name, arguments.password_file)
    if file:
        write_file(file, {**file_users(file), name: hashed(password)})
        return OK
    chosen = [WORDS[arguments.mechanism]] if arguments.mechanism else list(WORDS.values())
    for mechanism in chosen:
        set_password(arguments.bootstrap, name, password, mechanism, arguments.iterations)
    return OK


def _list(arguments: argparse.Namespace) -> int:
    if arguments.file:
        rows = [{"user": name, "mechanisms": {"PLAIN": None}} for name in sorted(file_users(arguments.file))]
    else:
        rows = [
            {
                "user": found.user,
                "mechanisms": {word_of(info.mechanism): info.iterations for info in found.credential_infos},
            }
            for found in listed(arguments.bootstrap)
        ]
    if arguments.json:
        print(json.dumps(rows, indent=2))
    elif not rows:
        print("there are no users")
    else:
        shown = [[escaped(str(row["user"])), ", ".join(row["mechanisms"])] for row in rows]
        print(table(["USER", "MECHANISMS"], shown))
    return OK


def _remove(arguments: argparse.Namespace) -> int:
    name = arguments.name
    if arguments.file:
        users = file_users(arguments.file)
        if users.pop(name, None) is None:
            raise CommandError(f"there is no user {name!r} in {arguments.file}")
        write_file(arguments.file, users)
        return OK
    found = mechanisms_of(arguments.bootstrap, name)
    if arguments.mechanism:
        found = [mechanism for mechanism in found if mechanism is WORDS[arguments.mechanism]]
    if not found:
        raise CommandError(f"there is no user {name!r}, or not of this mechanism")
    for mechanism in found:
        remove(arguments.bootstrap, name, mechanism)
    return OK
