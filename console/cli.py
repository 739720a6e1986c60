"""The program `kawal`: it finds the command, imports only its module, runs it and ends with its exit code.

A command is a module of `console.commands` with two functions:

    configure(parser: argparse.ArgumentParser) -> None    declares arguments and examples (console.help)
    run(arguments: argparse.Namespace) -> int             does the work and returns the exit code

and one line in `COMMANDS`.  Nothing else is imported before the command is known, so that `kawal version` and
the start of `kawal serve` cost no more than they must.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

from console.errors import FAILED, INTERRUPTED, OK, USAGE, CommandError, UsageError

if TYPE_CHECKING:
    from console.help import Parser


class Command(NamedTuple):
    """One line of `kawal --help`, and the module that does the work."""

    module: str
    summary: str


COMMANDS: dict[str, Command] = {
    "serve": Command("console.commands.serve", "run the gateway"),
    "topics": Command("console.commands.topics", "list, create, describe, alter and delete topics"),
    "sql": Command("console.commands.sql", "run statements: views, databases, groups, rows; or a shell"),
    "console": Command("console.commands.console", "serve the web console for any broker"),
    "produce": Command("console.commands.produce", "send records read from standard input or files"),
    "consume": Command("console.commands.consume", "print the records of a topic"),
    "databases": Command("console.commands.databases", "list, create, describe, alter and drop databases"),
    "groups": Command("console.commands.groups", "list, describe, reset and delete consumer groups"),
    "consumers": Command("console.commands.consumers", "show the members of all groups"),
    "subscriptions": Command("console.commands.subscriptions", "show the progress and lag of all groups"),
    "transactions": Command("console.commands.transactions", "list, describe, find and abort transactions"),
    "messages": Command("console.commands.messages", "find messages by their ids, and their ids"),
    "producers": Command("console.commands.producers", "show last numbers of producers known by name"),
    "users": Command("console.commands.users", "list, add, alter and remove users who may log in"),
    "acls": Command("console.commands.acls", "list, add and remove rules about who may do what"),
    "queues": Command("console.commands.queues", "list, describe, look at and change share groups"),
    "quotas": Command("console.commands.quotas", "list, set and remove limits on what clients may take"),
    "audit": Command("console.commands.audit", "print who logged in, what was denied, what was changed"),
    "configs": Command("console.commands.configs", "show and change settings of topics, brokers, groups"),
    "cluster": Command("console.commands.cluster", "show nodes, sizes, features and clients of a cluster"),
    "pipe": Command("console.commands.pipe", "run data pipeline jobs on Spark"),
    "wal": Command("console.commands.wal", "inspect and check the files of a data directory"),
    "backup": Command("console.commands.backup", "copy a data directory, also beside a running server"),
    "restore": Command("console.commands.restore", "make a data directory from a backup"),
    "standby": Command("console.commands.standby", "follow a server's copy, and take its place"),
    "config": Command("console.commands.config", "show and explain the server's configuration"),
    "certs": Command("console.commands.certs", "make certificates for a first try of TLS"),
    "bench": Command("console.commands.bench", "measure a broker for a few seconds"),
    "doctor": Command("console.commands.doctor", "look for what would keep a server from working"),
    "health": Command("console.commands.health", "ask a server whether it answers"),
    "profile": Command("console.commands.profile", "keep brokers under names, with their logins"),
    "completion": Command("console.commands.completion", "print completions for bash, zsh or fish"),
    "testing-host": Command("console.commands.testing_host", "run the brokers of a test run (for pytest)"),
    "version": Command("console.commands.version", "print the version"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run `kawal` with these arguments (the process's own by default) and return its exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        code = _ended(words)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # The reader of our output has left, as `head` does; that is its right.
        _forget_output()
        return OK
    except OSError as error:
        _forget_output()
        where = f"{error.filename}: " if error.filename else "the output cannot be written: "
        return _fail(f"{where}{error.strerror or error}", FAILED)


def _ended(words: list[str]) -> int:
    """Run the command and return its exit code, with a sentence when it failed.  Raises: OSError."""
    try:
        return _run(words)
    except CommandError as error:
        return _fail(str(error), error.exit_code)
    except UnicodeEncodeError as error:
        return _fail(f"{error.object!r} is not text in UTF-8", FAILED)
    except UnicodeError as error:
        return _fail(f"text that is not UTF-8 was given: {error}", FAILED)
    except KeyboardInterrupt:
        return _fail("interrupted", INTERRUPTED)


def _forget_output() -> None:
    """Let nothing more be written: Python would try once more at exit, and complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(words: list[str]) -> int:
    if words[:1] == ["help"] and len(words) > 1:
        words = [*words[1:], "--help"]
    if not words or words[0] in ("-h", "--help", "help"):
        print(_overview())
        return OK if words else USAGE
    if words[0] in ("-V", "--version"):
        words = ["version", *words[1:]]
    name, *rest = words
    if name not in COMMANDS:
        raise UsageError(_unknown(name))
    module = command_module(name)
    parser = parser_of(name, module)
    try:
        arguments = parser.parse_args(rest)
    except SystemExit as done:  # argparse prints --help itself and then exits
        return done.code if isinstance(done.code, int) else OK
    if "command_config" in arguments and not vars(arguments).get("login"):  # else people bring their own
        from console.credentials import choose  # commands without connections need no credentials

        choose(arguments.command_config, arguments.bootstrap)
    code: int = module.run(arguments)
    return code


def command_module(name: str) -> ModuleType:
    """Import the module of the command `name`."""
    return import_module(COMMANDS[name].module)


def parser_of(name: str, module: ModuleType) -> Parser:
    """Return the parser of the command `name`, with its actions and arguments."""
    from console.help import Parser  # argparse is not needed to say what went wrong before

    parser = Parser(prog=f"kawal {name}")
    module.configure(parser)
    return parser


def _overview() -> str:
    width = max(map(len, COMMANDS))
    commands = "\n".join(f"  {name:<{width}}   {command.summary}" for name, command in COMMANDS.items())
    return f"""usage: kawal COMMAND …

A gateway that speaks the Kafka protocol over its own write-ahead log.

commands:
{commands}

examples:
  kawal serve                                   serve on 127.0.0.1:9092, data in ./data
  echo hello | kawal produce greetings          send one record
  kawal consume greetings --from earliest       print what the topic holds
  kawal COMMAND --help                          more about a command, with examples"""


def _unknown(name: str) -> str:
    import difflib  # only to word the mistake

    close = difflib.get_close_matches(name, list(COMMANDS), n=1)
    hint = f"did you mean '{close[0]}'?" if close else f"the commands are {', '.join(COMMANDS)}"
    return f"{name!r} is not a command; {hint}"


def _fail(sentence: str, code: int) -> int:
    from broker.server.logs import escaped  # not needed by commands that succeed

    # Names that clients chose may be in it; its own lines stay lines.
    shown = "".join(char if char in "\n\t" else escaped(char) for char in sentence)
    print(f"kawal: {shown}", file=sys.stderr)
    return code or FAILED


if __name__ == "__main__":
    sys.exit(main())
