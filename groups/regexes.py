"""Subscriptions by regular expression: checked, and resolved to the topics whose whole name matches.

RE2 matches, as in Kafka: its time grows with the length of the name only, whatever pattern a client sends.
Each pattern in use is matched against all topics once, and then against new ones.
Source: KIP-848, "Regular expressions"; https://github.com/google/re2/wiki/Syntax.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from groups.errors import InvalidRegularExpression
from groups.topics import Topics

PROGRAM_BYTES_MAX: Final = 1 << 20
"""Memory RE2 may use for one pattern: patterns that would need more are refused."""

INSTRUCTION_BYTES: Final = 32
"""Memory for an instruction of a pattern's program: 16 bytes, in two programs, for either direction."""


class RegexIndex:
    """The topics that match each pattern in use."""

    __slots__ = ("_compiled", "_matches", "_topics")

    def __init__(self, topics: Topics) -> None:
        self._topics = topics
        self._compiled: dict[str, Any] = {}
        self._matches: dict[str, set[str]] = {}

    def resolve(self, regex: str) -> frozenset[str]:
        """Return the names of the topics that match.

        Raises: InvalidRegularExpression.
        """
        found = self._matches.get(regex)
        if found is None:
            pattern = compiled(regex)
            self._compiled[regex] = pattern
            found = {name for name in self._topics.by_name if pattern.fullmatch(name)}
            self._matches[regex] = found
        return frozenset(found)

    def __contains__(self, regex: str) -> bool:
        return regex in self._compiled

    def program_bytes(self, regex: str) -> int:
        """Return the memory of a pattern that was resolved."""
        return INSTRUCTION_BYTES * int(self._compiled[regex].programsize)

    def forget(self, regex: str) -> None:
        """Forget a pattern that is not in use after all."""
        del self._matches[regex], self._compiled[regex]

    def changed(self, created: Iterable[str], deleted: Iterable[str]) -> None:
        """Update the matches for topics created and deleted."""
        gone = set(deleted)
        come = list(created)
        for regex, found in self._matches.items():
            found.difference_update(gone)
            pattern = self._compiled[regex]
            found.update(name for name in come if pattern.fullmatch(name))

    def forget_unused(self, used: Iterable[str]) -> None:
        """Keep only the patterns in `used`."""
        for regex in set(self._matches).difference(used):
            del self._matches[regex], self._compiled[regex]


def compiled(regex: str) -> Any:
    """Return a pattern, ready to match.  Raises: InvalidRegularExpression."""
    import re2  # 10 ms, and few groups subscribe by pattern.

    options = re2.Options()
    options.max_mem = PROGRAM_BYTES_MAX
    options.log_errors = False
    try:
        return re2.compile(regex, options=options)
    except re2.error as error:
        reason = error.args[0]
        text = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        raise InvalidRegularExpression(f"the regular expression {regex!r} is invalid: {text}") from error
