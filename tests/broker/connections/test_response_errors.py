"""Error codes are found in every answer, at any depth."""

from typing import Any

import pytest

from broker.connections.response_errors import error_codes
from broker.handlers import APIS
from protocol.api_keys import ApiKey
from protocol.messages import response_type
from protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopicResult,
)
from protocol.messages.delete_topics import DeletableTopicResult, DeleteTopicsResponse
from protocol.messages.describe_log_dirs import DescribeLogDirsResponse
from protocol.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from protocol.messages.produce import PartitionProduceResponse, ProduceResponse, TopicProduceResponse
from protocol.schema import ArrayOf, declaration


def test_errors_of_partitions_are_told_each_time() -> None:
    parts = [
        PartitionProduceResponse(index=i, error_code=code, base_offset=0) for i, code in enumerate([0, 3, 3])
    ]
    other = [PartitionProduceResponse(index=0, error_code=87, base_offset=0)]
    answer = ProduceResponse(
        responses=[
            TopicProduceResponse(name="a", partition_responses=parts),
            TopicProduceResponse(name="b", partition_responses=other),
        ]
    )
    assert error_codes(answer) == [3, 3, 87]


def test_an_error_of_the_whole_and_of_a_part_are_both_told() -> None:
    part = PartitionData(partition_index=0, error_code=1, high_watermark=-1, records=b"")
    answer = FetchResponse(error_code=70, responses=[FetchableTopicResponse(topic="t", partitions=[part])])
    assert error_codes(answer) == [70, 1]


def test_errors_are_found_in_lists_of_one_level() -> None:
    answer = DeleteTopicsResponse(
        responses=[DeletableTopicResult(name="a", error_code=3), DeletableTopicResult(name="b")]
    )
    assert error_codes(answer) == [3]


def test_errors_of_partitions_added_to_a_transaction_are_told() -> None:
    results = [
        AddPartitionsToTxnPartitionResult(partition_index=index, partition_error_code=code)
        for index, code in enumerate((0, 51))
    ]
    topic = AddPartitionsToTxnTopicResult(name="t", results_by_partition=results)
    assert error_codes(AddPartitionsToTxnResponse(results_by_topic_v3_and_below=[topic])) == [51]


def test_partitions_of_metadata_are_not_looked_through() -> None:
    partition = MetadataResponsePartition(
        partition_index=0, error_code=5, leader_id=1, replica_nodes=[1], isr_nodes=[1]
    )
    topic = MetadataResponseTopic(name="t", error_code=29, partitions=[partition])
    answer = MetadataResponse(brokers=[], topics=[topic])
    assert error_codes(answer) == [29]


def test_success_is_not_told_and_lists_may_be_missing() -> None:
    assert error_codes(DescribeLogDirsResponse(results=[])) is None


@pytest.mark.parametrize("key", sorted(APIS))
def test_an_error_at_the_top_is_told_for_every_api(key: int) -> None:
    cls = response_type(ApiKey(key))
    fields = declaration(cls).fields
    values: dict[str, Any] = {field.name: [] if isinstance(field.kind, ArrayOf) else 0 for field in fields}
    answer = cls(**values)
    has_error = any(field.name == "error_code" for field in fields)
    if has_error:
        answer.error_code = 42
    assert error_codes(answer) == ([42] if has_error else None)
