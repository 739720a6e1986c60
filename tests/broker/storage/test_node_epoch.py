"""The leader epochs that the starts of a node begin, if it is not alone."""

from __future__ import annotations

from broker.storage.node_epoch import begin_node_epoch
from tests.broker.cluster import Cluster
from tests.broker.gateway import Gateway
from wal.memory_image import DROP_ALL
from wal.stream import EPOCH_MAX, EPOCH_ZERO_MS


def test_each_start_of_one_of_several_nodes_begins_a_leader_epoch() -> None:
    cluster = Cluster(2)
    before = [node.broker.topics.leader_epoch for node in cluster]
    cluster.kill(1)
    cluster.revive(1)
    assert [node.broker.topics.leader_epoch for node in cluster] == [before[0], before[1] + 1]


def test_a_node_alone_begins_none() -> None:
    gateway = Gateway()
    gateway.restart()
    assert gateway.broker.topics.leader_epoch == 0


def test_the_epoch_is_a_time_and_durable_in_every_log() -> None:
    gateway = Gateway(kawal_vnodes=3)
    vnodes = gateway.broker.vnodes["default"]
    begin_node_epoch(vnodes, gateway.now_ms, EPOCH_ZERO_MS + 5_000_000)
    begin_node_epoch(vnodes[:1], gateway.now_ms, EPOCH_ZERO_MS)
    gateway.disk = gateway.disk.crash(DROP_ALL)
    gateway.open_again()
    epochs = [vnode.log.largest_leader_epoch() for vnode in gateway.broker.vnodes["default"]]
    assert epochs == [5_001, 5_000, 5_000]


def test_a_clock_that_is_far_ahead_leaves_epochs_for_later() -> None:
    gateway = Gateway()
    vnodes = gateway.broker.vnodes["default"]
    begin_node_epoch(vnodes, gateway.now_ms, EPOCH_ZERO_MS + 4_000_000_000_000)
    assert vnodes[0].log.largest_leader_epoch() == 1 + (EPOCH_MAX - 1) // 2


def test_a_log_that_takes_no_writes_keeps_its_epoch() -> None:
    gateway = Gateway(kawal_vnodes=2)
    closed, other = gateway.broker.vnodes["default"]
    closed.log.close(gateway.now_ms)
    begin_node_epoch([closed, other], gateway.now_ms, EPOCH_ZERO_MS)
    assert (closed.log.largest_leader_epoch(), other.log.largest_leader_epoch()) == (0, 1)
