"""`kawal audit`: print and filter the audit log of a server."""

from __future__ import annotations

import argparse
import json
import sys
from datetime import UTC, datetime

from broker.server.logs import escaped
from console.audit_lines import HEADINGS, Wanted, events_of, files_of, row_of, since_of
from console.errors import OK, UsageError
from console.help import describe
from console.server_flags import add_flags, loaded_config


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    describe(
        parser,
        """Print the events of an audit log, the oldest first: logins, denied requests, and changes.  It reads
        the file that kawal.audit.file names, and beside it the older ones and those of other workers; no
        server is asked.  What the events and their fields mean is in docs/audit.md.""",
        [
            ("audit /var/log/kawal/audit.log", "all of a file"),
            ("audit --config server.properties --since 2h", "the last two hours of a server's log"),
            ("audit audit.log --user User:alice --event login", "the logins of one user"),
            ("audit audit.log --event request.denied --json", "for a program: a JSON object in each line"),
        ],
    )
    parser.add_argument("file", metavar="FILE", nargs="?", help="the audit log (default: kawal.audit.file)")
    add_flags(parser)
    parser.add_argument("--since", metavar="TIME", help="only events since a time, or for a duration (2h)")
    parser.add_argument("--user", metavar="PRINCIPAL", help="only events of this user, such as User:alice")
    parser.add_argument("--event", metavar="NAME", help="only these events; login stands for login.…")
    parser.add_argument("--json", action="store_true", help="print the lines as they are")


def run(arguments: argparse.Namespace) -> int:
    """Print the events.  Raises: CommandError, UsageError."""
    since = since_of(arguments.since, datetime.now(UTC)) if arguments.since else None
    wanted = Wanted(since, arguments.user or "", arguments.event or "")
    unreadable = 0
    if not arguments.json:
        print("  ".join(HEADINGS))
    for event in events_of(files_of(_path(arguments))):
        if event is None:
            unreadable += 1
        elif wanted.has(event):
            print(json.dumps(event) if arguments.json else escaped("  ".join(row_of(event))))
    if unreadable:
        print(f"kawal: {unreadable} lines are no events, as a crash can leave them", file=sys.stderr)
    return OK


def _path(arguments: argparse.Namespace) -> str:
    if arguments.file:
        return str(arguments.file)
    path = loaded_config(arguments).config.kawal_audit_file
    if path is None:
        raise UsageError("there is no audit log: name its file, or the server's settings with --config")
    return path
