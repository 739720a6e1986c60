"""CreateTopics: good and bad items side by side; topics are durable when the answer arrives."""

from __future__ import annotations

import errno
from collections.abc import Callable
from typing import Any

import pytest

from broker.handlers.create_topics import TOPICS_PER_SLICE, TOPICS_PER_STEP
from broker.loop.slices import run_here
from protocol.error_codes import ErrorCode
from protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from protocol.messages.metadata import MetadataRequest
from protocol.wire import ZERO_UUID
from tests.broker.gateway import Client, Gateway
from tests.broker.kit import batch, create, creation, read, send
from tests.broker.views import places_of_statements
from wal.memory_faults import Fault, failing


def ask(client: Client, *topics: CreatableTopic, version: int = 7, validate_only: bool = False) -> Any:
    request = CreateTopicsRequest(topics=list(topics), validate_only=validate_only)
    return client.call(request, version).topics


def names(client: Client) -> list[str]:
    return sorted(topic.name for topic in client.call(MetadataRequest(topics=None), 12).topics)


@pytest.mark.parametrize("version", range(2, 8))
def test_every_version_creates_and_describes_what_it_can(client: Client, version: int) -> None:
    (made,) = ask(client, creation("t", 3, retention_ms="5000"), version=version)
    assert (made.error_code, made.error_message) == (0, None)
    if version >= 5:
        assert (made.num_partitions, made.replication_factor) == (3, 1)
        configs = {config.name: config.value for config in made.configs}
        assert configs["retention.ms"] == "5000"
        assert configs["cleanup.policy"] == "delete"
    assert (made.topic_id != ZERO_UUID) == (version >= 7)


