"""The progress of groups that hold records, wherever they are coordinated.

Before retention deletes anything, each node that coordinates such a group is asked for what has changed since
the last time, some at a time until there is no more:

    ask --> what has changed --> take --> ... --> the node has told all that it knew when it was asked

What is known of a group is void before its node has answered that: after a start, while it is silent, and
while it loads the group.  Retention then keeps what the group may hold.  So what retention knows is at most a
few seconds behind what a coordinator has acknowledged.

A node is asked one thing at a time.  An answer that comes late is taken, and the node is asked again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator
from functools import partial
from sys import intern
from typing import TYPE_CHECKING, Final

from broker.catalogue.topics import OFFSETS_TOPIC
from broker.config.group_holds import hold_limits
from broker.loop.latch import Latch
from broker.loop.slices import Pace, Until
from protocol.messages.kawal_progress import NO_OFFSET, KawalProgressRequest, KawalProgressResponse

if TYPE_CHECKING:
    from broker.catalogue.metadata import Metadata
    from broker.loop.loop import Loop
    from broker.upkeep.retention_holds import GroupProgress

logger = logging.getLogger("kawal.retention")

WAIT_MS: Final = 5_000
"""The time that the others have to answer; nodes that are well need a few milliseconds."""

FRESH_MS: Final = 5_000
"""The time after which a check that goes on asks again."""


class ToldProgress:
    """All that one node has told, in one of its lives."""

    __slots__ = ("after", "life", "offsets", "topics")

    def __init__(self, life: int = -1) -> None:
        self.life = life
        self.after = 0
        self.topics: dict[str, set[str]] = {}
        """The topics that each group reads."""
        self.offsets: dict[tuple[str, str], dict[int, int]] = {}
        """Offsets of partitions that this node leads, by group and topic."""

    def take(self, answer: KawalProgressResponse) -> None:
        """Take what has changed."""
        self.after = answer.next_after
        for group in answer.groups:
            self.topics[group.group_id] = set(group.topics)
        for told in answer.progress:
            # The same group comes with many topics, each time with its name.
            offsets = self.offsets.setdefault((intern(told.group_id), told.topic), {})
            for partition, offset in zip(told.partitions, told.offsets, strict=True):
                if offset == NO_OFFSET:
                    offsets.pop(partition, None)
                else:
                    offsets[partition] = offset
            if not offsets:
                del self.offsets[told.group_id, told.topic]


class ProgressElsewhere:
    """The progress of all groups, on one of several nodes."""

    def __init__(self, metadata: Metadata, loop: Loop, groups: Callable[[], GroupProgress]) -> None:
        """Know nothing yet; `groups()` gives the progress of the groups that this node coordinates."""
        self._metadata, self._loop, self._groups = metadata, loop, groups
        self._told: dict[int, ToldProgress] = {}
        self._coordinators: dict[str, int | None] = {}
        """The node of each group that holds records."""
        self._fresh: set[int] = set()
        """The nodes that have told all since they were asked last."""
        self._asked: set[int] = set()
        """The nodes from which an answer is to come."""
        self._again: set[int] = set()
        """Those of them that must be asked once more."""
        self._waited: set[int] = set()
        """The nodes that are waited for."""
        self._silent: set[int] = set()
        """The nodes that have not told all in time, in this check."""
        self._warned: set[int] = set()
        self._all_told: Latch[None] = Latch()
        self._asked_ms = 0

    # --- asking ----------------------------------------------------------------------------------------

    def begin(self) -> Generator[Until | None, None, None]:
        """Begin a check: learn the progress of groups that hold records, as far as nodes tell it in time."""
        self._coordinators = yield from self._holding()
        for node_id in self._told.keys() - {*self._coordinators.values()}:
            del self._told[node_id]
        self._silent.clear()
        yield from self._ask_all()
        for node_id in sorted(self._silent - self._warned):
            logger.warning(
                "node %d does not tell how far groups have read: what they may hold is kept", node_id
            )
        self._warned = set(self._silent)

    def _holding(self) -> Generator[None, None, dict[str, int | None]]:
        """Return the groups that hold records, with their nodes."""
        layers, topics = self._metadata.live_config.layers, self._metadata.topics
        found: dict[str, int | None] = {}
        pace = Pace()
        for group_id, overrides in list(self._metadata.catalogue.group_configs.items()):
            if pace.due():
                yield None
            if hold_limits(overrides, layers) is not None:
                found[group_id] = topics.coordinator(OFFSETS_TOPIC, group_id)
        return found

    def renew(self) -> Generator[Until, None, bool]:
        """Learn it once more if that is some seconds ago; return whether it was."""
        if not self._coordinators or self._loop.clock.turn_ms - self._asked_ms < FRESH_MS:
            return False
        yield from self._ask_all()
        return True

    def _ask_all(self) -> Generator[Until, None, None]:
        nodes, self._asked_ms = self._metadata.nodes, self._loop.clock.turn_ms
        wanted = {each for each in self._coordinators.values() if each is not None} - {nodes.own_id}
        self._fresh.clear()
        self._waited = {each for each in wanted - self._silent if nodes.is_there(each)}
        self._all_told = Latch()
        for node_id in [*self._waited]:
            if node_id in self._asked:
                self._again.add(node_id)
            else:
                self._ask(node_id)
        if self._waited:
            yield from self._all_told.wait(self._loop.timers, self._asked_ms + WAIT_MS)
        self._silent = wanted - self._fresh

    def _ask(self, node_id: int) -> None:
        self._asked.add(node_id)
        told = self._told.get(node_id) or ToldProgress()
        request = KawalProgressRequest(
            node_id=self._metadata.nodes.own_id,
            catalogue_version=self._metadata.metadata_log.known_version,
            life=told.life,
            after=told.after,
        )
        self._metadata.nodes.peers.call(node_id, request, 0, partial(self._answered, node_id))

    def _answered(self, node_id: int, answer: KawalProgressResponse | None) -> None:
        self._asked.discard(node_id)
        is_late = node_id in self._again
        self._again.discard(node_id)
        if answer is not None and not answer.error_code:
            told = self._told.get(node_id)
            if told is None or told.life != answer.life:
                told = self._told[node_id] = ToldProgress(answer.life)
            told.take(answer)
            if answer.has_more or is_late:
                self._ask(node_id)
                return
            self._fresh.add(node_id)
        elif is_late:
            self._ask(node_id)
            return
        self._waited.discard(node_id)
        if not self._waited:
            self._all_told.set(None)

    # --- what is known ---------------------------------------------------------------------------------

    def _is_here(self, group_id: str) -> bool:
        return self._coordinators.get(group_id) == self._metadata.nodes.own_id

    def _told_of(self, group_id: str) -> ToldProgress | None:
        node_id = self._coordinators.get(group_id)
        return self._told.get(node_id) if node_id is not None and node_id in self._fresh else None

    def knows(self, group_id: str) -> bool:
        """Whether the node that coordinates the group has told of it in this check."""
        told = self._told_of(group_id)
        return self._is_here(group_id) or (told is not None and group_id in told.topics)

    def topics_read(self, group_id: str) -> set[str]:
        """Return the topics that a known group reads."""
        if self._is_here(group_id):
            return self._groups().topics_read(group_id)
        told = self._told_of(group_id)
        return set() if told is None else told.topics[group_id]

    def position(self, group_id: str, topic: str, partition: int) -> int | None:
        """Return the offset of the progress of a group in one partition."""
        if self._is_here(group_id):
            return self._groups().position(group_id, topic, partition)
        told = self._told_of(group_id)
        return None if told is None else told.offsets.get((group_id, topic), {}).get(partition)
