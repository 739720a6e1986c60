"""Nodes of several machines learn from the controller which of them are there."""

from __future__ import annotations

import logging

import pytest

from broker.catalogue.members import AWAY_MS
from broker.upkeep.absences import LOOK_MS
from protocol.error_codes import ErrorCode
from protocol.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from tests.broker.cluster import Cluster
from tests.broker.kit import create


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
    assert there(cluster, 1) == [False, True, True]
    cluster.cut = set()
    pass_time(cluster, 6_000)
    assert [there(cluster, number) for number in range(3)] == [[True] * 3] * 3


def metadata(cluster: Cluster, number: int, *names: str) -> MetadataResponse:
    asked = [MetadataRequestTopic(name=name) for name in names]
    answer = cluster[number].client().call(MetadataRequest(topics=asked), 12)
    assert isinstance(answer, MetadataResponse)
    return answer


def described(cluster: Cluster, number: int) -> DescribeClusterResponse:
    request = DescribeClusterRequest(include_cluster_authorized_operations=False)
    answer = cluster[number].client().call(request, 0)
    assert isinstance(answer, DescribeClusterResponse)
    return answer


def leaders(response: MetadataResponse) -> list[tuple[int, int]]:
    return [(each.error_code, each.leader_id) for each in response.topics[0].partitions]


def brokers(response: MetadataResponse) -> list[int]:
    return [node.node_id for node in response.brokers]


def test_a_controller_that_is_killed_is_away_for_the_others_and_there_again_at_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    cluster = Cluster(3, own_directories=True)
    create(cluster[0].client(), "t", 3)
    cluster.advance(1_000)
    before = leaders(metadata(cluster, 0, "t"))
    assert sorted(before) == [(0, 0), (0, 1), (0, 2)]
    cluster.kill(0)
    with caplog.at_level(logging.WARNING):
        pass_time(cluster, AWAY_MS + 2 * LOOK_MS)
    assert [there(cluster, number) for number in (1, 2)] == [[False, True, True]] * 2
    assert caplog.text.count("node 0 is away: it does not answer") == 2
    for number in (1, 2):
        answer = metadata(cluster, number, "t")
        assert (brokers(answer), answer.controller_id) == ([1, 2], -1)
        without = [(ErrorCode.LEADER_NOT_AVAILABLE, -1) if led == (0, 0) else led for led in before]
        assert leaders(answer) == without
        cluster_seen = described(cluster, number)
        assert cluster_seen.controller_id == -1
        assert [node.broker_id for node in cluster_seen.brokers] == [1, 2]
    cluster.revive(0)
    pass_time(cluster, 1_000)
    assert [there(cluster, number) for number in range(3)] == [[True] * 3] * 3
    answer = metadata(cluster, 2, "t")
    assert (brokers(answer), answer.controller_id) == ([0, 1, 2], 0)
    assert leaders(answer) == before


def test_a_controller_that_is_away_for_a_moment_is_named_all_the_time() -> None:
    cluster = Cluster(2, own_directories=True)
    cluster.advance(1_000)
    cluster.kill(0)
    pass_time(cluster, AWAY_MS - 5_000 - LOOK_MS)
    assert metadata(cluster, 1).controller_id == 0
    cluster.revive(0)
    pass_time(cluster, 2 * AWAY_MS)
    assert metadata(cluster, 1).controller_id == 0


def test_the_last_node_that_stands_answers_and_names_itself_alone() -> None:
    cluster = Cluster(3, own_directories=True)
    create(cluster[0].client(), "t", 3)
    cluster.advance(1_000)
    cluster.kill(2)
    pass_time(cluster, AWAY_MS + 5_000 + 2 * LOOK_MS)
    cluster.kill(0)
    pass_time(cluster, AWAY_MS + 2 * LOOK_MS)
    answer = metadata(cluster, 1, "t")
    assert (brokers(answer), answer.controller_id) == ([1], -1)
    assert sorted(leaders(answer)) == [(0, 1), *[(ErrorCode.LEADER_NOT_AVAILABLE, -1)] * 2]
