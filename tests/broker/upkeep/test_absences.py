"""Nodes of several machines learn from the controller which of them are there."""

from __future__ import annotations

import logging

import pytest

from broker.catalogue.members import AWAY_MS
from broker.upkeep.absences import LOOK_MS
from tests.broker.cluster import Cluster


def there(cluster: Cluster, number: int) -> list[bool]:
    members = cluster[number].broker.nodes.members
    assert members is not None
    return [member.is_there for member in members.known]


def pass_time(cluster: Cluster, duration_ms: int) -> None:
    for _ in range(duration_ms // 500):
        cluster.advance(500)


def test_all_nodes_know_that_all_are_there() -> None:
    cluster = Cluster(3, own_directories=True)
    cluster.advance(1_000)
    assert [there(cluster, number) for number in range(3)] == [[True] * 3] * 3
    pass_time(cluster, 3 * AWAY_MS)
    assert [there(cluster, number) for number in range(3)] == [[True] * 3] * 3


def test_a_node_that_is_killed_is_away_for_all_after_a_while_and_there_again_at_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    cluster = Cluster(3, own_directories=True)
    cluster.advance(1_000)
    cluster.kill(2)
    with caplog.at_level(logging.WARNING):
        pass_time(cluster, AWAY_MS + 5_000 + 2 * LOOK_MS)
    assert [there(cluster, number) for number in range(2)] == [[True, True, False]] * 2
    assert "node 2 is away" in caplog.text
    cluster.revive(2)
    cluster.advance(500)
    assert [there(cluster, number) for number in range(3)] == [[True] * 3] * 3


def test_a_node_that_is_cut_off_is_away_for_the_others_and_goes_on_with_what_it_knows() -> None:
    cluster = Cluster(3, own_directories=True)
    cluster.advance(1_000)
    cluster.cut = {frozenset({0, 1})}
    pass_time(cluster, AWAY_MS + 5_000 + 2 * LOOK_MS)
    assert there(cluster, 0) == there(cluster, 2) == [True, False, True]
    assert there(cluster, 1) == [True, True, True]
    cluster.cut = set()
    pass_time(cluster, 6_000)
    assert [there(cluster, number) for number in range(3)] == [[True] * 3] * 3
