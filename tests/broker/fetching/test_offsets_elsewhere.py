"""The progress in partitions of other nodes: asked of each leader once, with an error where it is silent."""

from __future__ import annotations

from broker.fetching.offsets_elsewhere import WAIT_MS, OffsetsElsewhere
from protocol.error_codes import ErrorCode
from tests.broker.cluster import UNSENT
from tests.broker.cluster_shares import ClusterMember, share_cluster, write
from tests.broker.cluster_txn import index_on


def test_each_leader_is_asked_once_and_those_that_are_silent_are_told_by_an_error() -> None:
    cluster = share_cluster(3, 6)
    ClusterMember(cluster, "m", "t")
    broker = cluster[0].broker
    away = OffsetsElsewhere(broker, broker)
    index, silent = index_on(cluster, 1), index_on(cluster, 2)
    write(cluster, index, b"a")
    row, same = away.ask(1, "g", "t", index), away.ask(1, "g", "t", index)
    unknown, unheard = away.ask(1, "h", "t", index), away.ask(2, "g", "t", silent)
    cluster.mishaps += ["", UNSENT]
    broker.scheduler.add_work(away.fill())
    broker.scheduler.run()
    assert len(cluster.sent) == 2
    cluster.settle()
    cluster.advance(WAIT_MS)
    assert row is same
    assert (row.start_offset, row.lag, row.error_code) == (0, 1, ErrorCode.NONE)
    assert (unknown.start_offset, unknown.error_code) == (-1, ErrorCode.NONE)
    assert (unheard.start_offset, unheard.error_code) == (-1, ErrorCode.COORDINATOR_NOT_AVAILABLE)
