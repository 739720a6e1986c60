"""ShareFetch: v1-2.

Behaviour: acknowledges, then acquires records that no other member of the group has, from the partitions of
the share session, and returns the batches that have them.  Without any it waits for `max_wait_ms`, until
there are records or some are given back.  Every request begins with another partition.  Epoch 0 opens a
session, -1 closes it and gives back what the member still has.  Partitions of the session that the client may
not read are refused in every answer; the fetch waits for the others.
Differences from Apache Kafka: only batches with acquired records are returned, not those between them.  A
session lives on one connection, and what its member has is given back when that is lost.  The sessions of all
members have 250,000 partitions at most; one for which there is no room ends with SHARE_SESSION_LIMIT_REACHED.
While the memory for requests is full, a fetch of many partitions does not wait.
Version notes: v1 the first stable one; v2 exact numbers of records (KIP-1206) and renewals (KIP-1222).
"""

from __future__ import annotations

from collections.abc import Generator, Hashable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final
from uuid import UUID

from broker.coordinators.share_settings import share_settings
from broker.errors import RequestError
from broker.fetching.share_denials import ShareDenials
from broker.fetching.share_exchange import ShareExchange, member_of
from broker.fetching.share_places import Place, find_partition
from broker.fetching.share_reader import Reading, ReadSteps, ShareReader, blank
from broker.fetching.share_request import (
    PLACES_PER_STEP,
    acknowledging,
    freed,
    has_errors,
    named,
    refused,
    response_of,
)
from broker.loop.call import CALL_BYTES, PARKED, SMALL_BYTES, Call, Parked
from broker.loop.slices import (
    ITEMS_PER_STEP,
    PLAIN_ITEMS_PER_STEP,
    Steps,
    Until,
    WaitingSteps,
    at_once,
    chunks,
    emptied,
    pauses_told,
)
from broker.loop.waiters import ParkedCall
from groups.errors import GroupError, InvalidRequest, ShareSessionLimitReached
from groups.share.delivery import AcquireMode
from groups.share.sessions import CLOSING_EPOCH, OPENING_EPOCH, ShareSession
from groups.share.state_records import ShareKey
from protocol.error_codes import ErrorCode
from protocol.messages.share_fetch import PartitionData, ShareFetchRequest, ShareFetchResponse

if TYPE_CHECKING:
    from broker.core import Broker

DONE: Final = object()

ACQUIRE_MODES: Final = frozenset(AcquireMode)

DATA_BYTES: Final = 500
"""The memory of a partition's part of the answer, until that is made."""

WAITING_BYTES: Final = 900
"""The memory of a partition that a fetch waits for, with its two keys."""


