"""Having the leaders of partitions change states: who is asked, how long, and what the outcome is."""

from __future__ import annotations

from typing import Any

from broker.coordinators.cluster_states import AGAIN_MS, WAIT_MS, ClusterStates
from broker.coordinators.local_states import LocalStates
from protocol.error_codes import ErrorCode
from tests.broker.cluster import UNSENT, Cluster
from tests.broker.cluster_shares import STATES, share_cluster, topic_id
from tests.broker.cluster_txn import leader


class Asked:
    """A question that node 0 asks, and its outcome when it is there."""

    def __init__(self, cluster: Cluster, method: str, *arguments: Any) -> None:
        broker = cluster[0].broker
        local = LocalStates(broker, broker, lambda: broker.coordinators.shares)
        steps = getattr(ClusterStates(broker, broker, local), method)(*arguments)
        self.outcomes: list[Any] = []
        broker.scheduler.add_work(self._run(steps))
        cluster.settle()

    def _run(self, steps: Any) -> Any:
        self.outcomes.append((yield from steps))


def places(cluster: Cluster) -> list[Any]:
    return [(topic_id(cluster), index) for index in range(4)]


def ready(count: int = 2) -> Cluster:
    """Return a cluster in which all partitions have states of the group."""
    cluster = share_cluster(count)
    asked = Asked(cluster, "make", "g", places(cluster))
    for _ in range(10):
        cluster.advance(AGAIN_MS)
    assert [sorted(found) for found in asked.outcomes] == [sorted(places(cluster))]
    return cluster


def test_the_controller_is_asked_for_the_topic_of_the_states() -> None:
    for number in range(2):
        cluster = share_cluster(2)
        broker = cluster[number].broker
        local = LocalStates(broker, broker, lambda broker=broker: broker.coordinators.shares)  # type: ignore[misc]
        broker.scheduler.add_work(drain(ClusterStates(broker, broker, local).make("g", places(cluster))))
        cluster.settle()
        cluster.advance(3 * AGAIN_MS)
        for node in cluster:
            assert node.broker.catalogue.by_name[STATES].partition_count == 50


def drain(steps: Any) -> Any:
    yield from steps


def test_a_node_that_did_not_hear_is_asked_again() -> None:
    cluster = ready()
    Asked(cluster, "delete", "g", None)
    cluster.mishaps.append(UNSENT)
    asked = Asked(cluster, "make", "g", places(cluster))
    assert asked.outcomes == []
    cluster.advance(2 * AGAIN_MS)
    assert [sorted(found) for found in asked.outcomes] == [sorted(places(cluster))]


def test_states_at_a_node_that_hangs_are_not_waited_for_for_ever() -> None:
    cluster = ready()
    cluster.hung.add(1)
    asked = Asked(cluster, "set", "g", dict.fromkeys(places(cluster), 0))
    cluster.advance(WAIT_MS - 1)
    assert asked.outcomes == []
    cluster.advance(1)
    (codes,) = asked.outcomes
    away = [place for place in places(cluster) if leader(cluster, "t", place[1]) == 1]
    assert away
    assert {codes[place] for place in away} == {ErrorCode.COORDINATOR_NOT_AVAILABLE}


def test_partitions_that_do_not_exist_have_no_outcome() -> None:
    cluster = ready()
    asked = Asked(cluster, "set", "g", {(topic_id(cluster), 4): 0, (topic_id(cluster), 0): 0})
    assert asked.outcomes == [{(topic_id(cluster), 0): ErrorCode.NONE}]
    nothing = Asked(cluster, "make", "g", [(topic_id(cluster), 4)])
    assert nothing.outcomes == [[]]


def test_the_first_error_of_a_deletion_is_its_outcome() -> None:
    cluster = ready(3)
    assert Asked(cluster, "delete", "g", [topic_id(cluster)]).outcomes == [ErrorCode.NONE]
    cluster.mishaps.append(UNSENT)
    refused = Asked(cluster, "delete", "g", None)
    assert refused.outcomes == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
