"""A look at very many topics of a share group, by a thread: what has changed, and what lacks a state.

look = Look(context, group)       what it begins with
look.begin(over)                  a thread looks; then `over(look, error)` is called in the coordinator's turn

Topics that come or go meanwhile may be seen or not; the coordinator looks again after a change.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain, filterfalse
from uuid import UUID

from groups.assignment_task import NAMES_AT_ONCE, known_topics, topics_hash
from groups.context import Context
from groups.effects import EncodedRecord
from groups.share.group_records import Initialized, ShareStatesKey, encode_share_record
from groups.share.noting import missing_without_splits
from groups.share.share_group import ShareGroup
from groups.timers import TimerKey
from protocol.parts import parts_of


class Look:
    """One look."""

    __slots__ = ("_context", "base", "encoded", "group", "kept", "metadata_hash", "missing", "names")

    def __init__(self, context: Context, group: ShareGroup) -> None:
        self._context = context
        self.group = group
        self.base = group.initialized
        self.names = frozenset(group.names)
        # What is found: the states in topics that are still there, with their record if some were deleted,
        # the hash of the topics, and the partitions without a state.
        self.kept: Initialized = self.base
        self.encoded: EncodedRecord | None = None
        self.metadata_hash = 0
        self.missing: tuple[tuple[UUID, int], ...] = ()

    def work(self) -> None:
        """Look."""
        topics = self._context.topics
        gone = set(filterfalse(topics.by_id.__contains__, self.base))
        if gone:
            self.kept = {topic_id: state for topic_id, state in self.base.items() if topic_id not in gone}
            key = ShareStatesKey(self.group.group_id)
            self.encoded = encode_share_record(key, self.kept or None)
        self.metadata_hash = topics_hash(known_topics(self.names, topics.by_name, {}))
        missing = parts_of(missing_without_splits(topics.by_name, self.names, self.kept))
        self.missing = tuple(chain.from_iterable(missing))

    def begin(self, over: Callable[[Look, Exception | None], None]) -> None:
        """Have a thread look."""

        def worked(error: Exception | None) -> None:
            def finish(now_ms: int) -> None:
                self._context.now_ms = now_ms
                over(self, error)

            # Its own key: the group may be deleted and made anew meanwhile.
            key = TimerKey("share look", self.group.group_id, str(id(self)))
            self._context.timers.set(key, self._context.now_ms, finish)

        self._context.offload(self.work, worked)


def needs_thread(context: Context, group: ShareGroup) -> bool:
    """Whether a look at the group's topics takes long; of topics with splits a thread cannot tell."""
    return len(group.names) > NAMES_AT_ONCE and not context.splits.topics
