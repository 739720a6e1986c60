"""Fetch: v4-18.

Behaviour: sends whole batches from the one that holds the offset, never beyond the high watermark; the first
batch of the answer is sent even when it is larger than every limit (KIP-74).  A fetch with less than
`min_bytes` is parked and woken by arriving bytes, not by polling.  Sessions:
broker/fetching/fetch_sessions.py.  With kawal.out.of.range=first a fetch below the log start is answered from
the log start.
Differences from Apache Kafka: sessions are limited by their memory, too, and one that outgrows it ends with
FETCH_SESSION_ID_NOT_FOUND; while the memory for requests is full, waiting fetches are answered early.
There are no replicas: with an authorizer a `replica_id` needs CLUSTER_ACTION beside READ, else it is
ignored; every record that can be fetched is durable (the high watermark follows the sync).  Views
(broker/view_topics/view_partition.py) are read a slice at a time, and readers are moved past the records
that a view leaves out: the last batch is extended over them, or if no record is left, a batch without
records is sent.  A group may have settings by which its members read (broker/coordinators/member_reads.py):
records of some origin or of a past state left out, and a number of records that a fetch waits for.
Version notes: v7 sessions (KIP-227); v9 leader epochs (KIP-320); v11 rack id (ignored); v12 flexible, last
fetched epoch (KIP-595); v13 topic ids (KIP-516); v15-18 replica fields (ignored).
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final

from broker.errors import RequestError
from broker.fetching.fetch_answer import FetchAnswer
from broker.fetching.fetch_items import FetchItem
from broker.fetching.fetch_reader import FetchReader
from broker.fetching.fetch_sessions import FetchPlan, PlanSteps
from broker.fetching.item_errors import empty_data, error_data
from broker.fetching.member_views import FetchMembership
from broker.fetching.stable_marks import StableMarks
from broker.loop.call import CALL_BYTES, PARKED, SMALL_BYTES, Call, Parked
from broker.loop.last_fetch import PLACES_KEPT, LastFetch, Place, kept_id
from broker.loop.slices import (
    ITEMS_PER_SLICE,
    ITEMS_PER_STEP,
    PLAIN_ITEMS_PER_STEP,
    Pace,
    WaitingSteps,
    at_once,
    chunks,
)
from broker.loop.waiters import ParkedCall
from protocol.messages.fetch import FetchRequest, FetchResponse, FetchTopic, ForgottenTopic, PartitionData

if TYPE_CHECKING:
    from broker.core import Broker

TOPIC_IDS_VERSION: Final = 13

READ_ITEM_BYTES: Final = 260
"""The memory of an item's part of the answer while that is made (measured: 257)."""

WAITER_KEY_BYTES: Final = 300
"""The memory of a partition that a parked fetch waits for, beyond its item (measured: 293)."""

WIDE_BYTES: Final = 256 << 10
"""Requests that weigh more, with some hundred partitions, are planned in slices."""

KEYS_PER_STEP: Final = 100
"""The partitions that a fetch begins to wait for between two looks at the time."""

DONE: Final = object()


def handle(broker: Broker, call: Call[FetchRequest]) -> FetchResponse | Parked | WaitingSteps:
    """Answer with the records there are, or park until there are enough."""
    planned = broker.fetch_sessions.plan(
        call.request,
        uses_topic_ids=call.version >= TOPIC_IDS_VERSION,
        owner=call.connection,
        now_ms=call.received_ms,
    )
    if call.weight_bytes > WIDE_BYTES:
        return _answer_wide(broker, call, planned)
    try:
        plan = at_once(planned)
    except RequestError as error:
        return _refused(error)
    return _answer(broker, call, plan)


def _refused(error: RequestError) -> FetchResponse:
    return FetchResponse(error_code=error.code, session_id=0, responses=[])


