"""Questions from tools and UIs: directories, producers, quorum, features, leaders, replicas, rules."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import ElectionType, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)
from kafka import KafkaAdminClient
from kafka import TopicPartition as PythonTopicPartition
from kafka.errors import InvalidUpdateVersionError, LogDirNotFoundError, NoError

from compat_tests.broker import Broker, Kind
from compat_tests.confluent import make_producer, produce
from compat_tests.conftest import MakeTopic
from compat_tests.wire import RawClient
from protocol.messages.describe_acls import DescribeAclsRequest
from protocol.messages.describe_client_quotas import ComponentData, DescribeClientQuotasRequest
from protocol.messages.describe_quorum import DescribeQuorumRequest, RequestPartitionData, RequestTopicData


@pytest.fixture(scope="module")
def admin(broker: Broker) -> Any:
    return AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 2})


@pytest.fixture(scope="module")
def python_admin(broker: Broker) -> Iterator[Any]:
    made = KafkaAdminClient(bootstrap_servers=broker.bootstrap)
    yield made
    made.close()


def test_the_data_directory_is_told_with_its_sizes(
    python_admin: Any, broker: Broker, make_topic: MakeTopic
) -> None:
    topic = make_topic(partitions=2)
    produce(make_producer(broker), topic, [b"v" * 1000] * 5)
    (node,) = python_admin.describe_log_dirs({topic: [0, 1]})
    (directory,) = node["log_dirs"]
    assert (directory["error_code"], Path(directory["log_dir"])) == (0, broker.directory / "data")
    assert 0 < directory["usable_bytes"] < directory["total_bytes"]
    (listed,) = directory["topics"]
    sizes = {partition["partition_index"]: partition["partition_size"] for partition in listed["partitions"]}
    assert 5_000 < sizes[0] < 6_000
    assert sizes[1] == 0
    everything = python_admin.describe_log_dirs()[0]["log_dirs"][0]["topics"]
    assert topic in {entry["name"] for entry in everything}


def test_replicas_stay_where_they_are(python_admin: Any, broker: Broker, make_topic: MakeTopic) -> None:
    replica = (make_topic(), 0, 1)
    here = str(broker.directory / "data")
    assert list(python_admin.alter_replica_log_dirs({replica: here}).values()) == [NoError]
    there = python_admin.alter_replica_log_dirs({replica: "/nowhere"})
    assert list(there.values()) == [LogDirNotFoundError]


def test_idempotent_producers_are_told_with_their_sequences(
    python_admin: Any, broker: Broker, make_topic: MakeTopic
) -> None:
    topic = make_topic()
    producer = make_producer(broker, enable_idempotence=True)
    produce(producer, topic, [b"v"] * 7)
    partition = PythonTopicPartition(topic, 0)
    (state,) = python_admin.describe_producers([partition])[partition].active_producers
    assert state.last_sequence == 6
    assert (state.producer_epoch, state.current_transaction_start_offset) == (0, -1)


def test_the_quorum_of_the_catalogue_is_one_node(python_admin: Any, make_topic: MakeTopic) -> None:
    def quorum() -> Any:
        return python_admin.describe_metadata_quorum()["topics"][0]["partitions"][0]

    before = quorum()
    assert (before["error"], before["leader_id"], before["observers"]) == (None, 1, [])
    (voter,) = before["current_voters"]
    assert voter["replica_id"] == 1
    assert voter["log_end_offset"] >= before["high_watermark"]
    make_topic()
    assert quorum()["high_watermark"] > before["high_watermark"]


@pytest.mark.parametrize("name", ["__cluster_metadata", "never-made"])
@pytest.mark.parametrize("version", [0, 1, 2])
def test_other_quorums_are_unknown(raw: RawClient, name: str, version: int) -> None:
    index = 1 if name == "__cluster_metadata" else 0
    topic = RequestTopicData(topic_name=name, partitions=[RequestPartitionData(partition_index=index)])
    answer = raw.call(DescribeQuorumRequest(topics=[topic]), version)
    told = answer.topics[0].partitions[0]
    assert (answer.error_code, told.error_code, told.current_voters, answer.nodes) == (0, 3, [], [])


def test_the_metadata_version_is_finalized(python_admin: Any) -> None:
    version = python_admin.describe_features()["metadata.version"]
    assert (version["finalized"], version["supported"][1]) == ((30, 30), 30)
    assert version["finalized_epoch"] > 0


def test_features_stay_at_their_level(python_admin: Any) -> None:
    assert python_admin.update_features({"metadata.version": 30}) == {"metadata.version": "OK"}
    for wanted in ({"metadata.version": 99}, {"no.such.feature": 1}):
        with pytest.raises(InvalidUpdateVersionError):
            python_admin.update_features(wanted)


def test_leaders_need_no_election(admin: Any, python_admin: Any, make_topic: MakeTopic) -> None:
    topic = make_topic(partitions=2)
    wanted = [TopicPartition(topic, 0), TopicPartition(topic, 9)]
    answers = admin.elect_leaders(ElectionType.PREFERRED, wanted).result(60)
    codes = {place.partition: error.code() if error else 0 for place, error in answers.items()}
    assert codes == {0: KafkaError.ELECTION_NOT_NEEDED, 9: KafkaError.UNKNOWN_TOPIC_OR_PART}
    answer = python_admin.elect_leaders(0, {topic: [0, 1]}, raise_errors=False)
    assert answer.error_code == 0


def test_partitions_are_assigned_to_the_one_node(python_admin: Any, make_topic: MakeTopic) -> None:
    topic = make_topic()
    partition = PythonTopicPartition(topic, 0)
    assert python_admin.alter_partition_reassignments({partition: [1]}) == {partition: None}
    refused = python_admin.alter_partition_reassignments({partition: [1, 2]})[partition]
    assert refused.errno == 39
    nothing = python_admin.alter_partition_reassignments({partition: None})[partition]
    assert nothing.errno == 85
    assert python_admin.list_partition_reassignments() == {}


def test_what_has_configs_is_listed(python_admin: Any, make_topic: MakeTopic) -> None:
    topic = make_topic()
    listed = python_admin.list_config_resources(["TOPIC", "BROKER", "BROKER_LOGGER"])
    by_kind = {str(kind).upper(): names for kind, names in listed.items()}
    assert topic in by_kind["TOPIC"]
    assert by_kind["BROKER"] == ["1"]
    assert by_kind["BROKER_LOGGER"] == ["1"]


def test_topics_are_described_page_by_page(python_admin: Any, make_topic: MakeTopic) -> None:
    topic = make_topic(partitions=5)
    seen, cursor = [], None
    while True:
        page = python_admin.describe_topic_partitions([topic], response_partition_limit=2, cursor=cursor)
        (told,) = page["topics"]
        seen += [(partition["partition_index"], partition["leader_id"]) for partition in told["partitions"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert seen == [(index, 1) for index in range(5)]


def test_rules_cannot_be_asked_for_made_or_removed(admin: Any) -> None:
    rule = AclBinding(
        ResourceType.TOPIC, "t", ResourcePatternType.LITERAL, "User:a", "*", AclOperation.READ,
        AclPermissionType.ALLOW,
    )  # fmt: skip
    anything = AclBindingFilter(
        ResourceType.ANY, None, ResourcePatternType.ANY, None, None, AclOperation.ANY, AclPermissionType.ANY
    )
    # librdkafka drops the error of this one.
    assert admin.describe_acls(anything).result(60) == []
    for future in (admin.create_acls([rule])[rule], admin.delete_acls([anything])[anything]):
        with pytest.raises(KafkaException) as caught:
            future.result(60)
        assert caught.value.args[0].code() == KafkaError.SECURITY_DISABLED


@pytest.mark.parametrize("version", [1, 2, 3])
def test_whoever_asks_for_rules_is_told_why_there_are_none(raw: RawClient, version: int) -> None:
    asked = DescribeAclsRequest(
        resource_type_filter=1,
        resource_name_filter=None,
        pattern_type_filter=1,
        principal_filter=None,
        host_filter=None,
        operation=1,
        permission_type=1,
    )
    answer = raw.call(asked, version)
    assert (answer.error_code, answer.resources) == (54, [])


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize(
    ("components", "code"),
    [
        ([], 0),
        ([("user", 2, None)], 0),
        ([("client-id", 0, "nobody"), ("user", 1, None)], 0),
        ([("planet", 0, "earth")], 35),
        ([("user", 0, None)], 42),
        ([("user", 9, None)], 42),
        ([("user", 0, "a"), ("user", 0, "a")], 42),
    ],
)
def test_a_server_without_quotas_finds_none(
    raw: RawClient, version: int, components: list[tuple[str, int, str | None]], code: int
) -> None:
    asked = [
        ComponentData(entity_type=kind, match_type=match, match=name) for kind, match, name in components
    ]
    answer = raw.call(DescribeClientQuotasRequest(components=asked, strict=False), version)
    assert (answer.error_code, answer.entries) == (code, [] if code == 0 else None)


@pytest.mark.differs(reason="a feature is listed when what it stands for is there")
def test_features_of_what_is_not_there_are_not_told(python_admin: Any, broker_kind: Kind) -> None:
    told = python_admin.describe_features().keys()
    assert {"group.version", "metadata.version"} <= told
    assert ({"share.version", "streams.version", "transaction.version"} <= told) == (broker_kind == "kafka")
