"""DescribeCluster in odd cases; the answers are those of Apache Kafka 4.3.1."""

from __future__ import annotations

import pytest

from broker.security.authorized_operations import CLUSTER_OPERATIONS
from protocol.error_codes import ErrorCode
from protocol.messages.describe_cluster import DescribeClusterRequest
from tests.broker.gateway import Gateway


def test_operations_are_told_when_asked_for() -> None:
    client = Gateway().client()
    answer = client.call(DescribeClusterRequest(include_cluster_authorized_operations=True), 1)
    assert answer.cluster_authorized_operations == CLUSTER_OPERATIONS


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        (2, ErrorCode.MISMATCHED_ENDPOINT_TYPE),
        (0, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE),
        (-1, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE),
    ],
)
def test_a_refused_endpoint_type_is_not_repeated(asked: int, code: ErrorCode) -> None:
    request = DescribeClusterRequest(include_cluster_authorized_operations=True, endpoint_type=asked)
    answer = Gateway().client().call(request, 1)
    assert (answer.error_code, answer.endpoint_type) == (code, 1)
    assert answer.cluster_authorized_operations == -(2**31)
