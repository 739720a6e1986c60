"""The topics whose records declare sub-tables, and changes after which what views tell of those may be wrong.

    a topic that has records    begins to declare, ends to, or declares other tags      a change
    a topic                     is created, is deleted, declares other columns          none

The changes have an order, so that a view looks at those since it has looked last, and at no other topic.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from typing import TYPE_CHECKING
from uuid import UUID

from broker.config.kawal_topic_keys import COLUMNS_KEY
from broker.config.table_keys import declares_tables

if TYPE_CHECKING:
    from broker.catalogue.topic import Topic


class DeclaringTopics:
    """The topics of one catalogue that declare their sub-tables."""

    def __init__(self) -> None:
        self.changes = 0
        """The number of changes so far."""
        # The columns of each topic; how many topics there are in each database.
        self._columns: dict[UUID, str] = {}
        self._counts: Counter[str] = Counter()
        # By database: the last change of each topic that exists, in order, and the topic's first stream.
        self._changed: dict[str, OrderedDict[UUID, tuple[int, int]]] = {}

    def __contains__(self, topic_id: UUID) -> bool:
        return topic_id in self._columns

    def count(self, database: str) -> int:
        """Return how many there are in a database."""
        return self._counts[database]

    def has_changed(self, database: str, since: int, *, next_stream: int) -> bool:
        """Whether any topic of a database has changed since a number of changes.

        Topics whose streams are not below `next_stream` do not count: they have been created since.
        """
        changed = self._changed.get(database)
        for change, first_stream in reversed(changed.values()) if changed is not None else ():
            if change <= since:
                return False
            if first_stream < next_stream:
                return True
        return False

    def has_topic_changed(self, topic: Topic, since: int) -> bool:
        """Whether one topic has changed since a number of changes."""
        changed = self._changed.get(topic.database)
        last = None if changed is None else changed.get(topic.topic_id)
        return last is not None and last[0] > since

    def note(self, topic: Topic, *, exists: bool) -> None:
        """Note the configurations of a topic, which may be new, or gone."""
        topic_id, database = topic.topic_id, topic.database
        before = self._columns.pop(topic_id, None)
        after = topic.configs.get(COLUMNS_KEY.name, "") if exists and declares_tables(topic.configs) else None
        if after is not None:
            self._columns[topic_id] = after
        self._counts[database] += (after is not None) - (before is not None)
        if not self._counts[database]:
            del self._counts[database]
        if not exists:
            changed = self._changed.get(database)
            if changed is not None and topic_id in changed:
                del changed[topic_id]
                if not changed:
                    del self._changed[database]
        elif before != after and not _have_same_tags(before, after):
            self.changes += 1
            changed = self._changed.setdefault(database, OrderedDict())
            changed[topic_id] = self.changes, topic.ranges[0][1]
            changed.move_to_end(topic_id)


def _have_same_tags(before: str | None, after: str | None) -> bool:
    """Whether columns have the same tags; None: the topic declares no sub-tables."""
    if before is None or after is None:
        return False
    from views.columns import tags_in  # loaded when the first are changed
    from views.errors import ColumnsProblem

    try:
        return tags_in(before) == tags_in(after)
    except ColumnsProblem:
        return False