def handle(broker: Broker, call: Call[ShareFetchRequest]) -> ShareFetchResponse | Parked | WaitingSteps:
    """Acknowledge, acquire, and answer; or wait for records."""
    try:
        steps = _ShareFetch(broker, call).steps()
    except GroupError as error:
        return refused(error)
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

    _session: ShareSession

    def __init__(self, broker: Broker, call: Call[ShareFetchRequest]) -> None:
        """Check the names in the request.  Raises: GroupError."""
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
        self._deadline_ms = call.received_ms + request.max_wait_ms
        # When to look again before, because a member may sit idle then.
        self._look_again_ms: int | None = None
        # What the places of a waiting fetch are told by; whether there were pauses while they were read.
        self._by_key: dict[int, Place] = {}
        self._has_paused = False
        # What could be acquired when it was last looked for after pauses.
        self._prospects: dict[Place, Hashable] = {}

    # --- the session ----------------------------------------------------------------------------------------

    def _open(self) -> Steps:
        """Check the request, and find or open its session.  Raises: GroupError."""
        request, queues = self._call.request, self._queues
        acknowledges = yield from acknowledging(request.topics)
        if request.is_renew_ack:
            self._check_renewal()
        epoch, connection = request.share_session_epoch, self._call.connection.identity
        if epoch == OPENING_EPOCH:
            yield from queues.left(self._member)
        before = queues.sessions.find(self._member)
        self._session = queues.current_sessions().fetch(
            self._member, epoch, connection, (), (), acknowledges=acknowledges
        )
        if before is not None and before is not self._session:
            queues.free(before)
        self._session.active_ms = self._call.received_ms
        if not request.is_renew_ack:
            self._session.window = max(request.max_records, 0)
        try:
            yield from self._change_session()
        except ShareSessionLimitReached:
            queues.drop(self._member)
            raise
        reads = epoch != CLOSING_EPOCH and not request.is_renew_ack and bool(self._session.partitions)
        if reads and request.share_acquire_mode not in ACQUIRE_MODES:
            raise InvalidRequest(f"the acquire mode {request.share_acquire_mode} does not exist")

    def _check_renewal(self) -> None:
        request = self._call.request
        if any((request.max_bytes, request.min_bytes, request.max_records, request.max_wait_ms)):
            raise InvalidRequest("a request that renews locks fetches nothing: its limits are 0")

    def _change_session(self) -> Steps:
        request, sessions = self._call.request, self._queues.sessions
        for number, asked in enumerate(named(request.topics), start=1):
            if asked is not None:
                self._name(asked[0], asked[1].partition_index)
            if not number % PLACES_PER_STEP:
                yield
        if request.share_session_epoch <= OPENING_EPOCH:
            return
        for number, forgotten in enumerate(named(request.forgotten_topics_data), start=1):
            if forgotten is not None:
                sessions.forget(self._session, forgotten)
            if not number % PLACES_PER_STEP:
                yield

    def _name(self, topic_id: UUID, index: int) -> None:
        """Add a partition to the session; the answer has those that are new, and those with errors."""
        place, epoch = (topic_id, index), self._call.request.share_session_epoch
        try:
            find_partition(self._broker, place)
            is_new = epoch != CLOSING_EPOCH and self._queues.sessions.add(self._session, place)
            if is_new or epoch == OPENING_EPOCH:
                self._data[place] = blank(index)
        except RequestError as error:
            self._data[place] = blank(index, error.code)

    # --- one pass -------------------------------------------------------------------------------------------

    def steps(self) -> WaitingSteps:
        """Acknowledge and read; park if there is nothing."""
        request = self._call.request
        try:
            yield from self._open()
        except GroupError as error:
            self._call.reply(refused(error))
            return PARKED
        yield from self._exchange.acknowledge(request.topics, renews=request.is_renew_ack)
        if self._call.weight_bytes > SMALL_BYTES:
            yield from freed(request)
            self._weigh(0)
        if request.share_session_epoch == CLOSING_EPOCH:
            yield from self._exchange.close()
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
        may_wait = (
            bool(places)
            and now_ms < self._deadline_ms
            and not self._broker.stopping
            and self._call.connection.may_keep(self._weight_bytes(len(places)))
        )
        self._has_paused = False
        if may_wait and not (yield from pauses_told(self._has_enough(places), self._paused)):
            yield from self._park(places)
            return
        reader = self._reader()
        yield from pauses_told(reader.read(places), self._paused)
        self._has_paused = self._has_paused or reader.has_made_room
        self._data.update(reader.found)
        is_empty = not reader.count and not reader.has_error
        if may_wait and is_empty and not (self._data and (yield from has_errors(self._data))):
            if reader.steals:
                self._look_again_ms = yield from pauses_told(
                    self._queues.take_over(self._member, places, reader.records_max, now_ms), self._paused
                )
            yield from self._park(places)
            for view, position in reader.views:
                view.began_waiting(position, now_ms)
        else:
            if reader.accepts:
                yield from self._exchange.accept(reader.found)
            self._exchange.done()

    def _paused(self) -> None:
        """Note that what came meanwhile has not woken this fetch: before it waits, it looks again."""
        self._has_paused = True

    def _reader(self) -> ShareReader:
        broker, request = self._broker, self._call.request
        group_id = self._member.group_id
        settings = share_settings(broker, group_id)
        room_bytes = self._call.connection.fetch_room_bytes()
        exact = request.share_acquire_mode == AcquireMode.RECORD_LIMIT
        max_records = request.max_records
        if settings.queue.member_records_max:
            max_records, exact = min(max_records, self._queues.room_of(self._member) or 0), True
        reading = Reading(
            group_id,
            self._member.member_id,
            max_records,
            request.batch_size,
            AcquireMode.RECORD_LIMIT if exact else AcquireMode.BATCH_OPTIMIZED,
            max(min(request.max_bytes, broker.config.fetch_max_bytes, room_bytes), 0),
        )
        return ShareReader(
            broker,
            self._queues.shares,
            reading,
            limits=settings.limits,
            read_committed=settings.reading.read_committed,
            offload=broker.scheduler.offload,
            clock=broker.clock,
            settings=settings.queue,
        )

    def _has_enough(self, places: Sequence[Place]) -> Generator[None, None, bool]:
        return self._queues.has_enough(self._member, places, self._call.request.min_bytes)

    # --- waiting --------------------------------------------------------------------------------------------

    def _weigh(self, waiting_count: int) -> None:
        self._call.connection.weigh(self._call, self._weight_bytes(waiting_count))

    def _weight_bytes(self, waiting_count: int) -> int:
        """Return the memory of the call while it waits for so many partitions."""
        return CALL_BYTES + len(self._data) * DATA_BYTES + waiting_count * WAITING_BYTES

    def _park(self, places: list[Place]) -> Steps:
        """Have the fetch wait; if records come before it does, look again at once."""
        by_key = self._by_key = {}
        # Of many partitions the bytes are counted in slices, when the fetch looks again.
        counts = len(places) <= ITEMS_PER_STEP

        def is_ready(key: int) -> bool:
            place = by_key.get(key)
            is_of_use = place is not None and self._queues.is_acquirable(self._member, place)
            return is_of_use and (not counts or at_once(self._has_enough(places)))

        waiters, has_paused = self._broker.waiters, self._has_paused
        self._weigh(len(places))
        self._exchange.answered = None
        parked = ParkedCall(
            self._call,
            keys=[],
            size_bytes=0,
            min_bytes=0,
            resume=self._resume,
            ready=is_ready,
            alike=self._alike(),
        )
        deadline_ms, again_ms = self._deadline_ms, self._look_again_ms
        waiters.park(parked, deadline_ms=deadline_ms if again_ms is None else min(deadline_ms, again_ms))
        self._session.is_waiting = True
        has_news = False
        for number, part in enumerate(chunks(places)):
            if number:
                yield
            keys = dict(self._wait_keys(part))
            if not waiters.add_keys(parked, keys):
                return
            by_key.update(keys)
            if has_paused and self._has_news(part):
                has_news = True
        if has_news and (yield from self._has_enough(places)):
            waiters.resume(parked, self._broker.clock.turn_ms)

    def _has_news(self, places: Sequence[Place]) -> bool:
        """Whether more could be acquired than when this was asked before; each change is told of once."""
        has_news = False
        for place in places:
            prospect = self._queues.prospect(self._member, place)
            if prospect is not None and self._prospects.get(place) != prospect:
                self._prospects[place] = prospect
                has_news = True
        return has_news

    def _alike(self) -> str | None:
        """Return the group whose waiting members all get the same, if nothing is up to the member."""
        group_id = self._member.group_id
        settings = share_settings(self._broker, group_id)
        is_own = settings.queue.member_records_max or settings.limits.avoid_last_ms
        return None if is_own or self._call.request.min_bytes > 1 else group_id

    def _wait_keys(self, places: Iterable[Place]) -> Iterator[tuple[int, Place]]:
        for place in places:
            yield self._queues.wait_key(ShareKey(self._member.group_id, *place)), place
            topic = self._broker.catalogue.find_id(place[0])
            if topic is not None and place[1] in topic.partitions:
                yield topic.partitions[place[1]].wait_key, place

    def _resume(self, now_ms: int) -> None:
        self._exchange.answered = self._answer
        steps = self._again(now_ms)
        waits = next(steps, DONE)
        if waits is not DONE:
            assert waits is None or isinstance(waits, Until)
            self._broker.scheduler.begin(self._call, _from(waits, steps))

    def _again(self, now_ms: int) -> WaitingSteps:
        self._session.is_waiting, self._session.active_ms = False, now_ms
        if len(self._by_key) > PLAIN_ITEMS_PER_STEP:
            yield from emptied(self._by_key)
        yield from self._read(now_ms)
        return PARKED

    # --- the answer -----------------------------------------------------------------------------------------

    def _answer(self) -> None:
        call, count = self._call, len(self._data) + len(self._denied) + len(self._exchange.acknowledged)
        if count <= PLAIN_ITEMS_PER_STEP:
            call.reply(at_once(self._answered()))
        else:
            self._broker.scheduler.begin(call, self._long_answer())

    def _answered(self) -> Generator[None, None, ShareFetchResponse]:
        for number, place in enumerate(self._denied, start=1):
            self._data[place] = blank(place[1], ErrorCode.TOPIC_AUTHORIZATION_FAILED)
            if not number % PLACES_PER_STEP:
                yield
        exchange = self._exchange
        return (yield from response_of(self._data, exchange.acknowledged, lock_ms=exchange.lock_ms))

    def _long_answer(self) -> Steps:
        response = yield from self._answered()
        # At its end, all at once, that would take 10 ms.
        yield from emptied(self._data)
        return response
