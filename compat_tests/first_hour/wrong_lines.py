"""Wrong command lines: made of every command's own arguments, and the mistakes that people make.

Each must end with one sentence on standard error and the code for it: 2 for an argument, 1 for what could not
be done.
"""

from __future__ import annotations

import argparse
import contextlib
import io
from collections.abc import Iterator
from typing import NamedTuple

from console.cli import COMMANDS, command_module, main, parser_of
from console.reference import actions_of, arguments_of

NOBODY = "127.0.0.1:1"
"""An address at which nothing listens."""


UNASKED = ("produce", "sql", "completion", "pipe")
"""Commands that read their input first, or need no broker for what they are given."""
STATEMENTS = ("SELECT", "DROP TOPIC gone", "CREATE TOPIC v AS SELECT x FROM gone", "FROB", "SELECT * FROM")
ASKING = ("topics list", "consume there", "groups list", "subscriptions", "cluster describe", "health")


MISTAKES: tuple[tuple[int, str, bool], ...] = (
    (2, "topcs list", False),
    (2, "", False),
    (2, "help-me", False),
    (1, "topics describe gone", True),
    (1, "topics delete gone", True),
    (1, "topics create there", True),
    (1, "topics create a/b", True),
    (1, "topics create ok --config retention.mss=5", True),
    (2, "topics create ok --config retention.ms", True),
    (1, "topics create ok --partitions 0", True),
    (1, "topics alter gone --partitions 3", True),
    (1, "topics alter there --partitions 1", True),
    (2, "topics alter there", True),
    (2, "topics delete --pattern (", True),
    (1, "topics delete-records gone --before latest", True),
    (2, "topics delete-records there --before soon", True),
    (1, "topics delete-records there --before 0 -p 9", True),
    (1, "consume gone", True),
    (1, "consume there -p 9", True),
    (1, "consume there --from 99", True),
    (2, "consume there --from soon", True),
    (2, "consume there --format %q", True),
    (2, "consume there --json --format %s", True),
    (2, "consume there --group g --partition 0", True),
    (2, "consume there -n 0", True),
    (1, "produce there -p 9", True),
    (1, "produce there /no/such/file", True),
    (2, "produce there --header x", True),
    (2, "produce there --json file", True),
    (1, "groups describe gone", True),
    (1, "groups delete gone", True),
    (1, "configs describe topic gone", True),
    (1, "configs describe broker 99", True),
    (1, "configs alter topic there --set retention.ms=never", True),
    (1, "configs alter topic there --set kawal.columns=5", True),
    (2, "configs alter topic there", True),
    (1, "databases describe gone", True),
    (1, "databases drop gone", True),
    (2, "wal", False),
    (1, "backup --data /no/such/place --to /no/such/backup", False),
    (1, "restore /no/such/backup --data /no/such/place", False),
    (1, "serve --config /no/such/file.toml", False),
    (2, "pipe run /no/such/job.toml", False),
)
"""Exit code, words, and whether they are said to a server."""


class Wrong(NamedTuple):
    """A command line, and the exit code that it must end with."""

    words: tuple[str, ...]
    code: int


def made() -> Iterator[Wrong]:
    """Yield wrong lines for every command and action: unknown, missing, extra and malformed arguments."""
    for name in COMMANDS:
        parser = parser_of(name, command_module(name))
        yield from _of((name,), parser)
        for action, subparser in actions_of(parser).items():
            yield from _of((name, action), subparser)
        if actions_of(parser):
            yield Wrong((name, "frobnicate"), 2)


def _of(words: tuple[str, ...], parser: argparse.ArgumentParser) -> Iterator[Wrong]:
    yield Wrong((*words, "--frobnicate"), 2)
    if actions_of(parser):
        return
    arguments = arguments_of(parser)
    needed = [argument for argument in arguments if _is_needed(argument)]
    if needed and words != ("sql",):
        yield Wrong(words, 2)
    given = [word for argument in needed for word in _given(argument)]
    for argument in arguments:
        if not argument.option_strings:
            continue
        spelled = argument.option_strings[-1]
        if argument.nargs != 0:
            yield Wrong((*words, *given, spelled), 2)
        if argument.type is int:
            yield Wrong((*words, *given, spelled, "many"), 2)
        if argument.choices:
            yield Wrong((*words, *given, spelled, "frobnicate"), 2)
        if "--bootstrap" in argument.option_strings and words[0] not in UNASKED:
            yield Wrong((*words, *given, "--bootstrap", "localhost"), 2)


def _is_needed(argument: argparse.Action) -> bool:
    return argument.required and argument.nargs not in ("*", "?")


def _given(argument: argparse.Action) -> list[str]:
    """Return a value for an argument that must be there."""
    value = (
        str(next(iter(argument.choices))) if argument.choices else "1" if argument.type is int else "thing"
    )
    return [argument.option_strings[-1], value] if argument.option_strings else [value]


def tried(bootstrap: str, http: str) -> list[Wrong]:
    """Return the mistakes of people, against a server with the topic `there` and its HTTP port."""
    here = ("--bootstrap", bootstrap)
    found = [Wrong((*text.split(), *(here if asks else ())), code) for code, text, asks in MISTAKES]
    for statement in (
        "SELECT",
        "DROP TOPIC gone",
        "CREATE TOPIC v AS SELECT x FROM gone",
        "FROB",
        "SELECT * FROM",
    ):
        found.append(Wrong(("sql", statement, *here), 1 if "gone" in statement else 2))
    for command in (
        "topics list",
        "consume there",
        "groups list",
        "subscriptions",
        "cluster describe",
        "health",
    ):
        for address in (NOBODY, http):
            found.append(Wrong((*command.split(), "--bootstrap", address), 1))
    return found


def problem_with(line: Wrong) -> str | None:
    """Run a line in this process; return what is wrong with how it ended, if anything."""
    said, printed = io.StringIO(), io.TextIOWrapper(io.BytesIO())
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(printed):
            code = main(line.words)
    except BaseException as error:  # noqa: BLE001  (whatever it is, a user would see a traceback)
        return f"kawal {' '.join(line.words)}: {error!r}"
    sentence = said.getvalue()
    if not line.words:
        return None if code == line.code else f"kawal: ended with {code}"
    one_line = sentence.startswith("kawal: ") and sentence.count("\n") == 1 and len(sentence) > 20
    if code == line.code and one_line:
        return None
    return f"kawal {' '.join(line.words)}: code {code} instead of {line.code}, said {sentence!r}"
