"""Subscriptions by regular expression: checked, and resolved to the topics whose whole name matches.

RE2 matches, as in Kafka: its time grows with the length of the name only, whatever pattern a client sends.
Each pattern in use is matched against all topics once, and then against new ones.  The first time takes 1 us
and more for each topic, so beside very many a thread does it, before the heartbeat that brings the pattern:

    index.search(regex) --thread--> search.run() --> the heartbeat resolves it --> index.end(search)

Source: KIP-848, "Regular expressions"; https://github.com/google/re2/wiki/Syntax.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from typing import Any, Final

from groups.errors import InvalidRegularExpression
from groups.topics import Topics

TOPICS_AT_ONCE: Final = 1_000
"""The topics that are matched without a thread, in 1 to 2 ms."""

PROGRAM_BYTES_MAX: Final = 1 << 20
"""Memory RE2 may use for one pattern: patterns that would need more are refused."""

INSTRUCTION_BYTES: Final = 32
"""Memory for an instruction of a pattern's program: 16 bytes, in two programs, for either direction."""


Sees = Callable[[str], bool]
"""Whether a member may see the topic of that name."""


class Search:
    """A look of a thread at all topics for those that match a pattern, which is not in use yet."""

    __slots__ = ("found", "names", "pattern", "regex")

    def __init__(self, regex: str, names: list[str]) -> None:
        self.regex = regex
        self.names = names
        self.pattern: Any = None
        self.found: set[str] = set()

    def run(self) -> None:
        """Match; a pattern that is invalid is left to `resolve`."""
        try:
            pattern = compiled(self.regex)
        except InvalidRegularExpression:
            return
        self.found = {name for name in self.names if pattern.fullmatch(name)}
        self.pattern = pattern


class RegexIndex:
    """The topics that match each pattern in use."""

    __slots__ = ("_changed", "_compiled", "_groups", "_matches", "_sees", "_topics", "asking", "searches")

    def __init__(self, topics: Topics) -> None:
        self._topics = topics
        self._compiled: dict[str, Any] = {}
        self._matches: dict[str, set[str]] = {}
        # The searches that have not ended, and the topics that came and went since the first of them began.
        self.searches: list[Search] = []
        self._changed: dict[str, bool] = {}
        # The eyes with which a group's pattern looks at topics: those of the member that brought it.
        self._sees: dict[tuple[str, str], Sees] = {}
        # The number of groups that have each pattern.
        self._groups: Counter[str] = Counter()
        self.asking: Sees | None = None
        """Those of the member whose request is served; None: it may see all topics."""

    def follow(self, group_id: str, regex: str) -> None:
        """Let a group's pattern match what the member may see whose request is served."""
        if self.asking is not None:
            self._sees[group_id, regex] = self.asking
        else:
            self._sees.pop((group_id, regex), None)

    def told(self, group_id: str, slot: Hashable, is_there: bool) -> None:
        """Learn that a group has a pattern now, or has it no longer; other slots are none of its business.

        A pattern that no group has is forgotten at once: a member may bring another with each heartbeat.
        """
        match slot:
            case ("regex", str(regex)):
                self._groups[regex] += 1 if is_there else -1
                if not is_there:
                    self.drop(group_id, regex)

    def drop(self, group_id: str, regex: str) -> None:
        """Forget that a group's pattern is followed, and the pattern if no group has it."""
        self._sees.pop((group_id, regex), None)
        if not self._groups[regex]:
            del self._groups[regex]
            self._matches.pop(regex, None)
            self._compiled.pop(regex, None)

    def is_followed(self, group_id: str, regex: str) -> bool:
        """Whether it is known what a group's pattern may match: after a start, from a heartbeat on."""
        return (group_id, regex) in self._sees

    def visible(self, group_id: str, regex: str, *, known: frozenset[str] | None = None) -> frozenset[str]:
        """Return the names of the topics that match a group's pattern and that may be seen.

        `known` are those that matched before, and no other ones can be added as long as it is not known whose
        eyes count; None: none are hidden.
        Raises: InvalidRegularExpression.
        """
        found = self.resolve(regex)
        sees = self._sees.get((group_id, regex))
        if sees is not None:
            return frozenset(filter(sees, found))
        return found if known is None else found & known

    def needs_search(self, regex: str) -> bool:
        """Whether a thread should search before a pattern is resolved, as that takes long."""
        if regex in self._matches:
            return False
        return len(self._topics.by_name) > TOPICS_AT_ONCE or "re2" not in sys.modules

    def search(self, regex: str) -> Search:
        """Begin a search: `run` is for a thread, and `end` must follow."""
        search = Search(regex, list(self._topics.by_name))
        self.searches.append(search)
        return search

    def end(self, search: Search) -> None:
        """Forget a search."""
        self.searches.remove(search)
        if not self.searches:
            self._changed.clear()

    def resolve(self, regex: str) -> frozenset[str]:
        """Return the names of the topics that match.

        Raises: InvalidRegularExpression.
        """
        found = self._matches.get(regex)
        if found is None:
            pattern, found = self._searched(regex)
            self._compiled[regex], self._matches[regex] = pattern, found
        return frozenset(found)

    def _searched(self, regex: str) -> tuple[Any, set[str]]:
        """Return a pattern and what matches it, as a thread has found it or by a search of its own."""
        for search in self.searches:
            if search.regex == regex and (pattern := search.pattern) is not None:
                found = search.found
                for name, is_there in self._changed.items():
                    if is_there and pattern.fullmatch(name):
                        found.add(name)
                    elif not is_there:
                        found.discard(name)
                search.pattern = None
                return pattern, found
        pattern = compiled(regex)
        return pattern, {name for name in self._topics.by_name if pattern.fullmatch(name)}

    def __contains__(self, regex: str) -> bool:
        return regex in self._compiled

    def program_bytes(self, regex: str) -> int:
        """Return the memory of a pattern that was resolved."""
        return INSTRUCTION_BYTES * int(self._compiled[regex].programsize)

    def changed(self, created: Iterable[str], deleted: Iterable[str]) -> None:
        """Update the matches for topics created and deleted."""
        gone = set(deleted)
        come = list(created)
        if self.searches:
            self._changed |= dict.fromkeys(gone, False) | dict.fromkeys(come, True)
        for regex, found in self._matches.items():
            found.difference_update(gone)
            pattern = self._compiled[regex]
            found.update(name for name in come if pattern.fullmatch(name))

    def forget_unused(self, used: Iterable[str]) -> None:
        """Keep only the patterns in `used`."""
        kept = set(used)
        for regex in set(self._matches).difference(kept):
            del self._matches[regex], self._compiled[regex]
        for group_id, regex in [key for key in self._sees if key[1] not in kept]:
            del self._sees[group_id, regex]


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
