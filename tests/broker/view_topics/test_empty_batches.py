"""The clients that are sent batches without records."""

from __future__ import annotations

import pytest

from broker.view_topics.empty_batches import moves_over_empty_batch, takes_empty_batch
from protocol.messages.api_versions import ApiVersionsRequest
from tests.broker.gateway import Client, Gateway


class AsIfFetched:
    """The parts of a fetch that are looked at."""

    def __init__(self, client: Client, version: int) -> None:
        self.connection = client.connection
        self.version = version


def named(software: str) -> Client:
    client = Gateway().client()
    client.call(ApiVersionsRequest(client_software_name=software, client_software_version="1"), 3)
    return client


@pytest.mark.parametrize("software", ["apache-kafka-java", "librdkafka", "kgo", "kafka-python"])
def test_clients_that_name_their_software_take_empty_batches_and_move_on(software: str) -> None:
    call = AsIfFetched(named(software), 4)
    assert takes_empty_batch(call)  # type: ignore[arg-type]
    assert moves_over_empty_batch(call)  # type: ignore[arg-type]


@pytest.mark.parametrize(("version", "takes"), [(4, False), (5, False), (10, False), (11, True), (12, True)])
def test_nameless_clients_take_them_from_version_11_on_and_may_stay_where_they_were(
    version: int, takes: bool
) -> None:
    call = AsIfFetched(Gateway().client(), version)
    assert takes_empty_batch(call) is takes  # type: ignore[arg-type]
    assert not moves_over_empty_batch(call)  # type: ignore[arg-type]
