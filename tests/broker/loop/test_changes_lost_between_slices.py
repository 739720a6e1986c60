"""The disk fails between two slices of a request: what was lost is answered as lost.

The log takes back what the first slices appended, recovers, and gives out the same versions again; answered
by the versions alone, the request would look like a success.
"""

from __future__ import annotations

import errno
from typing import Any

import pytest

from broker.loop.stats import Cause
from protocol.error_codes import ErrorCode
from protocol.messages.alter_configs import AlterableConfig as ReplacedConfig
from protocol.messages.alter_configs import AlterConfigsRequest
from protocol.messages.alter_configs import AlterConfigsResource as ReplacedResource
from protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.broker.gateway import Client, Gateway
from tests.broker.kit import batch, create, outcomes, producing, read, send
from wal.memory_faults import Fault

COUNT = 300
NAMES = [f"t{number}" for number in range(60)]
TOPIC = 2
LOST = ErrorCode.KAFKA_STORAGE_ERROR


def send_and_fail(client: Client, request: Any, version: int) -> None:
    """Begin a request in slices; the first ones are lost, and the logs recover before the rest is made."""
    client.send(request, version)
    fail_and_recover(client.gateway)


def fail_and_recover(gateway: Gateway) -> None:
    assert gateway.broker.scheduler.pending
    gateway.disk.faults.append(lambda call: Fault(errno.EIO) if call.kind == "sync" else None)
    while not gateway.run_jobs():
        gateway.broker.scheduler.run()
    gateway.disk.faults.clear()
    every = [gateway.broker.vnodes.meta, *gateway.broker.vnodes.every]
    assert any(vnode.log.state == "FAILED" for vnode in every)
    while any(vnode.log.state == "FAILED" for vnode in every):
        deadline = gateway.broker.next_deadline()
        assert deadline is not None
        gateway.now_ms = max(gateway.now_ms, deadline)
        gateway.tick()
        gateway.run_jobs()


def answered_after_a_failure(client: Client, request: Any, version: int) -> Any:
    send_and_fail(client, request, version)
    client.gateway.settle()
    (answer,) = client.answers()
    return answer


@pytest.fixture
def wide(gateway: Gateway, client: Client) -> Client:
    create(client, "wide", partitions=COUNT)
    return client


@pytest.fixture
def many(gateway: Gateway, client: Client) -> Client:
    for name in NAMES:
        create(client, name)
    return client


def all_batches(acks: int = -1) -> Any:
    return producing(*(("wide", index, batch(b"v%d" % index)) for index in range(COUNT)), acks=acks)


def test_records_that_were_lost_are_not_acknowledged(wide: Client) -> None:
    send_and_fail(wide, all_batches(), 9)
    # Another client's records take the versions of those that were lost.
    other = wide.gateway.client()
    other.send(producing(*(("wide", index, batch(b"other")) for index in range(50))), 9)
    wide.gateway.settle()
    (answer,) = wide.answers()
    codes = [outcome.error_code for outcome in outcomes(answer)]
    assert set(codes) == {0, LOST}
    assert [outcome.error_code for outcome in outcomes(*other.answers())] == [0] * 50
    for index in range(COUNT):
        kept = read(wide, "wide", partition=index)
        assert (b"v%d" % index in kept) == (codes[index] == 0)
    offsets = [outcome.base_offset for outcome in outcomes(answer)]
    assert [offset == -1 for offset in offsets] == [code == LOST for code in codes]


def test_a_lost_produce_without_acks_closes_its_connection(wide: Client) -> None:
    wide.send_unanswered(all_batches(acks=0), 9)
    fail_and_recover(wide.gateway)
    wide.gateway.settle()
    assert wide.connection.close_cause == Cause.ACKS_NONE
    assert wide.answers() == []


def test_a_produce_without_acks_to_many_partitions_is_not_answered_and_the_connection_goes_on(
    wide: Client,
) -> None:
    wide.send_unanswered(all_batches(acks=0), 9)
    wide.gateway.settle()
    assert wide.answers() == []
    assert wide.connection.close_reason is None
    assert [read(wide, "wide", partition=index) for index in (0, COUNT - 1)] == [[b"v0"], [b"v299"]]


