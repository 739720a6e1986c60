"""KawalPolls: v0.  Kawal's own API, by which the coordinator of a group learns that its members poll.

Behaviour: tells how long ago members fetched from partitions of theirs, as far as this node's connections
know, and for how long it has known that.
Errors: none.  Clients get no answer: as for an API that is not served, their connection ends.
Differences from Apache Kafka: its server does not watch what members fetch.
Version notes: none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from broker.coordinators.member_polls import Member, fetched_ms
from broker.handlers.envelope import not_served
from broker.loop.call import Call, Parked
from broker.loop.last_fetch import Place
from protocol.messages.kawal_polls import NEVER, KawalPollsRequest, KawalPollsResponse

if TYPE_CHECKING:
    from broker.core import Broker


class Asked(NamedTuple):
    """A member that is asked about; its id is its number in the request."""

    group_id: str
    consumer_id: str
    client_id: str
    host: str


def handle(broker: Broker, call: Call[KawalPollsRequest]) -> KawalPollsResponse | Parked:
    """Tell the last fetches."""
    if not call.connection.from_peer:
        return not_served(call)
    asked = [
        Asked("", str(number), member.client_id, member.host)
        for number, member in enumerate(call.request.members)
    ]
    owned: dict[Member, set[Place]] = {
        (each.group_id, each.consumer_id): {
            (topic.topic, index) for topic in member.topics for index in topic.partitions
        }
        for each, member in zip(asked, call.request.members, strict=True)
    }
    fetched = fetched_ms(asked, owned, broker.connections.values(), broker.clock)
    now_ms = broker.clock.turn_ms
    wall_ms = broker.clock.wall_ms(now_ms)
    ages_ms = [max(0, wall_ms - fetched[member]) if member in fetched else NEVER for member in owned]
    return KawalPollsResponse(known_for_ms=now_ms - broker.poll_watch.began_ms, ages_ms=ages_ms)