def _answer_wide(broker: Broker, call: Call[FetchRequest], planned: PlanSteps) -> WaitingSteps:
    """Answer a request that names so many partitions that they are even planned in slices."""
    try:
        plan = yield from planned
    except RequestError as error:
        return _refused(error)
    topics, forgotten = call.request.topics, call.request.forgotten_topics_data
    answer = _answer(broker, call, plan)
    # The plan has all that they said; freeing them takes as long as planning.
    yield from _freed_topics(topics)
    yield from _freed_topics(forgotten)
    return (yield from answer) if isinstance(answer, Generator) else answer


def _listed(plan: FetchPlan) -> Generator[None, None, list[FetchItem]]:
    """Return the plan's items; an ordered dictionary takes 0.1 us for each."""
    items: list[FetchItem] = []
    try:
        for item in plan.items.values():
            items.append(item)
            if not len(items) % PLAIN_ITEMS_PER_STEP:
                yield
    except RuntimeError:
        # A request on another connection has changed the session in between.
        items = list(plan.items.values())
    return items


def _freed(reader: FetchReader) -> Iterator[None]:
    """Free what was read, and the plan unless it is a session's: all at once, that takes 50 ms."""
    found, plan = reader.found, reader.plan
    while found:
        del found[-PLAIN_ITEMS_PER_STEP:]
        yield
    while plan.items and plan.session is None:
        for _ in range(min(len(plan.items), ITEMS_PER_STEP)):
            plan.items.popitem()
        yield


def _freed_topics(topics: list[FetchTopic] | list[ForgottenTopic]) -> Iterator[None]:
    pace = Pace(PLAIN_ITEMS_PER_STEP)
    for topic in topics:
        while topic.partitions:
            freed = min(len(topic.partitions), PLAIN_ITEMS_PER_STEP)
            del topic.partitions[-freed:]
            if pace.due(freed):
                yield
        if pace.due():
            yield
    while topics:
        del topics[-PLAIN_ITEMS_PER_STEP:]
        yield


def _answer(
    broker: Broker, call: Call[FetchRequest], plan: FetchPlan
) -> FetchResponse | Parked | WaitingSteps:
    if broker.member_reads.is_used and broker.member_reads.is_unknown(call):
        return _answer_when_known(broker, call, plan)
    return _answer_known(broker, call, plan)


def _answer_known(
    broker: Broker, call: Call[FetchRequest], plan: FetchPlan
) -> FetchResponse | Parked | WaitingSteps:
    request = call.request
    _note_fetch(broker, call, plan)
    if len(plan.items) > ITEMS_PER_SLICE or call.weight_bytes > SMALL_BYTES:
        # As plain objects they would be in memory twice.
        request.topics, request.forgotten_topics_data = [], []
        call.connection.weigh(call, CALL_BYTES + plan.own_bytes + len(plan.items) * READ_ITEM_BYTES)
    reader = _reader(broker, call, plan, now_ms=call.received_ms)
    if len(plan.items) > ITEMS_PER_SLICE:
        return _read_in_slices(broker, reader, may_park=True)
    steps = reader.read(tuple(plan.items.values()))
    if (pause := next(steps, DONE)) is not DONE:
        return _go_on_in_slices(broker, reader, chain([pause], steps), may_park=True)
    if not plan.items or not _may_wait(reader):
        return _respond(reader)
    _park(broker, reader)
    return PARKED


def _answer_when_known(broker: Broker, call: Call[FetchRequest], plan: FetchPlan) -> WaitingSteps:
    """Answer when it is known which groups the client is a member of; without records if that takes long."""
    if not (yield from broker.member_reads.learn(call, call.received_ms + call.request.max_wait_ms)):
        return (yield from _without_records(broker, call, plan))
    answer = _answer_known(broker, call, plan)
    return (yield from answer) if isinstance(answer, Generator) else answer


