"""Share fetches ask the object store for all cold partitions before they wait for the first."""

from __future__ import annotations

from uuid import UUID

from protocol.messages.share_fetch import ShareFetchResponse
from tests.broker.kit import batch, create, send
from tests.broker.shares import Member, configure
from tests.broker.shares import values as share_values
from tests.broker.upkeep.test_tiered_reads import answer_all, cold, held_back
from tests.broker.upkeep.test_tiering import TIERED, VALUE, Tiered
from wal.memory_objects import ObjectFault

COUNT = 5


def tiered_topics() -> tuple[Tiered, Member, list[tuple[UUID, int]]]:
    """Return a broker with a vnode for each partition, whose first records are in the store alone."""
    tiered = Tiered(vnodes=COUNT)
    topic = create(tiered.client, "many", COUNT, **TIERED)
    for index in range(COUNT):
        for number in range(6):
            send(tiered.client, "many", batch(b"%d-%d " % (index, number) + VALUE), partition=index)
    tiered.settle()
    cold(tiered)
    configure(tiered.gateway, share_auto_offset_reset="earliest")
    return tiered, Member(tiered.gateway, "m1", "many"), [(topic, index) for index in range(COUNT)]


def partitions_of(answer: ShareFetchResponse) -> set[bytes]:
    """Return the partitions that the values in an answer name."""
    return {(value or b"").split(b"-")[0] for value in share_values(answer)}


def test_all_cold_partitions_of_a_share_fetch_are_asked_for_before_the_first_is_waited_for() -> None:
    tiered, member, places = tiered_topics()
    waiting = held_back(tiered)
    member.send_fetch(*places, max_wait_ms=10_000)
    tiered.gateway.advance(1)
    assert len(waiting) >= COUNT
    answer_all(waiting)
    found = set[bytes]()
    for _ in range(40):
        tiered.gateway.advance(1_000)
        answer_all(waiting)
        for answer in member.client.answers():
            found |= partitions_of(answer)
        if found:
            break
    assert found == {b"%d" % index for index in range(COUNT)}


def test_a_partition_whose_store_fails_takes_nothing_from_the_others() -> None:
    tiered, member, places = tiered_topics()
    tiered.objects.hook = lambda call: (
        ObjectFault.AWAY if call.kind == "read_range" and "/vnode-0/" in call.key else None
    )
    found = set[bytes]()
    for _ in range(5):
        found |= partitions_of(member.fetch(*places))
    assert len(found) == COUNT - 1
