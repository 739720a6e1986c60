"""The polls of members, and what a fetch says about them (more in test_kawal_groups.py)."""

from __future__ import annotations

from broker.coordinators.member_polls import fetched_ms, owned_places
from tests.broker.gateway import START_MS, Gateway
from tests.broker.groups import beating
from tests.broker.kit import create, fetch


def test_the_last_fetch_from_a_partition_of_its_own_is_a_members_poll() -> None:
    gateway = Gateway(kawal_rebalance_interval_ms=0)
    client = gateway.client()
    create(client, "t")
    client.call(beating("g", "m", topics=["t"]), 1)
    client.call(beating("h", "x", topics=["other"]), 1)
    gateway.advance(700)
    fetch(client, "t")
    broker = gateway.broker
    with broker.groups.step(gateway.now_ms) as coordinator:
        consumers = coordinator.consumers(gateway.now_ms)
        owned = owned_places(coordinator.subscriptions(gateway.now_ms))
    assert owned == {("g", "m"): {("t", 0)}}
    found = fetched_ms(consumers, owned, broker.connections.values(), broker.clock)
    assert found == {("g", "m"): START_MS + 700}
