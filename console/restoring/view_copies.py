"""The views of a restored database: created in the copy as they are, once its topics are there.

A view is its configurations (`kawal.sql`, bounds, `kawal.replay.speed` …), so it is the same view if these
are the same, and they are compared.  Left out, with the reason, are views that would not be the same there:

    the copy has other names             statements name topics and databases
    a bound is an offset                 offsets of the copy begin at 0
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from console.errors import CommandError
from console.restoring.topic_copies import DATABASE_KEY, own_configs
from console.sql.session import Session
from console.sql.topic_requests import checked, create_topic
from protocol.messages.kawal_topics import TopicResult

BOUNDS: Final = ("kawal.from", "kawal.to")
TEMPORARY: Final = "kawal.restore."
"""The beginning of the names of views that only a restore reads."""

STORED: Final = "log"
"""The kind of a topic that stores records."""


def views_of(topics: Iterable[TopicResult], database: str) -> list[TopicResult]:
    """Return the views over a database or its topics."""
    return [
        topic
        for topic in topics
        if topic.kind != STORED and topic.database == database and not topic.name.startswith(TEMPORARY)
    ]


class ViewCopies:
    """The views that are made again on another server."""

    def __init__(self, source: Session, target: Session) -> None:
        self._source = source
        self._target = target
        self.made: list[str] = []
        self.left_out: dict[str, str] = {}
        """Names of views that were not made, with the reasons."""

    def make(self, views: Iterable[TopicResult], *, same_names: bool) -> None:
        """Create the views that the copy can have, and check each.  Raises: CommandError."""
        for view in views:
            configs = own_configs(self._source, view.name)
            reason = _obstacle(configs, same_names=same_names)
            if reason:
                self.left_out[view.name] = reason
                continue
            self._make(view.name, configs)
            self.made.append(view.name)

    def _make(self, name: str, configs: dict[str, str]) -> None:
        # A quarantine was created with its topic.
        (found,) = self._target.topics([name])
        if found.error_code:
            wanted = {key: text for key, text in configs.items() if key != DATABASE_KEY}
            checked(create_topic(self._target, name, wanted), name)
        copy = own_configs(self._target, name)
        if copy != configs:
            different = sorted(key for key in {*copy, *configs} if copy.get(key) != configs.get(key))
            raise CommandError(f"the view {name!r} and its copy differ in {', '.join(different)}")


def _obstacle(configs: dict[str, str], *, same_names: bool) -> str:
    """Return why the copy cannot have the view; "" if it can."""
    if not same_names:
        return "its statement names topics that have other names in the copy"
    if any(configs.get(bound, "").startswith("offset") for bound in BOUNDS):
        return "it is bounded by offsets, which are others in the copy"
    return ""
