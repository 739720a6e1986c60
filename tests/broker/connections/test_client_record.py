"""A client is counted under one software at a time, until it has left."""

from __future__ import annotations

from broker.connections.client_record import ClientRecord
from broker.loop.software import UNKNOWN, SoftwareCounts
from protocol.messages.api_versions import ApiVersionsRequest
from tests.broker.gateway import Gateway


def test_a_client_that_names_its_software_twice_is_counted_under_the_last() -> None:
    software = SoftwareCounts()
    record = ClientRecord(software, 7)
    assert software.counts == {UNKNOWN: 1}
    record.identify("a", "1")
    record.identify("b", "2")
    assert software.counts == {("b", "2"): 1}
    record.lost()
    assert software.counts == {}


def test_a_connection_counts_its_requests_and_bytes(gateway: Gateway) -> None:
    client = gateway.client()
    for _ in range(3):
        client.call(ApiVersionsRequest(client_software_name="kgo", client_software_version="1.2"), 3)
    record = client.connection.client
    assert (record.client_id, record.request_count) == ("test", 3)
    assert record.received_bytes == gateway.broker.stats.received_bytes
    assert gateway.broker.stats.software.counts == {("kgo", "1.2"): 1}
    client.close()
    assert gateway.broker.stats.software.counts == {}
