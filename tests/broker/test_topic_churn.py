"""Topics made and deleted over and over leave nothing behind in memory."""

from __future__ import annotations

import gc

from broker.catalogue.topic import Topic
from broker.storage.partition import Partition
from broker.upkeep.retention_queue import RetentionQueue
from protocol.messages.create_topics import CreateTopicsRequest
from protocol.messages.delete_topics import DeleteTopicsRequest
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.broker.gateway import Client, Gateway
from tests.broker.kit import batch, creation, fetching, send

TOPICS = 20
RETIREMENT_MS = 10_000
"""Longer than the streams of a deleted topic take to be dropped, much shorter than a check of retention."""


def make_and_delete(client: Client, number: int, *, uses: bool) -> None:
    """Make topics, use them perhaps, and delete them."""
    names = [f"churn-{number}-{index}" for index in range(TOPICS)]
    made = client.call(CreateTopicsRequest(topics=[creation(name, 2) for name in names]), 7)
    assert {topic.error_code for topic in made.topics} == {0}
    if uses:
        for name in names:
            assert send(client, name, batch(b"value")).error_code == 0
            client.call(fetching({(name, 0): 0}), 11)
            alter(client, name)
    gone = client.call(DeleteTopicsRequest(topic_names=names, timeout_ms=1_000), 5)
    assert {topic.error_code for topic in gone.responses} == {0}
    client.gateway.advance(RETIREMENT_MS)


def alter(client: Client, name: str) -> None:
    change = AlterableConfig(name="retention.ms", config_operation=0, value="1000000")
    resource = AlterConfigsResource(resource_type=2, resource_name=name, configs=[change])
    (answer,) = client.call(
        IncrementalAlterConfigsRequest(resources=[resource], validate_only=False), 1
    ).responses
    assert answer.error_code == 0


def living(kind: type) -> int:
    gc.collect()
    return sum(type(each) is kind for each in gc.get_objects())


def test_topics_made_and_deleted_over_and_over_are_all_let_go() -> None:
    client = Gateway().client()
    topics = living(Topic)
    for number in range(3):
        make_and_delete(client, number, uses=False)
    assert living(Topic) == topics


def test_topics_that_were_used_are_let_go_with_their_partitions() -> None:
    client = Gateway().client()
    make_and_delete(client, 0, uses=True)
    before = living(Topic), living(Partition)
    # The last one that was looked at may be kept.
    assert sum(before) < TOPICS // 4
    for number in range(1, 4):
        make_and_delete(client, number, uses=True)
    assert (living(Topic), living(Partition)) == before


def test_a_check_of_retention_still_forgets_the_streams_of_deleted_topics() -> None:
    gateway = Gateway(log_retention_check_interval_ms=60_000)
    client = gateway.client()
    queue: RetentionQueue = gateway.broker.retention._queue
    for number in range(2):
        make_and_delete(client, number, uses=True)
    gateway.advance(120_000)
    assert not queue.walks
    assert queue._timed == 0
