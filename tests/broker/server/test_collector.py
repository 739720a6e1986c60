"""The garbage collector looks at new objects only, and the server gives it nothing else to find."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from broker.server import collector
from protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from tests.broker.gateway import Client, Gateway
from tests.broker.groups import commit, join
from tests.broker.kit import batch, create, fetching, producing, read, send

TOPICS = {"t": 2}


@pytest.fixture
def collecting() -> Iterator[None]:
    """Let the test set the collector up, and put it back afterwards."""
    threshold, callbacks = gc.get_threshold(), list(gc.callbacks)
    yield
    gc.callbacks[:] = callbacks
    gc.set_threshold(*threshold)
    gc.unfreeze()
    gc.enable()


@pytest.mark.usefixtures("collecting")
def test_objects_that_outlive_two_collections_are_not_looked_at_again() -> None:
    collector.calm_collector()
    exempt = gc.get_freeze_count()
    kept = [[number] for number in range(collector.YOUNG * (collector.ROUNDS + 3))]
    assert gc.get_freeze_count() >= exempt + collector.YOUNG * collector.ROUNDS
    young = sum(len(gc.get_objects(generation)) for generation in range(3))
    assert young < len(kept) / 2


@pytest.mark.usefixtures("collecting")
def test_cycles_of_new_objects_are_still_collected() -> None:
    collector.calm_collector()
    found: list[int] = []
    gc.callbacks.append(lambda phase, info: found.append(info["collected"]) if phase == "stop" else None)
    for _ in range(collector.YOUNG * 2):
        cycle: list[object] = []
        cycle.append(cycle)
    assert sum(found) > collector.YOUNG / 2


def work(gateway: Gateway) -> None:
    """Do a little of everything that clients do all day, and leave."""
    client, other = gateway.client(), gateway.client()
    create(client, "made")
    send(client, "made", batch(b"a", b"b"), 0)
    assert read(client, "made") == [b"a", b"b"]
    client.call(producing(("made", 0, batch(b"c")), ("missing", 0, batch(b"d"))), 9)
    other.send(fetching({("made", 0): 3}), 12)
    join_and_leave(gateway)
    gateway.client().send_bytes(b"\x00\x00\x00\x04junk")
    client.call(DeleteTopicsRequest(topics=[DeleteTopicState(name="made")], timeout_ms=1), 6)
    client.close()
    other.close()
    gateway.advance(20_000)


def join_and_leave(gateway: Gateway) -> None:
    member: Client = gateway.client()
    commit(member, "g", ("t", 0, 5), member=join(member, "g"))
    member.close()


@pytest.mark.usefixtures("collecting")
def test_what_clients_do_leaves_no_cycles_behind() -> None:
    gateway = Gateway(kawal_vnodes=2, group_initial_rebalance_delay_ms=0, kawal_rebalance_interval_ms=0)
    create(gateway.client(), "t", partitions=2)
    # The first round makes classes and code that are kept.
    work(gateway)
    gc.collect()
    gc.disable()
    work(gateway)
    assert gc.collect() == 0
