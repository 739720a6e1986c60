"""Wrong acks and internal topics are refused by every node, before it says that another one leads."""

from __future__ import annotations

import pytest

from protocol.error_codes import ErrorCode
from tests.broker.cluster_txn import OFFSETS, index_on, txn_cluster
from tests.broker.kit import batch, outcomes, producing


@pytest.mark.parametrize("number", [0, 1])
def test_wrong_acks_are_refused_by_the_leader_and_by_other_nodes(number: int) -> None:
    cluster = txn_cluster(2)
    request = producing(("t", index_on(cluster, number), batch(b"a")), acks=2)
    answers = [outcomes(cluster.call(node.client(), request, 9))[0].error_code for node in cluster]
    assert answers == [ErrorCode.INVALID_REQUIRED_ACKS] * 2


@pytest.mark.parametrize("number", [0, 1])
def test_an_internal_topic_is_refused_by_the_leader_and_by_other_nodes(number: int) -> None:
    cluster = txn_cluster(2)
    request = producing((OFFSETS, index_on(cluster, number, OFFSETS), batch(b"a")))
    answers = [outcomes(cluster.call(node.client(), request, 9))[0].error_code for node in cluster]
    assert answers == [ErrorCode.INVALID_TOPIC_EXCEPTION] * 2


def test_a_partition_that_does_not_exist_is_unknown_whatever_the_acks() -> None:
    cluster = txn_cluster(2)
    request = producing(("t", 9, batch(b"a")), acks=2)
    answers = [outcomes(cluster.call(node.client(), request, 9))[0].error_code for node in cluster]
    assert answers == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] * 2
