"""Wrong acks and internal topics are refused by every node, before it says that another one leads."""

from __future__ import annotations

import pytest

from protocol.error_codes import ErrorCode
from protocol.record_reader import Record
from protocol.record_writer import encode_batch
from tests.broker.cluster_txn import OFFSETS, index_on, txn_cluster
from tests.broker.gateway import START_MS
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


@pytest.mark.parametrize("number", [0, 1])
def test_a_transactional_batch_without_an_id_is_refused_by_the_leader_and_by_other_nodes(number: int) -> None:
    cluster = txn_cluster(2)
    record = Record(0, START_MS, None, b"a")
    data = encode_batch([record], producer_id=1, producer_epoch=0, base_sequence=0, transactional=True)
    request = producing(("t", index_on(cluster, number), data))
    answers = [outcomes(cluster.call(node.client(), request, 9))[0].error_code for node in cluster]
    assert answers == [ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED] * 2
