"""ShareFetch: v1-2.

Behaviour: acknowledges, then acquires records that no other member of the group has, from the partitions of
the share session, and returns the batches that have them.  Without any it waits for `max_wait_ms`, until
there are records or some are given back.  Every request begins with another partition.  Epoch 0 opens a
session, -1 closes it and gives back what the member still has.  Partitions of the session that the client may
not read are refused in every answer; the fetch waits for the others.
Differences from Apache Kafka: only batches with acquired records are returned, not those between them.  A
session lives on one connection, and what its member has is given back when that is lost.
Version notes: v1 the first stable one; v2 exact numbers of records (KIP-1206) and renewals (KIP-1222).
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from typing import TYPE_CHECKING, Final
from uuid import UUID

from broker.coordinators.group_settings import share_reading
from broker.coordinators.shares import limits_of
from broker.errors import RequestError
from broker.fetching.share_denials import ShareDenials
from broker.fetching.share_exchange import ShareExchange, member_of
from broker.fetching.share_reader import Place, Reading, ReadSteps, ShareReader, blank, find_partition
from broker.loop.call import PARKED, Call, Parked
from broker.loop.slices import Until, WaitingSteps
from broker.loop.waiters import ParkedCall
from groups.errors import GroupError, InvalidRequest
from groups.share.delivery import AcquireMode
from groups.share.sessions import CLOSING_EPOCH, OPENING_EPOCH, ShareSession
from groups.share.state_records import ShareKey
from protocol.error_codes import ErrorCode
from protocol.messages.share_fetch import (
    PartitionData,
    ShareFetchableTopicResponse,
    ShareFetchRequest,
    ShareFetchResponse,
)

if TYPE_CHECKING:
    from broker.core import Broker

DONE: Final = object()

PLACES_PER_STEP: Final = 100
"""The partitions of which it is decided between two looks at the time whether they may be read."""


def handle(broker: Broker, call: Call[ShareFetchRequest]) -> ShareFetchResponse | Parked | WaitingSteps:
    """Acknowledge, acquire, and answer; or wait for records."""
    try:
        fetch = _ShareFetch(broker, call)
    except GroupError as error:
        return ShareFetchResponse(
            error_code=error.code,
            error_message=error.message,
            acquisition_lock_timeout_ms=0,
            responses=[],
            node_endpoints=[],
        )
    steps = fetch.steps()
    waits = next(steps, DONE)
    if waits is DONE:
        return PARKED
    assert waits is None or isinstance(waits, Until)
    return _from(waits, steps)


def _from(waits: Until | None, steps: WaitingSteps) -> WaitingSteps:
    yield waits
    return (yield from steps)


class _ShareFetch:
    """One request on its way."""

    def __init__(self, broker: Broker, call: Call[ShareFetchRequest]) -> None:
        """Check the request and find its session.  Raises: GroupError."""
        request = call.request
        self._broker = broker
        self._call = call
        self._queues = broker.share_queues
        self._member = member_of(request)
        self._denials = ShareDenials(call.rights, broker.catalogue)
        self._denied: list[Place] = []
        self._data: dict[Place, PartitionData] = {}
        self._exchange = ShareExchange(
            broker, broker, self._queues, self._member, self._denials, self._answer
        )
        self._acknowledges = any(
            asked.acknowledgement_batches for topic in request.topics for asked in topic.partitions
        )
        if request.is_renew_ack:
            self._check_renewal()
        self._session = self._find_session()
        self._deadline_ms = call.received_ms + request.max_wait_ms

    def _check_renewal(self) -> None:
        request = self._call.request
        limits = (request.max_bytes, request.min_bytes, request.max_records, request.max_wait_ms)
        every = all(asked.acknowledgement_batches for topic in request.topics for asked in topic.partitions)
        if any(limits) or not every:
            raise InvalidRequest(
                "a request that renews locks acknowledges in each partition, and fetches nothing"
            )

    def _find_session(self) -> ShareSession:
        request = self._call.request
        added: list[Place] = []
        for topic in request.topics:
            for asked in topic.partitions:
                place = (topic.topic_id, asked.partition_index)
                try:
                    find_partition(self._broker, place)
                    added.append(place)
                    if request.share_session_epoch == OPENING_EPOCH:
                        self._data[place] = blank(place[1])
                except RequestError as error:
                    self._data[place] = blank(place[1], error.code)
        forgotten = [
            (topic.topic_id, index) for topic in request.forgotten_topics_data for index in topic.partitions
        ]
        known = self._queues.sessions.find(self._member)
        if known is not None and request.share_session_epoch > OPENING_EPOCH:
            for place in added:
                if place not in known.partitions:
                    self._data[place] = blank(place[1])
        return self._queues.current_sessions().fetch(
            self._member,
            request.share_session_epoch,
            self._call.connection.identity,
            added,
            forgotten,
            acknowledges=self._acknowledges,
        )

    # --- one pass -------------------------------------------------------------------------------------------

    def steps(self) -> WaitingSteps:
        """Acknowledge and read; park if there is nothing."""
        request = self._call.request
        yield from self._exchange.acknowledge(request.topics, renews=request.is_renew_ack)
        if request.share_session_epoch == CLOSING_EPOCH:
            self._exchange.close()
            self._exchange.done()
        elif request.is_renew_ack:
            self._exchange.done()
        else:
            yield from self._refuse_denied()
            if request.max_records <= 0:
                self._exchange.done()
            else:
                yield from self._read(self._call.received_ms)
        return PARKED

    def _refuse_denied(self) -> Generator[None, None, None]:
        """Refuse every partition that may not be read, be it named or only in the session."""
        if self._denials.rights is None:
            return
        for number, place in enumerate((*self._session.partitions, *self._data), start=1):
            if self._denials.denies(place[0]):
                self._data.pop(place, None)
                self._denied.append(place)
            if not number % PLACES_PER_STEP:
                yield

    def _readable(self) -> Generator[None, None, list[Place]]:
        """Return the partitions of the session that may be read, each time from another one on."""
        places = self._session.rotated()
        if self._denials.rights is None:
            return places
        readable: list[Place] = []
        for number, place in enumerate(places, start=1):
            if not self._denials.denies(place[0]):
                readable.append(place)
            if not number % PLACES_PER_STEP:
                yield
        return readable

    def _read(self, now_ms: int) -> ReadSteps:
        places = yield from self._readable()
        may_wait = bool(places) and now_ms < self._deadline_ms and not self._broker.stopping
        if may_wait and not self._has_enough(places):
            self._park(places)
            return
        reader = self._reader(now_ms)
        yield from reader.read(places)
        for place, data in reader.found.items():
            if data.error_code or data.acquired_records:
                self._data[place] = data
        is_empty = (
            not reader.count
            and not reader.has_error
            and not any(data.error_code for data in self._data.values())
        )
        if may_wait and is_empty:
            self._park(places)
            for view, position in reader.views:
                view.began_waiting(position, now_ms)
        else:
            self._exchange.done()

    def _reader(self, now_ms: int) -> ShareReader:
        broker, request = self._broker, self._call.request
        group_id = self._member.group_id
        room_bytes = self._call.connection.fetch_room_bytes()
        exact = request.share_acquire_mode == AcquireMode.RECORD_LIMIT
        reading = Reading(
            group_id,
            self._member.member_id,
            request.max_records,
            request.batch_size,
            AcquireMode.RECORD_LIMIT if exact else AcquireMode.BATCH_OPTIMIZED,
            max(min(request.max_bytes, broker.config.fetch_max_bytes, room_bytes), 0),
        )
        return ShareReader(
            broker,
            self._queues.shares,
            reading,
            limits=limits_of(broker, group_id),
            read_committed=share_reading(broker, group_id).read_committed,
            offload=broker.scheduler.offload,
            now_ms=now_ms,
        )

    def _has_enough(self, places: Iterable[Place]) -> bool:
        """Whether the bytes that could be acquired reach `min_bytes`; 1 is the least that is asked for."""
        wanted = self._call.request.min_bytes
        if wanted <= 1:
            return True
        total = 0
        for place in places:
            total += self._queues.available_bytes(self._member.group_id, place, wanted - total)
            if total >= wanted:
                return True
        return False

    # --- waiting --------------------------------------------------------------------------------------------

    def _park(self, places: list[Place]) -> None:
        by_key = dict(self._wait_keys(places))
        group_id = self._member.group_id

        def is_ready(key: int) -> bool:
            return self._queues.is_acquirable(group_id, by_key[key]) and self._has_enough(places)

        parked = ParkedCall(
            self._call, keys=list(by_key), size_bytes=0, min_bytes=0, resume=self._resume, ready=is_ready
        )
        self._broker.waiters.park(parked, deadline_ms=self._deadline_ms)

    def _wait_keys(self, places: Iterable[Place]) -> Iterator[tuple[int, Place]]:
        for place in places:
            yield self._queues.wait_key(ShareKey(self._member.group_id, *place)), place
            topic = self._broker.catalogue.find_id(place[0])
            if topic is not None and place[1] in topic.partitions:
                yield topic.partitions[place[1]].wait_key, place

    def _resume(self, now_ms: int) -> None:
        steps = self._again(now_ms)
        waits = next(steps, DONE)
        if waits is not DONE:
            assert waits is None or isinstance(waits, Until)
            self._broker.scheduler.begin(self._call, _from(waits, steps))

    def _again(self, now_ms: int) -> WaitingSteps:
        yield from self._read(now_ms)
        return PARKED

    # --- the answer -----------------------------------------------------------------------------------------

    def _answer(self) -> None:
        for place in self._denied:
            self._data[place] = blank(place[1], ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        for place, (code, message) in self._exchange.acknowledged.items():
            data = self._data.setdefault(place, blank(place[1]))
            data.acknowledge_error_code, data.acknowledge_error_message = code, message
        topics: dict[UUID, ShareFetchableTopicResponse] = {}
        for (topic_id, _), data in self._data.items():
            topic = topics.setdefault(topic_id, ShareFetchableTopicResponse(topic_id=topic_id, partitions=[]))
            topic.partitions.append(data)
        response = ShareFetchResponse(
            error_code=ErrorCode.NONE,
            acquisition_lock_timeout_ms=self._exchange.lock_ms,
            responses=list(topics.values()),
            node_endpoints=[],
        )
        self._call.reply(response)
