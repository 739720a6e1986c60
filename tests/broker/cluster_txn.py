"""Transactional producers, groups and readers on a simulated cluster: each request goes to the right node.

cluster = txn_cluster(2)
producer = ClusterProducer(cluster, "tx")
producer.write("t", 1, b"a")
producer.commit()
assert read_committed(cluster, "t", 1) == [b"a"]
"""

from __future__ import annotations

from typing import Any

from groups.record_keys import partition_for
from protocol.error_codes import ErrorCode
from protocol.messages.create_topics import CreateTopicsRequest
from tests.broker.cluster import Cluster
from tests.broker.gateway import Client
from tests.broker.kit import creation, fetched, fetching
from tests.broker.txn import TV2, Producer, committed

OFFSETS, TRANSACTIONS = "__consumer_offsets", "__transaction_state"


def make(cluster: Cluster, name: str, partitions: int, **configs: str) -> None:
    """Create a topic on the controller."""
    request = CreateTopicsRequest(topics=[creation(name, partitions, **configs)], timeout_ms=1_000)
    answer = cluster[0].client().call(request, 7)
    assert answer.topics[0].error_code == ErrorCode.NONE, answer


def txn_cluster(count: int, partitions: int = 4, **settings: Any) -> Cluster:
    """Return a cluster with the internal topics and a topic `t`."""
    cluster = Cluster(count, **{"offsets_topic_num_partitions": 6, **settings})
    for name in (OFFSETS, TRANSACTIONS):
        make(cluster, name, 6, cleanup_policy="compact")
    make(cluster, "t", partitions)
    return cluster


def revive(cluster: Cluster, number: int) -> None:
    """Start a node again, and let it load what it coordinates."""
    cluster.revive(number)
    cluster.advance(10)


def leader(cluster: Cluster, name: str, index: int) -> int:
    """Return the node that leads a partition."""
    node = next(node for node in cluster if node.number not in cluster.down)
    topic = node.broker.find_topic(name)
    return node.broker.topics.leader(topic, index)[0]


def coordinator(cluster: Cluster, internal: str, key: str) -> int:
    """Return the node that coordinates a group or a transactional id."""
    return leader(cluster, internal, partition_for(key, 6))


def name_on(cluster: Cluster, internal: str, number: int, stem: str = "k") -> str:
    """Return the name of a group or a transactional id that a node coordinates."""
    return next(
        name
        for name in (f"{stem}{each}" for each in range(100))
        if coordinator(cluster, internal, name) == number
    )


def index_on(cluster: Cluster, number: int, name: str = "t") -> int:
    """Return a partition of a topic that a node leads."""
    count = cluster[0].broker.find_topic(name).partition_count
    return next(index for index in range(count) if leader(cluster, name, index) == number)


def read_committed(cluster: Cluster, name: str, index: int) -> list[bytes]:
    """Return what a consumer that reads committed data sees of a partition."""
    return committed(cluster[leader(cluster, name, index)].client(), name, index)


def is_stable(cluster: Cluster, name: str, index: int) -> bool:
    """Whether no transaction is open in a partition."""
    client = cluster[leader(cluster, name, index)].client()
    answer = client.call(fetching({(name, index): 0}, isolation_level=1), 12)
    found = fetched(answer)[name, index]
    return bool(found.last_stable_offset == found.high_watermark)


class ClusterProducer(Producer):
    """A producer that finds coordinators and leaders as Kafka's clients do."""

    def __init__(
        self, cluster: Cluster, name: str = "tx", *, protocol: int = TV2, timeout_ms: int = 60_000
    ) -> None:
        self.cluster = cluster
        super().__init__(cluster[0], name, protocol=protocol, timeout_ms=timeout_ms)

    @property
    def client(self) -> Client:
        """A connection to the coordinator of its transactions."""
        return self.cluster[coordinator(self.cluster, TRANSACTIONS, self.name)].client()

    @client.setter
    def client(self, client: Client) -> None:
        """Leave it: this producer opens connections of its own."""

    def to_leader(self, name: str, index: int) -> Client:
        return self.cluster[leader(self.cluster, name, index)].client()

    def to_coordinator(self, group_id: str) -> Client:
        return self.cluster[coordinator(self.cluster, OFFSETS, group_id)].client()
