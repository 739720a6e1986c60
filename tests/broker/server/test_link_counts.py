"""Connections and failed requests are counted for each node by itself."""

from __future__ import annotations

from broker.server.link_counts import LinkCounts


def test_each_node_has_its_own_counts() -> None:
    counts = LinkCounts()
    counts.connected(1)
    counts.failed(2)
    counts.failed(2)
    assert [counts.of(number) for number in range(3)] == [(0, 0), (1, 0), (0, 2)]
