"""Requests about several topics, of which some are denied: the others are served."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from broker.catalogue.topic import LEDGERS_TOPIC, STORAGE_TOPIC
from broker.config.config_changes import Operation as Change
from broker.requests.access_topics import GROUP_CONFIG, TOPIC_CONFIG
from broker.security.authorized_operations import Operation
from broker.upkeep.server_topic import ServerTopic
from protocol.error_codes import ErrorCode
from protocol.messages import incremental_alter_configs as incremental
from protocol.messages.create_topics import CreateTopicsRequest
from protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from protocol.messages.fetch import ReplicaState
from protocol.messages.kawal_topics import KawalTopicsRequest, TopicAction, TopicItem
from protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.broker.guarded import ALICE, CLUSTER, GROUP, TOPIC, Guarded
from tests.broker.kit import batch, create, creation, fetch, fetching, outcomes, producing, send
from tests.broker.splits import split_topic

DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED


def guarded_topics() -> Guarded:
    guarded = Guarded()
    for name in ("a", "b"):
        create(guarded.admin, name)
    return guarded


def codes(results: Any) -> dict[str | None, int]:
    return {result.name: result.error_code for result in results}


def test_what_is_allowed_is_served_beside_what_is_not() -> None:
    guarded = guarded_topics()
    guarded.allow(Operation.WRITE, TOPIC, "a")
    request = producing(("a", 0, batch(b"x")), ("b", 0, batch(b"x")))
    answer = guarded.of(ALICE).call(request, 9)
    assert [part.error_code for part in outcomes(answer)] == [0, DENIED]


def test_a_denied_topic_looks_the_same_whether_it_exists_or_not() -> None:
    guarded = guarded_topics()
    partition = ListOffsetsPartition(partition_index=0, timestamp=-1)
    topics = [ListOffsetsTopic(name=name, partitions=[partition]) for name in ("b", "missing")]
    answer = guarded.of(ALICE).call(ListOffsetsRequest(replica_id=-1, topics=topics), 9)
    assert [topic.partitions[0].error_code for topic in answer.topics] == [DENIED, DENIED]


def test_ten_thousand_topics_are_checked_in_slices() -> None:
    guarded = guarded_topics()
    partition = ListOffsetsPartition(partition_index=0, timestamp=-1)
    topics = [ListOffsetsTopic(name=f"t{number}", partitions=[partition]) for number in range(10_000)]
    guarded.allow(Operation.DESCRIBE, TOPIC, "t0")
    answer = guarded.of(ALICE).call(ListOffsetsRequest(replica_id=-1, topics=topics), 9)
    found = {topic.name: topic.partitions[0].error_code for topic in answer.topics}
    assert found.pop("t0") == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert set(found.values()) == {DENIED}
    assert len(found) == 9_999


def test_topics_are_created_one_by_one_and_their_configurations_hidden() -> None:
    guarded = guarded_topics()
    guarded.allow(Operation.CREATE, TOPIC, "new")
    request = CreateTopicsRequest(topics=[creation("new"), creation("other")])
    made, refused = guarded.of(ALICE).call(request, 7).topics
    assert (made.name, made.error_code, made.topic_config_error_code) == ("new", 0, DENIED)
    assert (made.num_partitions, made.replication_factor, made.configs) == (-1, -1, [])
    assert (refused.name, refused.error_code) == ("other", DENIED)


def test_a_name_that_is_given_twice_is_an_error_of_its_own() -> None:
    guarded = guarded_topics()
    request = CreateTopicsRequest(topics=[creation("new"), creation("new")])
    assert codes(guarded.of(ALICE).call(request, 7).topics) == {"new": ErrorCode.INVALID_REQUEST}


def test_deletion_by_id_does_not_tell_the_name_to_those_who_may_not_see_it() -> None:
    guarded = guarded_topics()
    identity = guarded.broker.find_topic("a").topic_id
    request = DeleteTopicsRequest(topics=[DeleteTopicState(topic_id=identity)], timeout_ms=9)
    (result,) = guarded.of(ALICE).call(request, 6).responses
    assert (result.name, result.topic_id, result.error_code) == (None, identity, DENIED)
    guarded.allow(Operation.DESCRIBE, TOPIC, "a")
    (result,) = guarded.of(ALICE).call(request, 6).responses
    assert (result.name, result.error_code) == ("a", DENIED)
    guarded.allow(Operation.DELETE, TOPIC, "a")
    (result,) = guarded.of(ALICE).call(request, 6).responses
    assert (result.name, result.error_code) == ("a", 0)


def described(guarded: Guarded, *names: str, every: bool = False, **fields: bool) -> Any:
    topics = None if every else [MetadataRequestTopic(name=name) for name in names]
    return guarded.of(ALICE).call(MetadataRequest(topics=topics, **fields), 10)


def test_metadata_of_all_topics_has_those_that_may_be_seen() -> None:
    guarded = guarded_topics()
    guarded.allow(Operation.WRITE, TOPIC, "b")
    assert codes(described(guarded, every=True).topics) == {"b": 0}


def test_a_topic_is_created_for_those_who_may() -> None:
    guarded = guarded_topics()
    guarded.allow(Operation.DESCRIBE, TOPIC, "new")
    assert codes(described(guarded, "new").topics) == {"new": DENIED}
    guarded.allow(Operation.CREATE, CLUSTER)
    assert codes(described(guarded, "new").topics) == {"new": 0}


def test_the_operations_are_those_that_are_allowed() -> None:
    guarded = guarded_topics()
    guarded.allow(Operation.WRITE, TOPIC, "b")
    answer = described(
        guarded,
        "b",
        include_topic_authorized_operations=True,
        include_cluster_authorized_operations=True,
    )
    assert answer.topics[0].topic_authorized_operations == 1 << Operation.WRITE | 1 << Operation.DESCRIBE
    assert answer.cluster_authorized_operations == 0


def changed(guarded: Guarded, kind: int, name: str, key: str, value: str, operation: int = 0) -> int:
    line = incremental.AlterableConfig(name=key, config_operation=operation, value=value)
    resource = incremental.AlterConfigsResource(resource_type=kind, resource_name=name, configs=[line])
    request = incremental.IncrementalAlterConfigsRequest(resources=[resource], validate_only=False)
    code: int = guarded.of(ALICE).call(request, 1).responses[0].error_code
    return code


@pytest.mark.parametrize("key", ["kawal.retention.important.topics", "kawal.share.answers.topic"])
def test_a_group_names_only_topics_that_who_configures_it_may_read(key: str) -> None:
    guarded = guarded_topics()
    guarded.allow(Operation.ALTER_CONFIGS, GROUP, "g")
    assert changed(guarded, GROUP_CONFIG, "g", key, "a") == DENIED
    assert changed(guarded, GROUP_CONFIG, "g", key, "missing") == DENIED
    guarded.allow(Operation.READ, TOPIC, "a")
    assert changed(guarded, GROUP_CONFIG, "g", key, "a") == 0
    assert changed(guarded, GROUP_CONFIG, "g", key, "") == 0


def test_topics_are_added_to_a_groups_list_by_who_may_read_them_and_taken_off_by_anyone() -> None:
    guarded = guarded_topics()
    guarded.allow(Operation.ALTER_CONFIGS, GROUP, "g")
    acl = guarded.allow(Operation.READ, TOPIC, "a")
    key = "kawal.retention.important.topics"
    assert changed(guarded, GROUP_CONFIG, "g", key, "a , b") == DENIED
    assert changed(guarded, GROUP_CONFIG, "g", key, "a", Change.APPEND) == 0
    assert changed(guarded, GROUP_CONFIG, "g", key, "b", Change.APPEND) == DENIED
    guarded.take(acl)
    assert changed(guarded, GROUP_CONFIG, "g", key, "a", Change.SUBTRACT) == 0


@pytest.mark.parametrize("value", ["a-bad", " a-bad", "a-bad\t"])
def test_blanks_around_a_quarantine_topic_do_not_get_past_a_denial(value: str) -> None:
    guarded = Guarded()
    create(guarded.admin, "t", kawal_columns="x int")
    guarded.allow(Operation.ALTER_CONFIGS, TOPIC, "t")
    guarded.allow(Operation.READ, TOPIC, "t")
    guarded.allow(Operation.CREATE, TOPIC, "*")
    guarded.deny(Operation.CREATE, TOPIC, "a-bad")
    assert changed(guarded, TOPIC_CONFIG, "t", "kawal.quarantine", value) == DENIED
    assert guarded.broker.catalogue.find("a-bad") is None


def test_a_fetch_in_the_name_of_a_replica_needs_a_right_on_the_cluster_too() -> None:
    guarded = guarded_topics()
    send(guarded.admin, "a", batch(b"x"))
    guarded.allow(Operation.READ, TOPIC, "a")
    identity = guarded.broker.find_topic("a").topic_id
    by_name = replace(fetching({("a", 0): 0}), replica_id=1)
    by_id = replace(fetching({(identity, 0): 0}), replica_state=ReplicaState(replica_id=0))

    def fetched() -> list[tuple[int, bool]]:
        answers = [guarded.of(ALICE).call(by_name, 12), guarded.of(ALICE).call(by_id, 16)]
        parts = [answer.responses[0].partitions[0] for answer in answers]
        return [(part.error_code, bool(part.records)) for part in parts]

    assert fetched() == [(DENIED, False)] * 2
    guarded.allow(Operation.CLUSTER_ACTION, CLUSTER)
    assert fetched() == [(0, True)] * 2


def test_a_produce_without_answer_closes_the_connection_when_it_is_denied() -> None:
    guarded = guarded_topics()
    client = guarded.of(ALICE)
    client.send_unanswered(producing(("a", 0, batch(b"x")), acks=0), 9)
    guarded.settle()
    assert client.connection.close_reason is not None
    assert send(guarded.admin, "a", batch(b"y")).base_offset == 0


def test_partitions_are_split_by_those_who_may_alter_the_topic_not_by_those_who_may_look() -> None:
    guarded = Guarded()
    for name in ("a", "b"):
        split_topic(guarded.admin, name)
    guarded.allow(Operation.DESCRIBE, CLUSTER)
    request = KawalTopicsRequest(
        action=TopicAction.SPLIT, topics=[TopicItem(name=name, partition=0) for name in ("a", "b", "none")]
    )
    assert codes(guarded.of(ALICE).call(request, 0).topics) == {"a": DENIED, "b": DENIED, "none": DENIED}
    assert [guarded.broker.catalogue.by_name[name].partition_count for name in ("a", "b")] == [1, 1]
    guarded.allow(Operation.ALTER, TOPIC, "a")
    assert codes(guarded.of(ALICE).call(request, 0).topics) == {"a": 0, "b": DENIED, "none": DENIED}


def test_the_mode_is_set_by_those_who_may_alter_the_configs_and_the_tree_is_the_clusters() -> None:
    guarded = Guarded()
    create(guarded.admin, "a")
    change = incremental.AlterableConfig(
        name="kawal.partition.write.bytes.per.sec", config_operation=Change.SET, value="1000"
    )
    mode = replace(change, name="kawal.partition.autosplit.mode", value="up")
    resource = incremental.AlterConfigsResource(
        resource_type=TOPIC_CONFIG, resource_name="a", configs=[change, mode]
    )
    request = incremental.IncrementalAlterConfigsRequest(resources=[resource], validate_only=False)
    guarded.allow(Operation.ALTER, TOPIC, "a")
    assert guarded.of(ALICE).call(request, 1).responses[0].error_code == DENIED
    guarded.allow(Operation.ALTER_CONFIGS, TOPIC, "a")
    assert guarded.of(ALICE).call(request, 1).responses[0].error_code == 0
    described = KawalTopicsRequest(action=TopicAction.DESCRIBE, topics=[TopicItem(name="a")])
    (answer,) = guarded.of(ALICE).call(described, 0).topics
    assert (answer.error_code, answer.tree) == (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, [])


@pytest.mark.parametrize("name", [LEDGERS_TOPIC, STORAGE_TOPIC])
def test_what_the_server_tells_is_read_by_those_who_may_read_its_topic(name: str) -> None:
    guarded = Guarded()
    create(guarded.admin, "a", kawal_message_ids="true")
    ServerTopic(guarded.broker, guarded.broker, name).create(guarded.now_ms)
    guarded.settle()
    guarded.allow(Operation.READ, TOPIC, "a")
    assert fetch(guarded.of(ALICE), name).error_code == DENIED
    guarded.allow(Operation.READ, TOPIC, name)
    assert fetch(guarded.of(ALICE), name).error_code == 0