def test_mixed_items_are_judged_one_by_one(client: Client) -> None:
    create(client, "old")
    create(client, "a.b")
    results = ask(
        client,
        creation("good"),
        creation("old"),
        creation("bad/name"),
        creation("a_b"),
        creation("none", 0),
        creation("key", retention_m="1"),
        creation("value", retention_ms="soon"),
        creation("fine", 2, cleanup_policy=""),
    )
    assert [(result.name, result.error_code) for result in results] == [
        ("good", 0),
        ("old", ErrorCode.TOPIC_ALREADY_EXISTS),
        ("bad/name", ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("a_b", ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("none", ErrorCode.INVALID_PARTITIONS),
        ("key", ErrorCode.INVALID_CONFIG),
        ("value", ErrorCode.INVALID_CONFIG),
        ("fine", 0),
    ]
    assert names(client) == ["a.b", "fine", "good", "old"]


def test_a_name_given_twice_refuses_both_and_the_answer_has_one(client: Client) -> None:
    results = ask(client, creation("twice"), creation("once"), creation("twice", 2))
    assert sorted((result.name, result.error_code) for result in results) == [
        ("once", 0),
        ("twice", ErrorCode.INVALID_REQUEST),
    ]
    assert names(client) == ["once"]


def test_names_of_one_request_that_collide_are_not_both_made(client: Client) -> None:
    codes = [result.error_code for result in ask(client, creation("a.b"), creation("a_b"))]
    assert codes == [0, ErrorCode.INVALID_TOPIC_EXCEPTION]


def test_validation_tells_all_and_makes_nothing(client: Client) -> None:
    good, bad = ask(client, creation("t", 3), creation("x", 0), validate_only=True)
    assert (good.error_code, good.num_partitions) == (0, 3)
    assert bad.error_code == ErrorCode.INVALID_PARTITIONS
    assert names(client) == []


def test_minus_one_takes_the_servers_defaults() -> None:
    client = Gateway(num_partitions=6).client()
    topic = CreatableTopic(name="t", num_partitions=-1, replication_factor=-1, assignments=[], configs=[])
    (made,) = ask(client, topic)
    assert (made.num_partitions, made.replication_factor) == (6, 1)


def test_a_config_given_twice_takes_the_last_value(client: Client) -> None:
    configs = [CreatableTopicConfig(name="retention.ms", value=value) for value in ("1", "2")]
    topic = CreatableTopic(name="t", num_partitions=1, replication_factor=1, assignments=[], configs=configs)
    (made,) = ask(client, topic)
    assert {config.name: config.value for config in made.configs}["retention.ms"] == "2"


def test_more_replicas_than_nodes_are_refused_with_the_name_of_the_switch(client: Client) -> None:
    topic = CreatableTopic(name="t", num_partitions=1, replication_factor=3, assignments=[], configs=[])
    (refused,) = ask(client, topic)
    assert refused.error_code == ErrorCode.INVALID_REPLICATION_FACTOR
    assert "kawal.accept.replication.factor" in refused.error_message


def test_more_replicas_than_nodes_are_accepted_when_the_switch_is_on() -> None:
    client = Gateway(kawal_accept_replication_factor=True).client()
    topic = CreatableTopic(name="t", num_partitions=1, replication_factor=3, assignments=[], configs=[])
    (made,) = ask(client, topic)
    assert (made.error_code, made.replication_factor) == (0, 3)
    (shown,) = client.call(MetadataRequest(topics=None), 12).topics
    assert shown.partitions[0].replica_nodes == [1]


def test_partitions_placed_by_hand_count_as_given(client: Client) -> None:
    def placed(name: str, *placing: tuple[int, list[int]]) -> CreatableTopic:
        assignments = [
            CreatableReplicaAssignment(partition_index=index, broker_ids=ids) for index, ids in placing
        ]
        return CreatableTopic(
            name=name, num_partitions=-1, replication_factor=-1, assignments=assignments, configs=[]
        )

    results = ask(
        client,
        placed("good", (1, [1]), (0, [1])),
        placed("gap", (1, [1])),
        placed("elsewhere", (0, [9])),
        placed("twice", (0, [1]), (0, [1])),
    )
    assert [result.error_code for result in results] == [
        0,
        ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        ErrorCode.INVALID_REPLICA_ASSIGNMENT,
    ]
    assert results[0].num_partitions == 2


def test_the_answer_waits_for_the_disk_and_nobody_sees_the_topic_before(gateway: Gateway) -> None:
    maker, other = gateway.client(), gateway.client()
    maker.send(CreateTopicsRequest(topics=[creation("t")]), 7)
    other.send(MetadataRequest(topics=None), 12)
    assert maker.answers() == []
    assert other.answers()[0].topics == []
    gateway.settle()
    assert maker.answers()[0].topics[0].error_code == 0
    assert names(other) == ["t"]


def test_a_second_creation_of_a_topic_in_the_making_is_refused(gateway: Gateway) -> None:
    first, second = gateway.client(), gateway.client()
    first.send(CreateTopicsRequest(topics=[creation("t")]), 7)
    second.send(CreateTopicsRequest(topics=[creation("t")]), 7)
    (refused,) = second.answers()
    assert refused.topics[0].error_code == ErrorCode.TOPIC_ALREADY_EXISTS
    gateway.settle()
    assert first.answers()[0].topics[0].error_code == 0


def test_a_creation_that_the_disk_loses_is_refused_and_undone(gateway: Gateway, client: Client) -> None:
    create(client, "before")
    client.send(CreateTopicsRequest(topics=[creation("lost"), creation("lost too", 2)]), 7)
    client.send(CreateTopicsRequest(topics=[creation("lost-three", 3)]), 7)
    gateway.disk.faults.append(failing("sync", errno.EIO, path="meta"))
    gateway.run_jobs()
    first, second = client.answers()
    assert [result.error_code for result in first.topics] == [
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.INVALID_TOPIC_EXCEPTION,
    ]
    assert second.topics[0].error_code == ErrorCode.KAFKA_STORAGE_ERROR
    gateway.settle()
    assert names(client) == ["before"]
    create(client, "lost")
    gateway.crash()
    assert names(gateway.client()) == ["before", "lost"]


def test_topics_survive_a_crash_with_their_records(gateway: Gateway, client: Client) -> None:
    topic_id = create(client, "t", 2, retention_ms="77")
    send(client, "t", batch(b"a"), 1)
    gateway.crash()
    client = gateway.client()
    (shown,) = client.call(MetadataRequest(topics=None), 12).topics
    assert (shown.topic_id, len(shown.partitions)) == (topic_id, 2)
    assert gateway.broker.find_topic("t").configs == {"retention.ms": "77"}
    assert read(client, "t", partition=1) == [b"a"]


def test_of_topics_made_in_several_slices_those_are_told_that_were_lost() -> None:
    gateway = Gateway()
    client = gateway.client()
    request = CreateTopicsRequest(topics=[creation(f"t{number}") for number in range(TOPICS_PER_SLICE + 1)])
    client.send(request, 7)
    gateway.disk.faults.append(lambda call: Fault(errno.EIO) if call.kind == "sync" else None)
    while "t0" not in gateway.broker.catalogue.by_name:
        gateway.broker.scheduler.run()
    gateway.run_jobs()  # the first topics are lost before the next slice is made
    gateway.disk.faults.clear()
    while gateway.broker.scheduler.pending:
        gateway.broker.scheduler.run()
    gateway.advance(10_000)
    (answer,) = client.answers()
    lost = [topic.name for topic in answer.topics if topic.error_code]
    assert set(lost) == {topic.name for topic in answer.topics} - set(gateway.broker.catalogue.by_name)
    assert len(lost) >= TOPICS_PER_STEP


def test_a_topic_with_very_many_configurations_is_looked_at_by_a_thread() -> None:
    gateway = Gateway()
    client = gateway.client()
    waiting: list[tuple[Callable[[], object], Callable[[Exception | None], None]]] = []
    gateway.broker.scheduler.offload = lambda work, done: waiting.append((work, done))
    configs = [CreatableTopicConfig(name=f"no.such.{number}", value="1") for number in range(1_000)]
    topic = CreatableTopic(name="t", num_partitions=1, replication_factor=1, assignments=[], configs=configs)
    client.send(CreateTopicsRequest(topics=[topic], timeout_ms=1_000), 7)
    gateway.settle()
    asked = []
    while waiting:
        work, done = waiting.pop(0)
        work()
        done(None)
        asked.append(work)
        gateway.settle()
    (answer,) = client.answers()
    assert answer.topics[0].error_code == ErrorCode.INVALID_CONFIG
    assert len(asked) > 1, "a thread decodes the request, and one makes a table of what it asks for"


def test_a_thread_reads_and_plans_the_long_statement_of_a_view(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(client, "t")
    places = places_of_statements(client.gateway, monkeypatch)
    conditions = " OR ".join(f"_offset = {number}" for number in range(60))
    create(client, "v", -1, kawal_sql=f"SELECT * FROM t WHERE {conditions}")
    assert places == ["thread", "thread"]
    # A short one takes less than the way to a thread.
    create(client, "w", -1, kawal_sql="SELECT * FROM t")
    assert places == ["thread", "thread", "loop", "loop"]


def test_columns_that_change_while_a_thread_plans_a_view_are_those_of_the_view(client: Client) -> None:
    create(client, "t", kawal_columns="a int")
    gateway = client.gateway
    work_done = []

    def offload(work: Callable[[], object], done: Callable[[Exception | None], None]) -> None:
        run_here(work, lambda _error: None)
        work_done.append(work)
        if len(work_done) == 2:
            gateway.broker.find_topic("t").configs["kawal.columns"] = "a string"
        done(None)

    gateway.broker.scheduler.offload = offload
    create(client, "v", -1, kawal_sql="SELECT a FROM t WHERE " + " OR ".join(["a IS NULL"] * 60))
    view = gateway.broker.find_topic("v").view
    assert view is not None
    assert '"type":"string"' in view.schema


def test_a_long_statement_that_cannot_be_read_is_refused_as_a_short_one(client: Client) -> None:
    create(client, "t")
    refused = [
        client.call(CreateTopicsRequest(topics=[creation("v", -1, kawal_sql=text)], timeout_ms=1_000), 7)
        for text in ("SELECT FROM t", "SELECT FROM t" + " " * 600)
    ]
    assert [answer.topics[0].error_code for answer in refused] == [ErrorCode.INVALID_CONFIG] * 2
    assert refused[0].topics[0].error_message == refused[1].topics[0].error_message