def test_of_a_client_that_leaves_amid_its_produce_whole_batches_are_kept(wide: Client) -> None:
    gateway = wide.gateway
    wide.send(all_batches(), 9)
    wide.close()
    gateway.settle()
    assert not gateway.broker.scheduler.pending
    other = gateway.client()
    kept = [read(other, "wide", partition=index) for index in range(COUNT)]
    assert kept[0] == [b"v0"]
    assert kept == [[b"v%d" % index] if found else [] for index, found in enumerate(kept)]
    assert send(other, "wide", batch(b"more"), 0).base_offset == 1


def test_the_rest_of_a_produce_to_a_topic_deleted_meanwhile_is_refused(wide: Client) -> None:
    gateway = wide.gateway
    wide.send(all_batches(), 9)
    gone = gateway.broker.find_topic("wide")
    gateway.client().send(DeleteTopicsRequest(topics=[DeleteTopicState(name="wide")], timeout_ms=1), 6)
    gateway.run_jobs()
    opened = set(gone.partitions)
    gateway.settle()
    (answer,) = wide.answers()
    codes = [outcome.error_code for outcome in outcomes(answer)]
    assert codes[-1] == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert set(gone.partitions) <= opened


def test_log_starts_whose_move_was_lost_are_answered_so(wide: Client) -> None:
    for index in range(COUNT):
        send(wide, "wide", batch(b"a"), index)
    asked = [DeleteRecordsPartition(partition_index=index, offset=-1) for index in range(COUNT)]
    request = DeleteRecordsRequest(topics=[DeleteRecordsTopic(name="wide", partitions=asked)], timeout_ms=1)
    (topic,) = answered_after_a_failure(wide, request, 2).topics
    assert {part.error_code for part in topic.partitions} == {0, LOST}
    for part in topic.partitions:
        log_start = wide.gateway.partition("wide", part.partition_index).log_start
        assert log_start == (0 if part.error_code else 1)


def test_topics_whose_growth_was_lost_are_answered_so(many: Client) -> None:
    topics = [CreatePartitionsTopic(name=name, count=3, assignments=None) for name in NAMES]
    request = CreatePartitionsRequest(topics=topics, timeout_ms=1, validate_only=False)
    answer = answered_after_a_failure(many, request, 3)
    assert {result.error_code for result in answer.results} == {0, LOST}
    for result in answer.results:
        count = many.gateway.broker.find_topic(result.name).partition_count
        assert count == (1 if result.error_code else 3)


def test_topics_whose_deletion_was_lost_are_answered_so(many: Client) -> None:
    asked = [DeleteTopicState(name=name) for name in NAMES]
    answer = answered_after_a_failure(many, DeleteTopicsRequest(topics=asked, timeout_ms=1), 6)
    kept = {result.name for result in answer.responses if result.error_code}
    assert {result.error_code for result in answer.responses} == {0, LOST}
    assert kept == set(many.gateway.broker.catalogue.by_name)


def retention(client: Client, name: str) -> str | None:
    return client.gateway.broker.catalogue.by_name[name].configs.get("retention.ms")


def test_settings_whose_replacement_was_lost_are_answered_so(many: Client) -> None:
    resources = [
        ReplacedResource(
            resource_type=TOPIC, resource_name=name, configs=[ReplacedConfig(name="retention.ms", value="7")]
        )
        for name in NAMES
    ]
    answer = answered_after_a_failure(many, AlterConfigsRequest(resources=resources, validate_only=False), 2)
    assert {item.error_code for item in answer.responses} == {0, LOST}
    for item in answer.responses:
        assert retention(many, item.resource_name) == (None if item.error_code else "7")


def test_settings_whose_alteration_was_lost_are_answered_so(many: Client) -> None:
    resources = [
        AlterConfigsResource(
            resource_type=TOPIC,
            resource_name=name,
            configs=[AlterableConfig(name="retention.ms", config_operation=0, value="7")],
        )
        for name in NAMES
    ]
    request = IncrementalAlterConfigsRequest(resources=resources, validate_only=False)
    answer = answered_after_a_failure(many, request, 1)
    assert {item.error_code for item in answer.responses} == {0, LOST}
    for item in answer.responses:
        assert retention(many, item.resource_name) == (None if item.error_code else "7")