def _without_records(broker: Broker, call: Call[FetchRequest], plan: FetchPlan) -> WaitingSteps:
    """Answer as if nothing had come: a full fetch must hear of all its partitions (FetchSessionHandler)."""
    reader, answer = _reader(broker, call, plan, now_ms=broker.clock.turn_ms), FetchAnswer(plan)
    for part in chunks((yield from _listed(plan))):
        answer.add([(item, _empty(reader, item)) for item in part])
        yield None
    return answer.finished()


def _empty(reader: FetchReader, item: FetchItem) -> PartitionData:
    try:
        return empty_data(item, reader.find(item), read_committed=reader.read_committed)
    except RequestError as error:
        return error_data(item, error.code)


def _membership(broker: Broker, call: Call[FetchRequest]) -> FetchMembership | None:
    """Return the settings of the groups for which the client reads, if it does for one that has any."""
    if not broker.member_reads.is_used:
        return None
    from broker.coordinators.groups import client_of

    reads = broker.member_reads.of(client_of(call))
    return None if reads is None else FetchMembership(broker.member_views, reads)


def _note_fetch(broker: Broker, call: Call[FetchRequest], plan: FetchPlan) -> None:
    """Remember some of what the connection reads: that is kept as long as the connection."""
    request, last = call.request, call.connection.last_fetch
    places: list[Place] = []
    if last is not None and plan.incremental and not (request.topics or request.forgotten_topics_data):
        places = last.places
    else:
        catalogue = broker.catalogue
        for item in islice(plan.items.values(), PLACES_KEPT):
            topic = catalogue.find_id(item.topic_id) if item.by_id else catalogue.find(item.name)
            if topic is not None:
                # Its own name: the item's is a string of this request.
                places.append((topic.name, item.index))
    call.connection.last_fetch = LastFetch(call.received_ms, kept_id(call.client_id) or "", places)


def _reader(
    broker: Broker, call: Call[FetchRequest], plan: FetchPlan, *, now_ms: int, scans: bool = True
) -> FetchReader:
    room_bytes = call.connection.fetch_room_bytes()
    membership = _membership(broker, call)
    return FetchReader(
        broker,
        call,
        plan,
        room_bytes=room_bytes,
        now_ms=now_ms,
        scans=scans,
        membership=membership,
        offload=broker.scheduler.offload,
    )


def _go_on_in_slices(
    broker: Broker, reader: FetchReader, steps: Iterator[Any], *, may_park: bool
) -> WaitingSteps:
    """Read the rest of a plan in which a view has much to evaluate."""
    yield from steps
    if may_park and _may_wait(reader) and not reader.is_outdated(reader.found):
        _park(broker, reader)
        return PARKED
    return _respond(reader)


def _read_again(
    broker: Broker, call: Call[FetchRequest], plan: FetchPlan, behind: WaitingSteps
) -> WaitingSteps:
    """Read a plan after the steps by which it is known again for which groups that is."""
    yield from behind
    again = _reader(broker, call, plan, scans=False, now_ms=broker.clock.turn_ms)
    if len(plan.items) > ITEMS_PER_SLICE:
        return (yield from _read_in_slices(broker, again, may_park=False))
    return (
        yield from _go_on_in_slices(broker, again, again.read(tuple(plan.items.values())), may_park=False)
    )


def _read_in_slices(broker: Broker, reader: FetchReader, *, may_park: bool) -> WaitingSteps:
    """Read a plan of many partitions, which other requests may change in between."""
    items = yield from _listed(reader.plan)
    for part in chunks(items):
        yield from reader.read(part)
        yield None
    if may_park and _may_wait(reader):
        yield from _park_in_slices(broker, reader, items)
        return PARKED
    items.clear()  # those of the plan are freed with it
    answer = FetchAnswer(reader.plan)
    for found in chunks(reader.found):
        answer.add(found)
        yield None
    response = answer.finished()
    del answer
    yield from _freed(reader)
    return response


def _may_wait(reader: FetchReader) -> bool:
    """Whether to wait for more: while memory is short, a fetch of many partitions is answered at once."""
    plan = reader.plan
    return not reader.is_enough() and reader.call.connection.may_keep(_parked_bytes(plan, len(plan.items)))


