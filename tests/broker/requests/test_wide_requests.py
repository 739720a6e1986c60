"""However wide a request is, the event loop is given back soon: over every API and each array of its request.

The requests are made of the schemas, so that a new API is covered by itself.  Counted are lines of Python
between two looks at the sockets, as the time depends on the machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from broker.handlers import APIS, Api
from protocol.layout import layout
from protocol.schema import declaration
from tests.broker.gateway import Client, Gateway
from tests.broker.guarded import ALICE, Guarded
from tests.broker.kit import create
from tests.broker.wide_requests import EventLoop, Lines, Path, Piece, Threads, Wide, array_paths

WIDTH = 4_000

NAMELESS_WIDTH = 6_000

LINES_MAX = 25_000
"""The lines of a piece of work: about 2.5 ms.  Work on WIDTH elements without a pause, seven lines
each, has more; less work is not seen, nor what C does."""

ONE_RECORD = "a member's subscription is one record, of all names: 0.2 us each"
ONE_COMMIT = "what a commit has made durable is taken over at once: 1.5 us for each record"

WIDER = {
    ("create_topics", "topics"): (100_000, ONE_COMMIT),
    ("alter_share_group_offsets", "topics"): (60_000, ONE_COMMIT),
    ("alter_share_group_offsets", "topics.partitions"): (60_000, ONE_COMMIT),
    ("consumer_group_heartbeat", "subscribed_topic_names"): (75_000, ONE_RECORD),
    ("share_group_heartbeat", "subscribed_topic_names"): (80_000, ONE_RECORD),
}
"""The arrays that may take more, how much, and why."""


class Variant(NamedTuple):
    """The world in which a wide request comes."""

    guarded: bool = False
    same: bool = False
    hollow: bool = False
    nameless: bool = False

    def __str__(self) -> str:
        which = (
            "denied" if self.guarded else "known" if self.same else "nameless" * self.nameless or "unknown"
        )
        return "-".join(filter(None, (which, "hollow" * self.hollow)))


VARIANTS = [
    Variant(),
    Variant(same=True),
    Variant(hollow=True),
    Variant(guarded=True, hollow=True),
    Variant(nameless=True),
]


def arrays(api: Api) -> Iterator[tuple[int, Path]]:
    """Yield each array that the API's requests have in their last version or the first, and the version."""
    seen: set[Path] = set()
    for version in dict.fromkeys((api.maximum, api.minimum)):
        for path in array_paths(layout(api.request_type(), version)):
            if path not in seen:
                seen.add(path)
                yield version, path


def longest_piece(gateway: Gateway, wide: Wide, api: Api, version: int) -> Piece:
    """Serve a narrow request, with which imports and caches are made, then the wide one."""
    lines = Lines()
    for request, measure in ((wide._replace(width=2), Lines()), (wide, lines)):
        threads = Threads()
        gateway.broker.scheduler.offload = threads.offload
        gateway.broker.stats.turns.clock_ns = measure.clock_ns
        client = gateway.of(ALICE) if isinstance(gateway, Guarded) else gateway.client()
        client.connection.offload = threads.offload
        serve(client, threads, measure, request.message(api.request_type(), version), version)
    return lines.longest


def serve(client: Client, threads: Threads, measure: Lines, request: Any, version: int) -> None:
    EventLoop(client, threads, measure).serve(request, version)


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
@pytest.mark.parametrize("api", APIS.values(), ids=lambda api: api.name)
def test_no_array_keeps_the_loop_from_other_clients(api: Api, variant: Variant) -> None:
    api.load()
    gateway = Guarded() if variant.guarded else Gateway()
    create(gateway.admin if isinstance(gateway, Guarded) else gateway.client(), "t", 10)
    topic_id = gateway.broker.find_topic("t").topic_id
    # Empty names take a byte each: so many of them that the frame is not decoded at once.
    width = NAMELESS_WIDTH if variant.nameless else WIDTH
    width = min(width, declaration(api.request_type()).elements_max // 4)
    long: list[str] = []
    for version, path in arrays(api):
        wide = Wide(
            path, width, topic_id, same=variant.same, hollow=variant.hollow, nameless=variant.nameless
        )
        piece = longest_piece(gateway, wide, api, version)
        allowed, _why = WIDER.get((api.name, ".".join(path)), (LINES_MAX, ""))
        if piece.size > allowed:
            long.append(f"v{version} {'.'.join(path)}: {piece.size} lines, {piece.where}")
    assert not long


def test_arrays_with_a_bound_of_their_own_are_still_in_the_schemas() -> None:
    served = {api.name: api for api in APIS.values()}
    for name, where in WIDER:
        served[name].load()
        assert where in {".".join(path) for _version, path in arrays(served[name])}
