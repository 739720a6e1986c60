"""Members that do not poll: after `kawal.max.poll.interval.ms` the server removes them from their group.

Kafka leaves this to clients (`max.poll.interval.ms`), TDengine's server watches it.  Every two seconds, as
TDengine's rebalance timer, the members of groups with a limit are looked at, some groups in each slice.  A
member that has partitions, is ready, and has not joined, committed or fetched from them for as long as that
is removed as if its session had ended.  A member without partitions has nothing to poll.

Polls before a start of the server are unknown, and polls before a jump of the wall clock are at wrong times:
members then have the whole interval again.

A member may poll other nodes alone, which lead its partitions: they are asked before it is removed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Mapping
from typing import TYPE_CHECKING, Final

from broker.catalogue.topics import OFFSETS_TOPIC
from broker.coordinators.member_polls import Member, fetched_ms, owned_places
from broker.loop.slices import Until, WaitingSteps, made_of, or_again

if TYPE_CHECKING:
    from broker.catalogue.metadata import Metadata
    from broker.connections.connection import Connection
    from broker.coordinators.groups import Groups
    from broker.coordinators.polls_elsewhere import PollsElsewhere
    from broker.loop.last_fetch import Place
    from broker.loop.loop import Loop
    from groups.show import ConsumerRow

logger = logging.getLogger("kawal.groups")

CHECK_MS: Final = 2_000
GROUPS_PER_SLICE: Final = 10
ROWS_PER_STEP: Final = 25
JUMP_MS: Final = 1_000
"""The change of the wall clock against the monotonic one that counts as a jump."""

KEY: Final = "kawal.max.poll.interval.ms"
READY: Final = "ready"
"""The status of a member that has its partitions (groups/states.py, which is loaded with the first group)."""


class PollWatch:
    """The timer, and the moments from which the polls of members are known."""

    def __init__(
        self,
        metadata: Metadata,
        loop: Loop,
        connections: Mapping[int, Connection],
        groups: Callable[[], Groups],
        now_ms: int,
    ) -> None:
        """Schedule the first check."""
        self.began_ms: Final = now_ms
        """When the fetches of this node began to be known."""
        self._metadata = metadata
        self._loop = loop
        self._connections = connections
        self._groups = groups
        self._known_from: dict[Member, int] = {}
        self._wall_offset_ms = loop.clock.wall_ms(0)
        self._schedule(now_ms)

    def _schedule(self, now_ms: int) -> None:
        self._loop.timers.add(now_ms + CHECK_MS, self._begin)

    def _begin(self, now_ms: int) -> None:
        offset_ms = self._loop.clock.wall_ms(0)
        if abs(offset_ms - self._wall_offset_ms) > JUMP_MS:
            self._known_from.clear()
        self._wall_offset_ms = offset_ms
        if not self._has_limits():
            self._known_from.clear()
            self._schedule(now_ms)
            return
        self._loop.scheduler.add_work(or_again(self._check(), lambda: self._schedule(now_ms)))

    def _has_limits(self) -> bool:
        if OFFSETS_TOPIC not in self._metadata.catalogue.by_name:
            return False
        overrides = self._metadata.catalogue.group_configs.values()
        return bool(self._metadata.config.kawal_max_poll_interval_ms) or any(KEY in own for own in overrides)

    def _limit(self, group_id: str) -> int:
        from broker.config import group_configs

        own = self._metadata.catalogue.group_configs.get(group_id, {})
        limit = group_configs.value(KEY, own, self._metadata.live_config.layers)
        assert isinstance(limit, int)
        return limit

    def _check(self) -> WaitingSteps:
        """Look at every group that has a limit."""
        groups = self._groups()
        if groups.is_loaded:
            with groups.step(self._loop.clock.turn_ms) as coordinator:
                every = coordinator.group_ids()
            watched = [group_id for group_id in every if self._limit(group_id)]
            seen: dict[Member, int] = {}
            elsewhere = self._others()
            for start in range(0, len(watched), GROUPS_PER_SLICE):
                yield from self._look(groups, watched[start : start + GROUPS_PER_SLICE], seen, elsewhere)
                yield None
            self._known_from = seen
        self._schedule(self._loop.clock.turn_ms)

    def _others(self) -> PollsElsewhere | None:
        """Return the questions to other nodes; None if there are none."""
        if self._metadata.nodes.count == 1:
            return None
        from broker.coordinators.polls_elsewhere import PollsElsewhere

        return PollsElsewhere(self._metadata, self._loop)

    def _look(
        self, groups: Groups, group_ids: list[str], seen: dict[Member, int], elsewhere: PollsElsewhere | None
    ) -> WaitingSteps:
        """Remove the silent members of some groups; the partitions of many members are listed in steps."""
        silent, owned = yield from self._silent(groups, group_ids, seen, {})
        if silent and elsewhere is not None:
            asked = owned
            polled = yield from elsewhere.polled_ms(silent, asked)
            # Meanwhile they may have polled here, or been given other partitions.
            again, owned = yield from self._silent(groups, group_ids, seen, polled)
            members = ((row, (row.group_id, row.consumer_id)) for row in again)
            silent = [row for row, member in members if member in polled and owned[member] == asked[member]]
        by_group: dict[str, list[str]] = {}
        for row in silent:
            by_group.setdefault(row.group_id, []).append(row.consumer_id)
        now_ms = self._loop.clock.turn_ms
        with groups.step(now_ms) as coordinator:
            for group_id, member_ids in by_group.items():
                logger.warning("group %r: %s did not poll in time and are removed", group_id, member_ids)
                coordinator.remove_silent(group_id, member_ids, now_ms)

    def _silent(
        self,
        groups: Groups,
        group_ids: list[str],
        seen: dict[Member, int],
        polled: Mapping[Member, int],
    ) -> Generator[Until | None, None, tuple[list[ConsumerRow], dict[Member, set[Place]]]]:
        """Return the members that have not polled for too long, and the partitions of all.

        `polled` has the times of polls that this node has not seen itself.
        """
        now_ms = self._loop.clock.turn_ms
        with groups.step(now_ms) as coordinator:
            consumers = list(coordinator.consumers(now_ms, group_ids))
            rows = coordinator.subscriptions(now_ms, group_ids)
        owned = owned_places((yield from made_of(rows, lambda row: row, per_step=ROWS_PER_STEP)))
        wall_ms = self._loop.clock.wall_ms(self._loop.clock.turn_ms)
        fetched = fetched_ms(consumers, owned, self._connections.values(), self._loop.clock)
        silent: list[ConsumerRow] = []
        for row in consumers:
            member = row.group_id, row.consumer_id
            if member not in owned or row.status != READY:
                continue
            seen[member] = self._known_from.get(member, wall_ms)
            polled_ms = max(
                min(row.poll_ms, wall_ms), fetched.get(member, 0), polled.get(member, 0), seen[member]
            )
            if wall_ms - polled_ms >= self._limit(row.group_id):
                silent.append(row)
        return silent, owned
