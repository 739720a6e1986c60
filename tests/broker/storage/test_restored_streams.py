"""Stream ids that are used in restored logs of other workers are not given out again."""

from __future__ import annotations

from broker.storage.restored_streams import first_free_stream
from tests.broker.cluster import Cluster
from tests.broker.kit import batch, create, producing
from wal.segment import ANOTHER_HISTORY


def written() -> Cluster:
    """Return workers with a topic that has records in every log."""
    cluster = Cluster(2)
    create(cluster[0].client(), "t", 4)
    cluster.settle()
    for index in range(4):
        leader, _ = cluster[0].broker.topics.leader(cluster[0].broker.find_topic("t"), index)
        cluster[leader].client().send(producing(("t", index, batch(b"one"))), 9)
    cluster.settle()
    return cluster


def test_only_restored_logs_of_others_are_looked_at_and_their_largest_stream_counts() -> None:
    cluster = written()
    store, nodes = cluster[0].broker.store, cluster[0].broker.nodes
    assert first_free_stream(store, nodes.leads) == 0
    for index in range(4):
        store.disk.open(f"{store.vnode_path('default', index)}/{ANOTHER_HISTORY}", create=True).close()
    theirs = max(stream for vnode in cluster[1].broker.vnodes.every for stream in vnode.log.streams())
    assert first_free_stream(store, nodes.leads) == theirs + 1


def test_a_damaged_log_is_passed_over() -> None:
    cluster = written()
    store, nodes = cluster[0].broker.store, cluster[0].broker.nodes
    for number in range(2):
        cluster.kill(number)
    path = store.vnode_path("default", 1)
    store.disk.open(f"{path}/{ANOTHER_HISTORY}", create=True).close()
    (segment,) = [name for name in store.disk.list(path) if name.endswith(".wal")]
    file = store.disk.open(f"{path}/{segment}")
    file.write_at(0, [bytes(file.size())])
    file.sync()
    file.close()
    assert first_free_stream(store, nodes.leads) == 0
