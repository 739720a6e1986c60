"""KawalQueueChanges: v0.  Kawal's own API, for its command line; it is never advertised to Kafka clients.

Behaviour: gives back records that members of a share group have, as if they had released them, all or those
of one member or one record; or finishes all records that are there, also those that members have.  Answered
when that is durable.  Each partition has its own outcome.  A record that was given back the last time that
its group allows is archived.  What a member says later of a record that was given back is refused, of one
that was purged ignored.  Of several nodes the coordinator of the group answers, and has the leaders of
partitions change them; one that does not answer within 5 s may have done so: REQUEST_TIMED_OUT.
Differences from Apache Kafka: Kafka has no such API.
Version notes: none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

# Imported on the loop, the coordinators would take 100 ms of a turn.
from broker.coordinators.groups import Groups as Groups
from broker.coordinators.shares import Shares as Shares
from broker.errors import RequestError
from broker.fetching.queue_changes_elsewhere import ChangesElsewhere
from broker.fetching.share_places import leader_elsewhere
from broker.fetching.share_progress import Place, find_share, group_of, places_of, read_end
from broker.loop.call import PARKED, Call
from broker.loop.slices import Steps, WaitingSteps
from broker.security.authorized_operations import Operation
from broker.storage.partition import Partition
from groups.errors import GroupError, InvalidRequest
from groups.share.acknowledgements import Acknowledgement
from groups.share.service import ShareService as ShareService
from groups.share.share_partition import SharePartition
from groups.share.show import held
from groups.share.state_records import ShareKey
from groups.share.states import Event
from protocol.error_codes import ErrorCode
from protocol.messages.kawal_queue_changes import (
    ChangedPartition,
    ChangedTopic,
    KawalQueueChangesRequest,
    KawalQueueChangesResponse,
    QueueAction,
    QueueTopicItem,
)

if TYPE_CHECKING:
    from broker.core import Broker

PARTITIONS_PER_STEP: Final = 10
"""The partitions with few ranges between two looks at the time."""

RANGES_PER_STEP: Final = 100
"""The ranges that are looked at, and given back for one member, without a pause: in about 2 ms."""

ALL: Final = -1


def handle(broker: Broker, call: Call[KawalQueueChangesRequest]) -> KawalQueueChangesResponse | WaitingSteps:
    """Check the request, and change what it names."""
    try:
        change = _Change(broker, call)
    except GroupError as error:
        return KawalQueueChangesResponse(error_code=error.code, error_message=error.message, topics=[])
    return change.steps()


class _Change:
    """One request on its way."""

    def __init__(self, broker: Broker, call: Call[KawalQueueChangesRequest]) -> None:
        """Find the group and its partitions.  Raises: GroupError."""
        self._broker = broker
        self._call = call
        self._request = request = call.request
        _check(request)
        self._every = self._named() if call.connection.from_peer else self._of_group()
        self._away = ChangesElsewhere(broker, broker, request)
        self._items = request.topics or []
        self._places: dict[str, Place] = {}
        self._response = KawalQueueChangesResponse(topics=[])
        self._left = 1

    def _of_group(self) -> Iterator[Place]:
        """Yield what the group has.  Raises: GroupError."""
        now_ms, group_id = self._call.received_ms, self._request.group_id
        with self._broker.groups.step(now_ms) as coordinator:
            return places_of(group_of(coordinator, group_id, now_ms), self._broker)

    def _named(self) -> Iterator[Place]:
        """Yield what the coordinator of the group asks for: it is another node."""
        for item in self._request.topics or ():
            topic = self._broker.catalogue.find(item.topic_name)
            if topic is not None:
                yield Place(topic.topic_id, topic.name, item.partitions)

    @property
    def _now_ms(self) -> int:
        return self._broker.clock.turn_ms

    def steps(self) -> WaitingSteps:
        """Change all partitions; the answer leaves with the last outcome."""
        yield from self._find_places()
        act = self._release if self._request.action == QueueAction.RELEASE else self._purge
        for number, (key, row) in enumerate(self._partitions(), start=1):
            try:
                if isinstance(key, ErrorCode):
                    raise RequestError(key)
                leader = leader_elsewhere(self._broker, (key.topic_id, key.partition))
                if leader is None or self._call.connection.from_peer:
                    yield from act(key, row)
                else:
                    self._away.ask(leader, self._response.topics[-1].topic_name, row)
            except GroupError as error:
                row.error_code, row.error_message = error.code, error.message
            except RequestError as error:
                row.error_code, row.error_message = error.code, error.code.text
            if not number % PARTITIONS_PER_STEP:
                yield None
        yield from self._away.make()
        self._done()
        return PARKED

    def _find_places(self) -> Steps:
        """Find the group's topics, all of which are changed if none is named."""
        for number, place in enumerate(self._every, start=1):
            self._places[place.name] = place
            if self._request.topics is None:
                self._items.append(QueueTopicItem(topic_name=place.name, partitions=[]))
            if not number % PARTITIONS_PER_STEP:
                yield None

    def _partitions(self) -> Iterator[tuple[ShareKey | ErrorCode, ChangedPartition]]:
        """Yield the partitions that are named, or why they may not be changed, each with its row."""
        # Topics that are named were checked at the gate.
        rights = self._call.rights if self._request.topics is None else None
        for item in self._items:
            place = self._places.get(item.topic_name)
            topic = ChangedTopic(topic_name=item.topic_name, partitions=[])
            self._response.topics.append(topic)
            indexes = item.partitions or ([ALL] if place is None else place.partitions)
            known = set() if place is None else set(place.partitions)
            denied = rights is not None and not rights.may_topic(Operation.READ, item.topic_name)
            for index in dict.fromkeys(indexes):
                row = ChangedPartition(partition_index=index)
                topic.partitions.append(row)
                if denied:
                    yield ErrorCode.TOPIC_AUTHORIZATION_FAILED, row
                elif place is None or index not in known:
                    yield ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, row
                else:
                    yield ShareKey(self._request.group_id, place.topic_id, index), row

    # --- outcomes -------------------------------------------------------------------------------------------

    def _begin(self, row: ChangedPartition, records: int = 0) -> Callable[[ErrorCode], None]:
        """Have the answer wait for one more outcome; return what tells it."""
        self._left += 1

        def told(code: ErrorCode) -> None:
            if code == ErrorCode.NONE:
                row.records += records
            else:
                row.error_code, row.error_message = code, code.text
                row.records = 0 if self._request.action == QueueAction.PURGE else row.records
            self._done()

        return told

    def _done(self) -> None:
        self._left -= 1
        if not self._left:
            self._call.reply(self._response)

    # --- actions --------------------------------------------------------------------------------------------

    def _find(self, key: ShareKey) -> tuple[Partition, SharePartition]:
        """Return a partition and the group's state in it as it is now.  Raises: GroupError, RequestError."""
        return find_share(self._broker, self._broker.coordinators.shares, key, self._now_ms)

    def _release(self, key: ShareKey, row: ChangedPartition) -> WaitingSteps:
        """Give back the records that members have.  Raises: GroupError, RequestError."""
        only = self._request.offset
        offset = max(self._find(key)[1].start, only)
        while some := self._find(key)[1].ranges.some_from(offset, RANGES_PER_STEP):
            last = some[-1].last if only == ALL else only
            for member_id in held(self._find(key)[1], offset, last):
                if self._request.member_id in (None, member_id):
                    self._give_back(key, row, member_id, offset, last)
                    yield None
            if only != ALL:
                return
            offset = last + 1
            yield None

    def _give_back(self, key: ShareKey, row: ChangedPartition, member_id: str, first: int, last: int) -> None:
        """Release what a member has now between two offsets.  Raises: GroupError, RequestError."""
        parts = held(self._find(key)[1], first, last).get(member_id, ())
        if not parts:
            return
        said = [Acknowledgement(part.first, part.last, [Event.RELEASE]) for part in parts]
        told = self._begin(row, sum(part.last - part.first + 1 for part in parts))
        try:
            with self._broker.coordinators.shares.step(self._now_ms) as machine:
                machine.acknowledge(key, member_id, said, told, self._now_ms)
        except GroupError:
            self._left -= 1
            raise

    def _purge(self, key: ShareKey, row: ChangedPartition) -> WaitingSteps:
        """Finish all records that are there.  Raises: GroupError, RequestError."""
        yield from ()
        partition, _ = self._find(key)
        end = read_end(self._broker, key.group_id, partition)
        told = self._begin(row)
        try:
            with self._broker.coordinators.shares.step(self._now_ms) as machine:
                row.records = machine.purge(key, end, told, self._now_ms)
        except GroupError:
            self._left -= 1
            raise


def _check(request: KawalQueueChangesRequest) -> None:
    """Check what can be asked together.  Raises: InvalidRequest."""
    if request.action not in tuple(QueueAction):
        raise InvalidRequest(f"there is no action {request.action}")
    if request.action == QueueAction.PURGE and (request.member_id is not None or request.offset != ALL):
        raise InvalidRequest("a purge concerns whole partitions, neither a member nor an offset")
    if request.offset < ALL:
        raise InvalidRequest(f"{request.offset} is not an offset")
    topics = request.topics
    one_partition = topics is not None and len(topics) == 1 and len(topics[0].partitions) == 1
    if request.offset != ALL and not one_partition:
        raise InvalidRequest("an offset is one of exactly one partition")
