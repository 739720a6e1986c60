"""Share sessions at work: fetches that wait for records to acquire, and members whose connection was lost.

A waiting fetch has two kinds of keys (broker/loop/waiters.py): those of its partitions, for new records, and
those of its group in them, for records that were given back. It is resumed only if there is something to
acquire at that moment: of many members that wait, as many are woken as there are records for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Hashable, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Final

from broker.catalogue.metadata import Metadata
from broker.coordinators.share_settings import limits_of, queue_settings, share_settings
from broker.coordinators.shares import Shares
from broker.errors import RequestError
from broker.fetching.pieces import PIECE_BYTES
from broker.fetching.share_places import Place, end_of, find_partition, first_available
from broker.loop.loop import Loop
from broker.loop.slices import ITEMS_PER_STEP, PLAIN_ITEMS_PER_STEP, Pace, Steps, chunks, emptied
from broker.loop.waiters import ParkedCall
from broker.view_topics.view_partition import ViewPartition
from groups.errors import GroupError
from groups.share.coordinator import Released
from groups.share.departures import Departure, Departures
from groups.share.sessions import SessionKey, ShareSession, ShareSessions
from groups.share.state_records import ShareKey
from groups.share.table import Answer, no_answer
from wal.disk import DiskError
from wal.errors import WalError

if TYPE_CHECKING:
    from broker.fetching.dead_letters import DeadLetters

TAKEN_PER_STEP: Final = 5
"""The partitions, with thousands of ranges perhaps, in which records to take over are looked for at once."""

RELEASED_PER_STEP: Final = 250
"""The ranges of a share-partition that are given back at once, in 1 ms."""

ANY_MEMBER: Final = ""
"""The name of no member: what is acquirable for it is so for some."""

COUNTED_BYTES_MAX: Final = 1 << 20
"""The bytes of a partition that are counted for a fetch that wants more than one; more count as enough."""


class ShareQueues:
    """The share sessions of this node."""

    def __init__(self, metadata: Metadata, loop: Loop, shares: Callable[[], Shares]) -> None:
        self._metadata = metadata
        self._loop = loop
        self._shares = shares
        self.sessions = ShareSessions(0)
        self.departures = Departures()
        # Sessions that were closed, by their members, until all of their records are given back.
        self._leaving: dict[SessionKey, tuple[ShareSession, Departure]] = {}
        self._wait_keys: dict[ShareKey, int] = {}
        # The groups whose partitions are about to be looked at, because a member may have more than before.
        self._widened: set[str] = set()
        metadata.catalogue.listen_to_group_configs(self._configured)

    @property
    def shares(self) -> Shares:
        """The share coordinator, which tells of records that were given back."""
        shares = self._shares()
        shares.on_freed = self._freed
        return shares

    def current_sessions(self) -> ShareSessions:
        """Return the sessions, of which there may be as many as is configured now."""
        found = self._metadata.live_config.layers.value("group.share.max.share.sessions")
        assert isinstance(found, int)
        self.sessions.sessions_max = found
        return self.sessions

    # --- waiting --------------------------------------------------------------------------------------------

    def wait_key(self, key: ShareKey) -> int:
        """Return the key under which fetches wait for records that a group gets back."""
        found = self._wait_keys.get(key)
        if found is None:
            found = self._wait_keys[key] = self._loop.waiters.new_key()
        return found

    def _freed(self, keys: Collection[ShareKey]) -> None:
        for key in keys:
            self._freed_one(key)
            if self._wait_keys and queue_settings(self._metadata, key.group_id).member_records_max:
                self._widen(key.group_id)

    def _freed_one(self, key: ShareKey) -> None:
        wait_key = self._wait_keys.get(key)
        if wait_key is None:
            return
        if not self._loop.waiters.waits_for(wait_key):
            del self._wait_keys[key]
        elif self.is_acquirable(SessionKey(key.group_id, ANY_MEMBER), (key.topic_id, key.partition)):
            # After most acknowledgements it is not.
            self._loop.scheduler.soon(partial(self._wake, wait_key))

    def _wake(self, wait_key: int) -> None:
        self._loop.waiters.advanced(wait_key, 0, self._loop.clock.turn_ms)

    def _widen(self, group_id: str) -> None:
        """Wake fetches for records of any partition: what was finished in one leaves room for all."""
        if group_id not in self._widened:
            self._widened.add(group_id)
            self._loop.scheduler.add_work(self._wake_widened(group_id))

    def _wake_widened(self, group_id: str) -> Steps:
        self._widened.discard(group_id)
        for part in chunks(self._keys_of(group_id)):
            for key in part:
                self._freed_one(key)
            yield

    def _keys_of(self, group_id: str) -> list[ShareKey]:
        with self._shares().step(self._loop.clock.turn_ms) as machine:
            return machine.keys_of(group_id)

    def _configured(self, group_id: str) -> None:
        if self._wait_keys:
            self._loop.scheduler.add_work(self._look_again(group_id))

    def _look_again(self, group_id: str) -> Steps:
        """Have the waiting fetches of a group look again, each once: its settings have changed."""
        waiters = self._loop.waiters
        waiting: dict[int, ParkedCall] = {}
        for part in chunks(self._keys_of(group_id)):
            known = [self._wait_keys[key] for key in part if key in self._wait_keys]
            waiting.update((id(call), call) for wait_key in known for call in waiters.all_for(wait_key))
            yield
        for some in chunks(list(waiting.values())):
            for call in some:
                waiters.resume(call, self._loop.clock.turn_ms)
            yield

    def room_of(self, member: SessionKey) -> int | None:
        """Return how many more records a member may have; None: any number."""
        records_max = queue_settings(self._metadata, member.group_id).member_records_max
        if not records_max:
            return None
        if member.member_id == ANY_MEMBER:
            return records_max
        with self._shares().step(self._loop.clock.turn_ms) as machine:
            return max(records_max - machine.held_by(member.group_id, member.member_id), 0)

    # --- members that sit idle ------------------------------------------------------------------------------

    def take_over(
        self, member: SessionKey, places: Sequence[Place], count: int, now_ms: int
    ) -> Generator[None, None, int | None]:
        """Take records of members that sit idle, for one that has found none.

        At most `count` are taken, of one partition, and available once that is durable.  Return the moment at
        which to look again, as another member may sit idle then; None: never.
        """
        steal_ms = queue_settings(self._metadata, member.group_id).steal_idle_ms
        if not steal_ms or count <= 0:
            return None
        idle, next_ms = self.sessions.idle(member, steal_ms, now_ms)
        for number, place in enumerate(places if idle else ()):
            if number and not number % TAKEN_PER_STEP:
                yield
            key = ShareKey(member.group_id, *place)
            with self._shares().step(now_ms) as machine:
                try:
                    if machine.take_over(key, idle, count, no_answer, now_ms):
                        break
                except GroupError:
                    # It is being loaded, or deleted: the fetch itself says so.
                    continue
        return next_ms

    def is_acquirable(self, member: SessionKey, place: Place) -> bool:
        """Whether a member would get something now; an error is something, too."""
        return self.prospect(member, place) is not None

    def prospect(self, member: SessionKey, place: Place) -> Hashable | None:
        """Return what a member could get now, None if that is nothing.

        A look that found nothing in spite of it finds nothing again, as long as this is the same: what it
        leaves out moves the offset, and what does not fit waits for bytes, or for other settings.
        """
        settings = share_settings(self._metadata, member.group_id)
        now_ms = self._loop.clock.turn_ms
        try:
            partition = find_partition(self._metadata, place)
            key = ShareKey(member.group_id, *place)
            shares = self._shares()
            offset = first_available(shares, key, partition, settings.limits, now_ms, member.member_id)
            share = shares.look(key)
        except (RequestError, GroupError, WalError, DiskError):
            return ()
        room = self.room_of(member) if settings.queue.member_records_max else None
        end = end_of(partition, read_committed=settings.reading.read_committed)
        if offset is None or offset >= end or room == 0:
            return None
        in_flight_bytes = share.in_flight_bytes() if settings.limits.in_flight_bytes_max else 0
        return offset, end, in_flight_bytes, settings

    def has_enough(
        self, member: SessionKey, places: Sequence[Place], wanted: int
    ) -> Generator[None, None, bool]:
        """Whether the bytes that a member could get reach a number; 1 is the least that is asked for."""
        if wanted <= 1:
            return True
        total = 0
        for number, place in enumerate(places):
            if number and not number % ITEMS_PER_STEP:
                yield
            total += self.available_bytes(member, place, wanted - total)
            if total >= wanted:
                return True
        return False

    def available_bytes(self, member: SessionKey, place: Place, max_bytes: int) -> int:
        """Return the bytes of batches from the first record on that a member would get now, up to a limit.

        A view, and a partition with an error, counts as much as is wanted.
        """
        if not self.is_acquirable(member, place):
            return 0
        limits, now_ms = limits_of(self._metadata, member.group_id), self._loop.clock.turn_ms
        key = ShareKey(member.group_id, *place)
        try:
            partition = find_partition(self._metadata, place)
            offset = first_available(self._shares(), key, partition, limits, now_ms, member.member_id)
            if offset is None or isinstance(partition, ViewPartition):
                return max_bytes
            room = min(max_bytes, COUNTED_BYTES_MAX) + PIECE_BYTES
            return partition.read(offset, room).size_bytes
        except (RequestError, GroupError, WalError, DiskError):
            return max_bytes

    # --- dead letters ---------------------------------------------------------------------------------------

    @cached_property
    def _letters(self) -> DeadLetters:
        from broker.fetching.dead_letters import DeadLetters

        return DeadLetters(self._metadata, self._loop, self._shares)

    def write_letters(self, keys: Collection[ShareKey]) -> None:
        """Have the dead letters of share-partitions written."""
        self._letters.write(keys)

    # --- sessions that end ----------------------------------------------------------------------------------

    def disconnected(self, connection: int) -> None:
        """Give back what the members on a lost connection have."""
        for session in self.sessions.disconnected(connection):
            departure = self._leaves(session)
            self._loop.scheduler.add_work(self._released(session, departure, lambda: no_answer))

    def drop(self, member: SessionKey) -> None:
        """Close a session for which there is no room, and give back what its member has."""
        self._loop.scheduler.add_work(self.close(member, lambda: no_answer))

    def free(self, session: ShareSession) -> None:
        """Free the partitions of a session that was replaced: many of them not all at once."""
        if len(session.partitions) > PLAIN_ITEMS_PER_STEP:
            self._loop.scheduler.add_work(emptied(session.partitions))

    def release(self, member: SessionKey, place: Place, answer: Answer) -> Released:
        """Give back what a member has of a partition; answer when that is durable.

        At most RELEASED_PER_STEP ranges are.
        """
        now_ms = self._loop.clock.turn_ms
        key = ShareKey(member.group_id, *place)
        with self._shares().step(now_ms) as machine:
            try:
                return machine.release(key, member.member_id, answer, now_ms, RELEASED_PER_STEP)
            except GroupError as error:
                answer(error.code)
                return Released(0, has_more=False)

    def close(self, member: SessionKey, begin: Callable[[], Answer]) -> Steps:
        """Close a member's session and give back what it has; `begin()` makes an answer for a partition."""
        session = self.sessions.close(member)
        if session is None:
            return
        departure = self._leaves(session)
        try:
            yield from self._released(session, departure, begin)
        finally:
            # Nothing goes on for a connection that was lost, but this has to.
            if session.partitions:
                self._loop.scheduler.add_work(self._released(session, departure, lambda: no_answer))

    def _leaves(self, session: ShareSession) -> Departure:
        """Note that a session was closed, and what its member has is to be given back."""
        departure = self.departures.note(session.key, self._loop.clock.turn_ms)
        self._leaving[session.key] = session, departure
        return departure

    def left(self, member: SessionKey) -> Steps:
        """Give back at once what a member had in an earlier session.

        Later this would take what it acquires in a new one: records know their member, not the session.
        """
        leaving = self._leaving.get(member)
        if leaving is not None:
            yield from self._released(*leaving, lambda: no_answer)

    def _released(self, session: ShareSession, departure: Departure, begin: Callable[[], Answer]) -> Steps:
        """Give back what the member of a closed session has, and free the session."""
        partitions, pace = session.partitions, Pace(RELEASED_PER_STEP)
        while partitions:
            # It may be given back by the steps of two at once; when it is, it is not looked at again.
            place = next(reversed(partitions))
            released = self.release(session.key, place, begin())
            departure.returned += released.records
            if not released.has_more:
                del partitions[place]
            if pace.due(released.records + RELEASED_PER_STEP // ITEMS_PER_STEP) or not partitions:
                yield
        if self._leaving.get(session.key) == (session, departure):
            del self._leaving[session.key]
