"""Wrong command lines: made of every command's own arguments, and the mistakes that people make.

Each must end with one sentence on standard error and the code for it: 2 for an argument, 1 for what could not
be done.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import subprocess
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from console.cli import COMMANDS, command_module, main, parser_of
from console.help import int16, int32, int64
from console.reference import actions_of, arguments_of

NOBODY = "127.0.0.1:1"
"""An address at which nothing listens."""

WHOLE_NUMBERS = (int16, int32, int64)
UNASKED = ("produce", "sql", "completion", "pipe")
"""Commands that read their input first, or need no broker for what they are given."""
STATEMENTS = (
    "SELECT",
    "DROP TOPIC gone",
    "CREATE TOPIC v AS SELECT x FROM gone",
    "FROB",
    "SELECT * FROM",
    "SELECT * FROM there LIMIT 99999999999999999999",
    "SELECT * FROM there LIMIT -1",
    "(" * 5_000,
    "SELECT \udcff FROM there",
)
NOT_UTF8 = "\udcff"
"""An argument that is no text, as Python has the byte 0xff."""
NAMING = (
    (2, "topics create"),
    (2, "topics delete"),
    (2, "topics describe"),
    (2, "topics delete-records --before 0"),
    (2, "consume"),
    (2, "consume there --group"),
    (1, "produce"),
    (2, "groups describe"),
    (2, "groups delete"),
    (2, "groups reset-offsets"),
    (1, "configs describe topic"),
    (2, "configs alter topic there --set"),
    (1, "databases create"),
    (1, "databases describe"),
    (1, "subscriptions --group"),
    (1, "transactions describe"),
    (1, "queues describe"),
    (1, "producers describe"),
    (1, "quotas set --produce-bytes 5 --user"),
    (1, "acls list --topic"),
    (1, "users remove"),
)
"""Exit codes, and commands whose last argument is a name."""
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
    (2, "consume there --from 0000-01-01", True),
    (2, "consume there --group=", True),
    (2, "topics create", True),
    (2, "topics create ok --partitions 99999999999", True),
    (2, "topics create ok --replication-factor 99999", True),
    (1, "topics create .", True),
    (1, "topics list --bootstrap a..b:1", False),
    (2, "topics list --bootstrap ::1", False),
    (2, "topics list --bootstrap [::1]:99999", False),
    (1, "topics list --bootstrap [::1]:1,127.0.0.1:1", False),
    (1, "topics list --command-config /no/such/file", True),
    (1, "topics list --command-config /", True),
    (1, "groups reset-offsets g --topic gone --to earliest", True),
    (2, "groups reset-offsets g --topic there --by-duration forever", True),
    (1, "groups reset-offsets g --from-file /", True),
    (1, "queues describe gone", True),
    (1, "queues peek gone", True),
    (2, "queues peek gone -n 0", True),
    (2, "quotas set --user u", True),
    (2, "quotas set --produce-bytes 5", True),
    (1, "quotas set --user u --produce-bytes nan", True),
    (1, "quotas set --user u --produce-bytes 1e400", True),
    (1, "users remove gone", True),
    (2, "users add u", True),
    (1, "users add u --password-file /no/such/file", True),
    (2, "acls add --user u --operation fly --topic there", True),
    (1, "acls list", True),
    (1, "audit /no/such/file", False),
    (2, "audit", False),
    (1, "transactions abort gone", True),
    (1, "transactions describe gone", True),
    (2, "transactions abort --topic there", True),
    (1, "producers describe gone", True),
    (2, "profile use gone", False),
    (2, "profile delete gone", False),
    (2, "profile set a --bootstrap nonsense", False),
    (1, "wal verify /no/such/place", False),
    (1, "wal inspect /no/such/place", False),
    (1, "databases create ok --vnodes 0", True),
    (2, "bench --seconds nan", True),
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
        if argument.type in WHOLE_NUMBERS:
            yield Wrong((*words, *given, spelled, "many"), 2)
            yield Wrong((*words, *given, spelled, "9" * 30), 2)
        if argument.choices:
            yield Wrong((*words, *given, spelled, "frobnicate"), 2)
        if "--bootstrap" in argument.option_strings and words[0] not in UNASKED:
            yield Wrong((*words, *given, "--bootstrap", "localhost"), 2)


def _is_needed(argument: argparse.Action) -> bool:
    return argument.required and argument.nargs not in ("*", "?")


def _given(argument: argparse.Action) -> list[str]:
    """Return a value for an argument that must be there."""
    value = (
        str(next(iter(argument.choices)))
        if argument.choices
        else "1"
        if argument.type in WHOLE_NUMBERS
        else "thing"
    )
    return [argument.option_strings[-1], value] if argument.option_strings else [value]


def tried(bootstrap: str, http: str) -> list[Wrong]:
    """Return the mistakes of people, against a server with the topic `there` and its HTTP port."""
    here = ("--bootstrap", bootstrap)
    found = [Wrong((*text.split(), *(here if asks else ())), code) for code, text, asks in MISTAKES]
    for statement in STATEMENTS:
        found.append(Wrong(("sql", statement, *here), 1 if "gone" in statement else 2))
    for command in ASKING:
        for address in (NOBODY, http):
            found.append(Wrong((*command.split(), "--bootstrap", address), 1))
    for code, command in NAMING:
        found.append(Wrong((*command.split(), NOT_UTF8, *here), code))
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


ROUGH: tuple[tuple[int, str], ...] = (
    (1, "kawal consume full > /dev/full"),
    (1, "kawal consume full --json > /dev/full"),
    (1, "kawal consume full --format '%o %s\\n' > /dev/full"),
    (1, "kawal topics list > /dev/full"),
    (1, "kawal cluster describe --json > /dev/full"),
    (1, "kawal version > /dev/full"),
    (1, "kawal --help > /dev/full"),
    (1, "kawal consume --help > /dev/full"),
    (0, "kawal consume full >&-"),
    (0, "kawal topics list >&-"),
    (0, "kawal consume full | head -1; exit ${PIPESTATUS[0]}"),
    (0, "kawal consume full --json | head -1; exit ${PIPESTATUS[0]}"),
    (0, "kawal produce full <&-"),
    (0, "kawal produce full --json <&-"),
    (2, "kawal sql <&-"),
    (1, "kawal produce full /"),
    (1, "kawal produce full /no/such/file"),
    (1, "echo '{' | kawal produce full --json"),
    (1, """echo '{"value":"x","timestamp":99999999999999999999999}' | kawal produce full --json"""),
    (1, """echo '{"value":"x","timestamp":9223372036854775807}' | kawal produce full --json"""),
    (1, """echo '{"value":"x","partition":99999999999999999999999}' | kawal produce full --json"""),
    (1, """printf '[%.0s' {1..100000} | kawal produce full --json"""),
    (1, "head -c 3000000 /dev/zero | kawal produce full"),
    (0, "env -u HOME kawal topics list"),
    (0, "env HOME=/no/such/place kawal profile list"),
    (0, "LC_ALL=C LANG=C PYTHONIOENCODING=ascii kawal consume full -n 1"),
    (2, "LC_ALL=C kawal consume $'\\xff\\xfe'"),
    (2, "KAWAL_BOOTSTRAP=nonsense kawal topics list"),
    (2, "env -u KAWAL_BOOTSTRAP KAWAL_PROFILE=gone kawal topics list"),
    (1, "XDG_CONFIG_HOME=/dev/null kawal profile set a --bootstrap h:1"),
    (1, "kawal consume full --command-config /bin/true"),
    (1, "kawal serve --config /"),
    (1, "kawal serve --config /bin/true"),
    (1, "kawal serve --data /dev/null --listen 127.0.0.1:0 --http none"),
    (1, "kawal serve --data /proc/none --listen 127.0.0.1:0 --http none"),
    (1, 'kawal serve --data "$DATA" --listen 127.0.0.1:0 --http none'),
    (1, 'kawal serve --data "$FOLDER/a" --listen "$KAWAL_BOOTSTRAP" --http none'),
    (1, 'kawal serve --data "$FOLDER/b" --listen 127.0.0.1:0 --http "$KAWAL_BOOTSTRAP"'),
    (1, 'kawal serve --data "$FOLDER/c" --listen 0.0.0.0:0 --http none'),
    (1, 'kawal serve --data "$FOLDER/d" --listen nonsense --http none'),
    (1, 'kawal backup --data "$DATA" --to /proc/none'),
    (1, 'kawal restore /dev/null --data "$FOLDER/e"'),
)
"""Exit code and a line for bash with $KAWAL_BOOTSTRAP, its $DATA, an empty $FOLDER and the topic `full`."""


def problem_with_rough(code: int, line: str, variables: Mapping[str, str]) -> str | None:
    """Run a line by bash; return what is wrong with how it ended, if anything."""
    ended = subprocess.run(
        ["bash", "-c", line],
        env=variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    said = ended.stderr.decode()
    told = said.startswith(("kawal: ", "produced ")) and said.count("\n") == 1
    if ended.returncode == code and (told or (code == 0 and not said)):
        return None
    return f"{line}: code {ended.returncode} instead of {code}, said {said!r}"
