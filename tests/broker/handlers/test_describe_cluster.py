"""DescribeCluster: one node, which is its own controller."""

from __future__ import annotations

import pytest

from protocol.messages.describe_cluster import DescribeClusterRequest
from protocol.messages.metadata import MetadataRequest
from tests.broker.gateway import Gateway


def request(endpoint_type: int = 1) -> DescribeClusterRequest:
    return DescribeClusterRequest(include_cluster_authorized_operations=False, endpoint_type=endpoint_type)


@pytest.mark.parametrize("version", range(3))
def test_the_cluster_is_this_node(version: int) -> None:
    client = Gateway(broker_rack="r1", node_id=7).client()
    answer = client.call(request(), version)
    (node,) = answer.brokers
    assert (answer.error_code, answer.controller_id) == (0, 7)
    assert (node.broker_id, node.host, node.port, node.rack) == (7, "gateway", 9092, "r1")
    assert answer.cluster_id == client.call(MetadataRequest(topics=[]), 12).cluster_id


@pytest.mark.parametrize("endpoint_type", [2, 0, 9])
def test_other_endpoints_than_brokers_are_refused(endpoint_type: int) -> None:
    client = Gateway().client()
    answer = client.call(request(endpoint_type), 1)
    assert answer.error_code != 0
    assert answer.error_message
    assert answer.brokers == []