def _park(broker: Broker, reader: FetchReader) -> None:
    keys = _wait_keys(reader.plan.items.values())
    reader.call.connection.weigh(reader.call, _parked_bytes(reader.plan, len(keys)))
    marks = StableMarks(broker.topics)
    marks.add(reader.committed_only(reader.found))
    _begin_waiting(broker, reader, list(keys), marks)
    _wait_for_views(reader)


def _park_in_slices(broker: Broker, reader: FetchReader, items: list[FetchItem]) -> Iterator[None]:
    """Have a fetch wait for many partitions; if records come before it does, look again at once."""
    plan = reader.plan
    reader.call.connection.weigh(reader.call, _parked_bytes(plan, len(plan.items)))
    marks = StableMarks(broker.topics)
    fetch = _begin_waiting(broker, reader, [], marks)
    for part in chunks(items, per_step=KEYS_PER_STEP):
        if not broker.waiters.add_keys(fetch, _wait_keys(part)):
            return
        yield
    for found in chunks(reader.found, per_step=KEYS_PER_STEP):
        marks.add(reader.committed_only(found))
        if reader.is_outdated(found):
            broker.waiters.resume(fetch, broker.clock.turn_ms)
            return
        yield
    _wait_for_views(reader)


def _wait_keys(items: Iterable[FetchItem]) -> set[int]:
    return {
        item.topic.partitions[item.index].wait_key
        for item in items
        if item.topic is not None and item.index in item.topic.partitions
    }


def _parked_bytes(plan: FetchPlan, key_count: int) -> int:
    return CALL_BYTES + plan.own_bytes + key_count * WAITER_KEY_BYTES


def _wait_for_views(reader: FetchReader) -> None:
    for view, position in reader.views:
        view.began_waiting(position, reader.now_ms)


def _begin_waiting(broker: Broker, reader: FetchReader, keys: list[int], marks: StableMarks) -> ParkedCall:
    call, plan = reader.call, reader.plan

    # Before the fetch is woken, only a later request of the same client can change the session, and its
    # answer follows this one. Kafka, too, reads the plan's items at that time.
    def resume(now_ms: int) -> None:
        if len(plan.items) > ITEMS_PER_SLICE:
            call.connection.weigh(call, call.weight_bytes + len(plan.items) * READ_ITEM_BYTES)
        if (behind := broker.member_reads.behind(call)) is not None:
            broker.scheduler.begin(call, _read_again(broker, call, plan, behind))
            return
        again = _reader(broker, call, plan, scans=False, now_ms=now_ms)
        if len(plan.items) > ITEMS_PER_SLICE:
            broker.scheduler.begin(call, _read_in_slices(broker, again, may_park=False))
            return
        steps = again.read(tuple(plan.items.values()))
        if (pause := next(steps, DONE)) is not DONE:
            rest = _go_on_in_slices(broker, again, chain([pause], steps), may_park=False)
            broker.scheduler.begin(call, rest)
            return
        call.reply(_respond(again))

    def is_ready(key: int) -> bool:
        return marks.is_passed(key) and (not reader.min_rows or reader.has_rows())

    fetch = ParkedCall(
        call,
        keys=keys,
        size_bytes=reader.counted_bytes,
        min_bytes=reader.min_bytes,
        resume=resume,
        ready=is_ready if reader.read_committed or reader.membership is not None else None,
    )
    deadline_ms = call.received_ms + call.request.max_wait_ms
    if reader.due_ms is not None:
        deadline_ms = min(deadline_ms, reader.due_ms)
    broker.waiters.park(fetch, deadline_ms=deadline_ms)
    return fetch


def _respond(reader: FetchReader) -> FetchResponse:
    answer = FetchAnswer(reader.plan)
    answer.add(reader.found)
    return answer.finished()
