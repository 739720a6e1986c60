"""The answers of a known head are those that an encoder makes of the response."""

from __future__ import annotations

import pytest

from broker.requests.known_head import LOST, KnownHead, Stored
from protocol.error_codes import ErrorCode
from protocol.messages.produce import PartitionProduceResponse, ProduceResponse
from tests.broker.gateway import Client, Gateway, decode_answer
from tests.broker.kit import create

VERSIONS = range(3, 14)


def known_head(gateway: Gateway, client: Client, version: int) -> KnownHead:
    create(client, "t", partitions=2)
    partition = gateway.partition("t", 1)
    settings = gateway.broker.topics.settings(partition.topic)
    return KnownHead(version, b"head", partition, settings, 100)


def answers(data: bytes, version: int, ids: list[int]) -> list[PartitionProduceResponse]:
    found = []
    for correlation_id in ids:
        size = int.from_bytes(data[:4])
        answer = decode_answer(ProduceResponse, version, correlation_id, data[4 : 4 + size])
        found.append(answer.responses[0].partition_responses[0])
        data = data[4 + size :]
    assert not data
    return found


@pytest.mark.parametrize("version", VERSIONS)
def test_batches_that_were_stored_have_an_answer_each(gateway: Gateway, client: Client, version: int) -> None:
    known = known_head(gateway, client, version)
    whole = known.answers([Stored(5, 70, -1, 9), Stored(2**31 - 1, 2**62, 1_700, 10)], 60)
    first, second = answers(whole, version, [5, 2**31 - 1])
    assert (first.index, first.error_code, first.base_offset, first.log_append_time_ms) == (1, 0, 70, -1)
    assert (second.base_offset, second.log_append_time_ms) == (2**62, 1_700)
    assert first.log_start_offset == (60 if version >= 5 else -1)


@pytest.mark.parametrize("version", VERSIONS)
def test_batches_that_were_lost_have_an_answer_each(gateway: Gateway, client: Client, version: int) -> None:
    known = known_head(gateway, client, version)
    error = ErrorCode.KAFKA_STORAGE_ERROR
    whole = known.refusals(error, [Stored(5, 70, -1, 9), Stored(6, 71, -1, 10)], 60)
    for answer in answers(whole, version, [5, 6]):
        assert (answer.index, answer.error_code, answer.base_offset) == (1, error, -1)
        assert answer.error_message == (LOST if version >= 8 else None)
