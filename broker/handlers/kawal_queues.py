"""KawalQueues: v0.  Kawal's own API, for its command line; it is never advertised to Kafka clients.

Behaviour: shows share groups: the records of each partition by state and number of deliveries, the first
ranges of those that are not finished, what each member has, and counters since the start.  Members that left
are shown for ten minutes.  Nothing is acquired.  A group that does not exist has an error of its own; topics
that the client may not see are left out.  Of several nodes the coordinator of a group answers, for all groups
those that it coordinates; it asks the leaders of partitions, and a partition whose leader does not answer
within 5 s has COORDINATOR_NOT_AVAILABLE.
Differences from Apache Kafka: Kafka has no such API.
Version notes: none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from itertools import islice
from typing import TYPE_CHECKING, Final

# Imported on the loop, the coordinators would take 100 ms of a turn.
from broker.coordinators.groups import Groups as Groups
from broker.coordinators.share_settings import queue_settings, share_reading
from broker.coordinators.shares import Shares as Shares
from broker.errors import RequestError
from broker.fetching.queues_elsewhere import QueuesElsewhere, added_up, put_together
from broker.fetching.share_places import leader_elsewhere
from broker.fetching.share_progress import Place, find_share, group_of, keys_of, places_of, progress_of
from broker.fetching.share_queues import ShareQueues as ShareQueues
from broker.loop.call import Call
from broker.loop.slices import Steps, WaitingSteps
from broker.security.authorized_operations import Operation
from groups.errors import GroupError
from groups.share.service import ShareService as ShareService
from groups.share.sessions import SessionKey
from groups.share.show import MemberRow, Shown, is_unfinished, lock_left_ms, member_row, parts_of
from groups.share.state_records import ShareKey
from protocol.messages.kawal_queues import (
    CounterInfo,
    DeliveryInfo,
    KawalQueuesRequest,
    KawalQueuesResponse,
    MemberInfo,
    QueueGroup,
    QueuePartition,
    QueueTopic,
    RangeInfo,
)

if TYPE_CHECKING:
    from broker.core import Broker

ITEMS_PER_STEP: Final = 10
"""The groups or partitions with few ranges between two looks at the time."""

MEMBERS_PER_STEP: Final = 100

RANGES_MAX: Final = 10_000
"""The ranges in one answer, each of 100 bytes."""


def handle(broker: Broker, call: Call[KawalQueuesRequest]) -> WaitingSteps:
    """Answer for all groups, or for those that are named."""
    return _Answer(broker, call).steps()


class _Answer:
    """One request on its way."""

    def __init__(self, broker: Broker, call: Call[KawalQueuesRequest]) -> None:
        self._broker = broker
        self._rights = call.rights
        self._asked = call.request.group_ids
        self._ranges_max = min(max(call.request.ranges_max, 0), RANGES_MAX)
        self._ranges_left = RANGES_MAX
        self._done = 0
        # Only what another node of the cluster asks; it has looked at the rights of its client.
        self._places = call.request.places if call.connection.from_peer else []
        self._away = QueuesElsewhere(broker, broker)

    @property
    def _now_ms(self) -> int:
        return self._broker.clock.turn_ms

    def steps(self) -> WaitingSteps:
        """Return the response."""
        response = KawalQueuesResponse(groups=[])
        if self._places:
            yield from self._tell_node(response)
            return response
        for group_id in self._group_ids():
            yield from self._count()
            if self._is_hidden(group_id):
                continue
            found = QueueGroup(group_id=group_id, counters=[], members=[], topics=[])
            response.groups.append(found)
            try:
                yield from self._fill(found)
            except GroupError as error:
                found.error_code, found.error_message = error.code, error.message
        others = yield from self._away.fill(self._ranges_max)
        for found in response.groups:
            parts = others.get(found.group_id, [])
            found.counters = added_up(counter for part in (found, *parts) for counter in part.counters)
            found.members = put_together(member for part in (found, *parts) for member in part.members)
            yield from self._count()
        return response

    def _tell_node(self, response: KawalQueuesResponse) -> Steps:
        """Tell the coordinator of groups what is in partitions of this node."""
        groups: dict[str, QueueGroup] = {}
        pending: dict[str, Counter[str]] = {}
        for asked in self._places:
            topic = self._broker.catalogue.find_id(asked.topic_id)
            found = groups.setdefault(
                asked.group_id, QueueGroup(group_id=asked.group_id, counters=[], members=[], topics=[])
            )
            place = Place(asked.topic_id, "" if topic is None else topic.name, asked.partitions)
            counts = pending.setdefault(asked.group_id, Counter())
            found.topics.append((yield from self._topic(asked.group_id, place, counts)))
        for group_id, found in groups.items():
            self._add_counters(found)
            yield from self._members(found, {}, pending[group_id])
        response.groups = list(groups.values())

    def _group_ids(self) -> list[str]:
        if self._asked is not None:
            return list(dict.fromkeys(self._asked))
        with self._broker.groups.step(self._now_ms) as coordinator:
            return sorted(coordinator.share(self._now_ms).groups)

    def _is_hidden(self, group_id: str) -> bool:
        """Whether a group is left out of the answer about all groups; those named passed the gate."""
        if self._asked is not None or self._rights is None:
            return False
        return not self._rights.may_group(Operation.DESCRIBE, group_id)

    def _count(self) -> Steps:
        """Note that a group or partition is done; yield now and then."""
        self._done += 1
        if not self._done % ITEMS_PER_STEP:
            yield

    def _fill(self, found: QueueGroup) -> Steps:
        """Describe a group.  Raises: GroupError."""
        broker, group_id = self._broker, found.group_id
        with broker.groups.step(self._now_ms) as coordinator:
            group = group_of(coordinator, group_id, self._now_ms)
            places = places_of(group, broker)
            beats = coordinator.share(self._now_ms).membership.beats(group_id)
        found.read_committed = share_reading(broker, group_id).read_committed
        pending: Counter[str] = Counter()
        for place in places:
            if self._rights is None or self._rights.may_topic(Operation.DESCRIBE, place.name):
                found.topics.append((yield from self._topic(group_id, place, pending)))
        self._add_counters(found)
        yield from self._members(found, beats, pending)

    def _add_counters(self, found: QueueGroup) -> None:
        with self._broker.coordinators.shares.step(self._now_ms) as machine:
            counters = machine.counts_of(found.group_id).as_dict()
        found.counters = [CounterInfo(name=name, value=value) for name, value in counters.items()]

    # --- partitions -----------------------------------------------------------------------------------------

    def _topic(self, group_id: str, place: Place, pending: Counter[str]) -> Generator[None, None, QueueTopic]:
        topic = QueueTopic(topic_name=place.name, topic_id=place.topic_id, partitions=[])
        for key in keys_of(group_id, place):
            row = QueuePartition(partition_index=key.partition, deliveries=[], ranges=[])
            topic.partitions.append(row)
            leader = leader_elsewhere(self._broker, (key.topic_id, key.partition))
            if leader is not None and not self._places:
                self._away.ask(leader, group_id, key.topic_id, row)
                yield from self._count()
                continue
            try:
                yield from self._partition(key, row, pending)
            except GroupError as error:
                row.error_code, row.error_message = error.code, error.message
            except RequestError as error:
                row.error_code, row.error_message = error.code, error.code.text
            yield from self._count()
        return topic

    def _partition(self, key: ShareKey, row: QueuePartition, pending: Counter[str]) -> Steps:
        """Describe a partition.  Raises: GroupError, RequestError."""
        broker, now_ms = self._broker, self._now_ms
        found = yield from progress_of(
            broker, broker.coordinators.shares, key, now_ms=now_ms, wall_ms=broker.clock.wall_ms(now_ms)
        )
        totals = found.totals
        row.start_offset, row.next_offset, row.end_offset = found.start, found.next_offset, found.end
        row.acquired, row.available, row.released = totals.acquired, found.available, totals.released
        row.acknowledged, row.archived = totals.acknowledged, totals.archived
        row.archiving = totals.archiving
        row.oldest_ms = found.oldest_ms
        row.deliveries = [
            DeliveryInfo(delivery_count=count, records=records)
            for count, records in sorted(totals.deliveries.items())
        ]
        pending.update(totals.pending)
        count = min(self._ranges_max, self._ranges_left)
        if count:
            yield from self._ranges(key, row, count)

    def _ranges(self, key: ShareKey, row: QueuePartition, count: int) -> Steps:
        _, share = find_share(self._broker, self._broker.coordinators.shares, key, self._now_ms)
        for number, part in enumerate(parts_of(share)):
            if number:
                yield
            unfinished = filter(is_unfinished, part)
            row.ranges += map(self._range, islice(unfinished, count - len(row.ranges)))
            if len(row.ranges) >= count:
                break
        self._ranges_left -= len(row.ranges)

    def _range(self, shown: Shown) -> RangeInfo:
        facts = shown.facts
        return RangeInfo(
            first_offset=shown.first,
            last_offset=shown.last,
            state=facts.state,
            delivery_count=facts.delivery_count,
            member_id=facts.member_id,
            lock_ms=lock_left_ms(facts, self._now_ms),
        )

    # --- members --------------------------------------------------------------------------------------------

    def _members(self, found: QueueGroup, beats: dict[str, int], pending: Counter[str]) -> Steps:
        queues, group_id, now_ms = self._broker.share_queues, found.group_id, self._now_ms
        departures = queues.departures.of_group(group_id, now_ms)
        window_max = queue_settings(self._broker, group_id).member_records_max
        for number, member_id in enumerate(dict.fromkeys((*beats, *pending, *departures)), start=1):
            row = member_row(
                member_id,
                session=queues.sessions.find(SessionKey(group_id, member_id)),
                departure=departures.get(member_id),
                beat_ms=beats.get(member_id),
                pending=pending[member_id],
                now_ms=now_ms,
                window_max=window_max,
            )
            found.members.append(_member_info(row))
            if not number % MEMBERS_PER_STEP:
                yield


def _member_info(row: MemberRow) -> MemberInfo:
    return MemberInfo(
        member_id=row.member_id,
        status=row.status,
        window=row.window,
        pending=row.pending,
        slots=row.slots,
        idle_ms=row.idle_ms,
    )
