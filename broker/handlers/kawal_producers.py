"""KawalProducers: v0.  Kawal's own API, for its command line; it is never advertised to Kafka clients.

Behaviour: tells the last number of each named producer of a topic with kawal.dedup=seqno, and the partition
that it wrote to last; all that the topic remembers, or those asked for.  Numbers that are not durable yet are
told, too: a producer that goes on after one of them loses nothing, as it sends the earlier records first.
While the end of one of the topic's logs is damaged, the answer is KAFKA_STORAGE_ERROR.
Differences from Apache Kafka: Kafka has no such API, and closes the connection.
Version notes: none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Final

from broker.errors import RequestError
from broker.loop.call import Call
from broker.loop.slices import Steps
from broker.storage.deduplication import Placement, index_of
from protocol.error_codes import ErrorCode
from protocol.messages.kawal_producers import KawalProducersRequest, KawalProducersResponse, NamedProducer
from wal.named_producers import NamedState

if TYPE_CHECKING:
    from broker.core import Broker

NAMES_PER_STEP: Final = 200


def handle(broker: Broker, call: Call[KawalProducersRequest]) -> KawalProducersResponse | Steps:
    """Answer with the producers, a slice at a time."""
    try:
        place = _place(broker, call.request.topic)
    except RequestError as error:
        return KawalProducersResponse(error_code=error.code, error_message=error.message, producers=[])
    return KawalProducersResponse(producers=[]) if place is None else _answer(place, call.request.names)


def _place(broker: Broker, name: str) -> Placement | None:
    """Return where the topic's producers are known; None: this node leads none of its partitions."""
    topic = broker.find_topic(name)
    settings = broker.topics.settings(topic)
    if topic.view is not None or not settings.dedups:
        raise RequestError(
            ErrorCode.INVALID_REQUEST,
            f"topic {name!r} does not remember producers by name: it has no kawal.dedup=seqno",
        )
    # Its number is of no account: any partition knows the topic's names and logs.
    partition = next(broker.topics.led(topic), None)
    if partition is None:
        return None
    place = Placement(partition, broker.topics.vnodes_of(topic), settings, broker.clock.settled_wall_ms)
    place.check_logs()
    return place


def _answer(place: Placement, names: list[bytes] | None) -> Steps:
    newest: dict[bytes, NamedState] = {}
    found = _every(place) if names is None else _chosen(place, names)
    while part := list(islice(found, NAMES_PER_STEP)):
        for name, state in part:
            # Those that are not remembered count, too: a request may name 100,000 of them.
            if state is None or not place.remembers(state):
                continue
            known = newest.get(name)
            if known is None or state.last_seqno > known.last_seqno:
                newest[name] = state
        yield
    response = KawalProducersResponse(producers=[])
    rows = iter(newest.items())
    while chosen := list(islice(rows, NAMES_PER_STEP)):
        response.producers += [_row(place, name, state) for name, state in chosen]
        yield
    return response


Found = Iterator[tuple[bytes, NamedState | None]]
"""Names, and what one log knows of each; None: nothing."""


def _every(place: Placement) -> Found:
    for vnode in place.vnodes:
        yield from vnode.log.named_producers.all_of(place.scope)


def _chosen(place: Placement, names: Iterable[bytes]) -> Found:
    for name in names:
        for vnode in place.vnodes:
            yield name, vnode.log.named_producers.of(place.scope, name)


def _row(place: Placement, name: bytes, state: NamedState) -> NamedProducer:
    return NamedProducer(
        name=name,
        partition=index_of(place.partition, state.stream_id),
        last_seqno=state.seqno,
        open_seqno=state.transaction_seqno,
        written_ms=state.written_ms,
    )
