"""DescribeConfigs of resources without configs; the codes are those of Apache Kafka 4.3.1."""

from __future__ import annotations

import pytest

from protocol.error_codes import ErrorCode
from protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from tests.broker.gateway import Client

TOPICS = {"t": 1}


TOPIC, METRICS = 2, 16


def describe(client: Client, *resources: tuple[int, str]) -> list[tuple[int, int]]:
    """Return the code and the number of configs of each."""
    asked = [
        DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=None)
        for kind, name in resources
    ]
    answer = client.call(DescribeConfigsRequest(resources=asked), 4)
    return [(result.error_code, len(result.configs)) for result in answer.results]


@pytest.mark.parametrize("kind", [-1, 0, 1, 3, 64])
def test_an_unknown_kind_of_resource_refuses_all(client: Client, kind: int) -> None:
    refused = (ErrorCode.INVALID_REQUEST, 0)
    assert describe(client, (TOPIC, "t"), (kind, "x")) == [refused, refused]


def test_a_metrics_subscription_has_no_configs_but_needs_a_name(client: Client) -> None:
    assert describe(client, (METRICS, "s"), (METRICS, "")) == [(0, 0), (ErrorCode.INVALID_REQUEST, 0)]
