"""`kawal sql`: views, databases, groups and rows by statements: one, a file of them, or a shell."""

from __future__ import annotations

import argparse
import sys

from console.client import add_bootstrap
from console.errors import OK, CommandError, UsageError
from console.help import describe
from console.sql.results import Format
from console.sql.script import statements
from console.sql.session import Session
from console.sql.shell import interact, show
from console.sql.statements import run as run_statement


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    describe(
        parser,
        """Run statements in TDengine's syntax: those given, those of a file, those of standard input, or, at
        a terminal without any, those that you type into a shell with completion and a history.

        There are CREATE, RELOAD, DROP, SHOW and DESCRIBE of topics; CREATE, ALTER, DROP, USE, SHOW and
        DESCRIBE of databases; CREATE, ALTER and DROP of supertables and tables; SHOW CONSUMERS,
        SUBSCRIPTIONS, GROUPS, VGROUPS, STABLES and TABLES; DROP CONSUMER GROUP; INSERT; and SELECT from
        information_schema and from topics.  A topic made AS SELECT or AS STABLE is a view: it stores nothing,
        and shows its source's records that match to every Kafka client.  See docs/tdengine.md and
        docs/views.md.

        Semicolons separate statements; the first that fails ends the run, and is named by its line.""",
        [
            (
                'sql "CREATE TOPIC late AS SELECT carrier, delay FROM flights WHERE delay > 15"',
                "a view of the records that match, with these members",
            ),
            (
                "sql \"CREATE TOPIC lisbon AS STABLE flights WHERE origin = 'LIS'\"",
                "a view by tags, values kept",
            ),
            (
                'sql "CREATE TOPIC bad AS UNFIT flights"',
                "the records that do not fit the topic's columns, and why",
            ),
            ('sql "SHOW TOPICS; SHOW SUBSCRIPTIONS" --format csv', "rows, for a program"),
            (
                "sql \"SELECT topic_name FROM information_schema.ins_topics WHERE type = 'query'\"",
                "what is there, by a query",
            ),
            ("sql --file example.sql", "the statements of a file"),
            ("sql", "a shell"),
        ],
    )
    parser.add_argument("statement", metavar="STATEMENT", nargs="?", help="statements, in quotes")
    parser.add_argument("--file", "-f", metavar="FILE", help="run the statements of this file")
    parser.add_argument(
        "--format",
        choices=[form.value for form in Format],
        help="how rows are printed; sentences go to standard error with json and csv (default: table)",
    )
    parser.add_argument("--json", action="store_true", help="short for --format json")
    add_bootstrap(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the statements."""
    if arguments.statement is not None and arguments.file is not None:
        raise UsageError("give statements or --file, not both")
    if arguments.json and arguments.format not in (None, "json"):
        raise UsageError(f"--json and --format {arguments.format} contradict each other")
    form = Format.JSON if arguments.json else Format(arguments.format or "table")
    session = Session(arguments.bootstrap)
    if arguments.statement is None and arguments.file is None and sys.stdin.isatty():
        interact(session, form)
    else:
        _run_all(session, _text(arguments), form)
    return OK


def _text(arguments: argparse.Namespace) -> str:
    if arguments.statement is not None:
        return str(arguments.statement)
    if arguments.file is None:
        return sys.stdin.read()
    try:
        with open(arguments.file, encoding="utf-8") as stream:
            return stream.read()
    except OSError as error:
        raise CommandError(f"cannot read {arguments.file}: {error.strerror}") from error


def _run_all(session: Session, text: str, form: Format) -> None:
    """Run statements one after the other.  Raises: CommandError, UsageError for the first that fails."""
    every = statements(text)
    if not every:
        raise UsageError('there is no statement; try "SHOW TOPICS"')
    for written in every:
        try:
            show(run_statement(session, written.text), form)
        except CommandError as error:
            if len(every) > 1:
                raise type(error)(f"line {written.line}: {error}") from error
            raise
