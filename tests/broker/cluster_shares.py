"""Members of share groups on a simulated cluster: each request goes to the right node.

cluster = share_cluster(2)
member = ClusterMember(cluster, "m", "t")
member.fetch(1)                     from partition 1 of `t`, at its leader
member.accept(1, 0, 3)
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from groups.share.state_records import ShareKey, state_partition
from protocol.messages.share_acknowledge import ShareAcknowledgeResponse
from protocol.messages.share_fetch import ShareFetchResponse
from protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from tests.broker.cluster import Cluster
from tests.broker.cluster_txn import OFFSETS, coordinator, leader, make
from tests.broker.kit import batch, send
from tests.broker.shares import ACCEPT, Member, acquired, configuring

STATES = "__share_group_state"
STATE_PARTITIONS = 50
"""The default of share.coordinator.state.topic.num.partitions."""


def share_cluster(count: int, partitions: int = 4, **settings: Any) -> Cluster:
    """Return a cluster with a topic `t`, whose group `g` reads from the beginning."""
    cluster = Cluster(count, **{"offsets_topic_num_partitions": 6, **settings})
    make(cluster, OFFSETS, 6, cleanup_policy="compact")
    make(cluster, "t", partitions)
    configure(cluster, share_auto_offset_reset="earliest")
    cluster.settle()
    return cluster


def configure(cluster: Cluster, group: str = "g", **settings: str) -> None:
    """Give a group settings."""
    (result,) = cluster.call(cluster[0].client(), configuring(group, **settings), 1).responses
    assert result.error_code == 0, result


def write(cluster: Cluster, index: int, *values: bytes, topic: str = "t") -> None:
    """Write a batch to a partition, at its leader."""
    send(cluster[leader(cluster, topic, index)].client(), topic, batch(*values), index)


def topic_id(cluster: Cluster, name: str = "t") -> UUID:
    """Return a topic's id."""
    found: UUID = cluster[0].broker.find_topic(name).topic_id
    return found


def home_of(cluster: Cluster, index: int, group: str = "g", topic: str = "t") -> int:
    """Return the node that stores the group's state in a partition."""
    home = state_partition(ShareKey(group, topic_id(cluster, topic), index), STATE_PARTITIONS)
    return leader(cluster, STATES, home)


def places_apart(cluster: Cluster, leads: int, stores: int, topic: str = "t") -> list[int]:
    """Return the partitions that one node leads, and whose state for `g` another stores."""
    count = cluster[0].broker.find_topic(topic).partition_count
    return [
        index
        for index in range(count)
        if leader(cluster, topic, index) == leads and home_of(cluster, index, topic=topic) == stores
    ]


class ClusterMember:
    """A member of a share group, with a session at each leader."""

    def __init__(self, cluster: Cluster, name: str, *topics: str, group: str = "g") -> None:
        self.cluster, self.name, self.group = cluster, name, group
        self.topics = topics
        self.epoch = 0
        self.assigned: dict[UUID, list[int]] = {}
        self._sessions: dict[int, Member] = {}
        if topics:
            self.beat()

    def beat(self, within_ms: int = 1_000) -> ShareGroupHeartbeatResponse:
        """Send a heartbeat to the coordinator, and follow its answer."""
        request = ShareGroupHeartbeatRequest(
            group_id=self.group,
            member_id=self.name,
            member_epoch=self.epoch,
            subscribed_topic_names=list(self.topics),
        )
        client = self.cluster[coordinator(self.cluster, OFFSETS, self.group)].client()
        answer: ShareGroupHeartbeatResponse = self.cluster.call(client, request, 1, within_ms=within_ms)
        client.close()
        if answer.error_code == 0:
            self.epoch = answer.member_epoch
        if answer.assignment is not None:
            self.assigned = {
                part.topic_id: sorted(part.partitions) for part in answer.assignment.topic_partitions
            }
        return answer

    def leave(self) -> ShareGroupHeartbeatResponse:
        """Leave the group."""
        self.epoch = -1
        return self.beat()

    def at(self, index: int, topic: str = "t") -> Member:
        """Return the session at a partition's leader; a new one if that has started again."""
        number = leader(self.cluster, topic, index)
        found = self._sessions.get(number)
        if found is None or found.client.gateway.broker is not self._broker_of(found):
            found = self._sessions[number] = Member(self.cluster[number], self.name, group=self.group)
            self._brokers[id(found)] = self.cluster[number].broker
        return found

    @property
    def _brokers(self) -> dict[int, Any]:
        found: dict[int, Any] = self.__dict__.setdefault("_brokers_of_sessions", {})
        return found

    def _broker_of(self, session: Member) -> Any:
        return self._brokers.get(id(session))

    def take(self, index: int, topic: str = "t", **values: Any) -> list[tuple[int, int, int]]:
        """Fetch from a partition at its leader; return the acquired ranges in it, with their counts."""
        answer = self.fetch(index, topic, **values)
        for each in answer.responses:
            each.partitions = [data for data in each.partitions if data.partition_index == index]
        return acquired(answer)

    def fetch(self, index: int, topic: str = "t", **values: Any) -> ShareFetchResponse:
        """Fetch from a partition at its leader."""
        return self.at(index, topic).fetch((topic_id(self.cluster, topic), index), **values)

    def say(self, index: int, first: int, last: int, kind: int, topic: str = "t") -> ShareAcknowledgeResponse:
        """Say of records what became of them."""
        place = (topic_id(self.cluster, topic), index)
        return self.at(index, topic).acknowledge(place, (first, last, [kind]))

    def accept(self, index: int, first: int, last: int, topic: str = "t") -> ShareAcknowledgeResponse:
        """Accept records."""
        return self.say(index, first, last, ACCEPT, topic)
