"""The server that statements are for, and what one statement leaves to the next: the database of USE."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from console import admin
from console.client import refusal
from console.errors import CommandError
from protocol.messages.kawal_topics import KawalTopicsRequest, TopicAction, TopicItem, TopicResult

UNKNOWN_TOPIC = 3


class Session:
    """One run of `kawal sql`."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        self.database = ""
        """The database of the last USE; "" before the first."""

    def now_ms(self) -> int:
        """Return the time of day, in ms since 1970."""
        return time.time_ns() // 1_000_000

    def ask(self, request: Any, version: int = 0) -> Any:
        """Send a request and return its answer.  Raises: CommandError."""
        return admin.ask(self.bootstrap, request, version)

    def ask_each(self, request: Any, version: int) -> Iterator[Any]:
        """Send a request to each broker, and yield their answers.  Raises: CommandError."""
        for address in admin.addresses(self.bootstrap):
            yield admin.ask(address, request, version)

    def topics(self, names: list[str] | None = None) -> list[TopicResult]:
        """Return what is known of these topics, or of all.  Raises: CommandError."""
        items = None if names is None else [TopicItem(name=name) for name in names]
        request = KawalTopicsRequest(action=TopicAction.DESCRIBE, topics=items)
        found: list[TopicResult] = self.ask(request).topics
        return found

    def topic(self, name: str) -> TopicResult:
        """Return the topic of that name; `database.topic` names it with its database.

        Raises: CommandError.
        """
        found = self.find_topic(name)
        if found is None:
            raise CommandError(f"there is no topic {name!r}")
        return found

    def find_topic(self, name: str) -> TopicResult | None:
        """Return the topic of that name, if there is one.  Raises: CommandError."""
        possible = [name, *(name[at + 1 :] for at, sign in enumerate(name) if sign == ".")]
        for asked, found in zip(possible, self.topics(list(dict.fromkeys(possible))), strict=True):
            if found.error_code not in (0, UNKNOWN_TOPIC):
                raise CommandError(f"{asked!r}: {refusal(found.error_code, found.error_message)}")
            in_place = asked == name or found.database == name[: len(name) - len(asked) - 1]
            if not found.error_code and in_place:
                return found
        return None
