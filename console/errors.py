"""The errors that end a command.

CommandError        one sentence on standard error, exit code 1
├── UsageError      the same for a wrong argument, exit code 2, with a pointer to the help
├── Refused         the server's answer has an error code
└── Interrupted     stopped by Ctrl-C, exit code 130, with what was done until then

NotTls, a ConnectionError, ends a connection and not yet a command: another address may do.
"""

from __future__ import annotations

OK, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130
"""Exit codes: done, could not be done, wrong arguments, stopped by Ctrl-C (128 + SIGINT, as shells count)."""


class CommandError(Exception):
    """A sentence for the user: what happened, to which thing, and what to do about it."""

    exit_code = FAILED


class UsageError(CommandError):
    """An argument that cannot be used."""

    exit_code = USAGE


class Refused(CommandError):
    """A request to which the server has answered with an error code of Kafka's."""

    def __init__(self, code: int, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code

    def __reduce__(self) -> tuple[type[Refused], tuple[int, str]]:
        return type(self), (self.code, str(self))


class Interrupted(CommandError):
    """Ctrl-C, with what was done until then."""

    exit_code = INTERRUPTED


class NotTls(ConnectionError):
    """A server that does not answer in TLS, with what to do about it."""
