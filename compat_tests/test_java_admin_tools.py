"""Apache Kafka 4.3.1's own tools for operators of a cluster: what they print must be true."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from compat_tests.broker import Broker, Kind
from compat_tests.confluent import make_producer, produce
from compat_tests.conftest import MakeTopic, StartBroker
from compat_tests.java import run_java
from compat_tests.test_java_tools import TOOLS, tool
from compat_tests.topics import create_topic


def configs(broker: Broker, *arguments: str, succeed: bool = True) -> str:
    """Run kafka-configs and return what it prints."""
    result = run_java(
        "kafka.admin.ConfigCommand", "--bootstrap-server", broker.bootstrap, *arguments, succeed=succeed
    )
    return result.stdout + ("" if succeed else result.stderr)


def test_topic_configs_are_altered_and_listed(broker: Broker, make_topic: MakeTopic) -> None:
    entity = ["--entity-type", "topics", "--entity-name", make_topic()]
    altered = configs(
        broker, "--alter", *entity, "--add-config", "retention.ms=1000000,cleanup.policy=[compact,delete]"
    )
    assert altered == f"Completed updating config for topic {entity[-1]}.\n"
    listed = configs(broker, "--describe", *entity)
    assert re.search(r"^  retention.ms=1000000 .*DYNAMIC_TOPIC_CONFIG:retention.ms=10", listed, re.MULTILINE)
    assert re.search(r"^  cleanup.policy=compact,delete .*log.cleanup.policy=delete\}$", listed, re.MULTILINE)
    configs(broker, "--alter", *entity, "--delete-config", "retention.ms,cleanup.policy,no.such.key")
    assert "retention.ms" not in configs(broker, "--describe", *entity)
    refused = configs(broker, "--alter", *entity, "--add-config", "retention.ms=soon", succeed=False)
    assert "Invalid value soon for configuration retention.ms: Not a number of type LONG" in refused


def test_broker_configs_are_altered_for_one_node_and_for_all(start_broker: StartBroker) -> None:
    broker = start_broker()
    node = ["--entity-type", "brokers", "--entity-name", "1"]
    everyone = ["--entity-type", "brokers", "--entity-default"]
    assert (
        configs(broker, "--alter", *everyone, "--add-config", "message.max.bytes=2000000")
        == "Completed updating default config for brokers in the cluster.\n"
    )
    configs(broker, "--alter", *node, "--add-config", "message.max.bytes=3000000,log.retention.ms=700000000")
    listed = configs(broker, "--describe", *node)
    assert re.search(
        r"^  message.max.bytes=3000000 sensitive=false synonyms=\{"
        r"DYNAMIC_BROKER_CONFIG:message.max.bytes=3000000, "
        r"DYNAMIC_DEFAULT_BROKER_CONFIG:message.max.bytes=2000000, "
        r"DEFAULT_CONFIG:message.max.bytes=1048588\}$",
        listed,
        re.MULTILINE,
    )
    assert (
        "  message.max.bytes=2000000 sensitive=false synonyms="
        "{DYNAMIC_DEFAULT_BROKER_CONFIG:message.max.bytes=2000000}"
        in configs(broker, "--describe", *everyone)
    )
    refused = configs(broker, "--alter", *node, "--add-config", "num.partitions=3", succeed=False)
    assert "Cannot update these configs dynamically: [num.partitions]" in refused


def test_levels_of_loggers_are_altered_and_listed(start_broker: StartBroker) -> None:
    broker = start_broker()
    entity = ["--entity-type", "broker-loggers", "--entity-name", "1"]
    configs(broker, "--alter", *entity, "--add-config", "root=ERROR")
    assert "  root=ERROR sensitive=false synonyms={}" in configs(broker, "--describe", *entity)


def test_a_groups_config_is_altered_and_listed(broker: Broker) -> None:
    entity = ["--entity-type", "groups", "--entity-name", "configured-by-the-tool"]
    done = configs(broker, "--alter", *entity, "--add-config", "consumer.session.timeout.ms=50000")
    assert done == "Completed updating config for group configured-by-the-tool.\n"
    assert re.search(
        r"^  consumer.session.timeout.ms=50000 sensitive=false synonyms=\{"
        r"DYNAMIC_GROUP_CONFIG:consumer.session.timeout.ms=50000, "
        r"DEFAULT_CONFIG:group.consumer.session.timeout.ms=\d+\}$",
        configs(broker, "--describe", *entity),
        re.MULTILINE,
    )


def test_a_users_credentials_are_set_listed_and_deleted(broker: Broker, topic: str) -> None:
    entity = ["--entity-type", "users", "--entity-name", topic]
    added = configs(
        broker, "--alter", *entity, "--add-config", "SCRAM-SHA-256=[iterations=8192,password=pencil]"
    )
    assert added == f"Completed updating config for user {topic}.\n"
    assert (
        configs(broker, "--describe", *entity)
        == f"SCRAM credential configs for user-principal '{topic}' are SCRAM-SHA-256=iterations=8192\n"
    )
    configs(broker, "--alter", *entity, "--delete-config", "SCRAM-SHA-256")
    assert "SCRAM" not in configs(broker, "--describe", *entity)


def test_records_are_deleted_and_sizes_told(broker: Broker, make_topic: MakeTopic, tmp_path: Path) -> None:
    topic = make_topic(partitions=2)
    produce(make_producer(broker), topic, [b"v" * 100] * 10)
    offsets = tmp_path / "offsets.json"
    wanted = [{"topic": topic, "partition": 0, "offset": 4}, {"topic": topic, "partition": 1, "offset": -1}]
    offsets.write_text(json.dumps({"partitions": wanted, "version": 1}))
    printed = tool(broker, "DeleteRecordsCommand", "--offset-json-file", str(offsets))
    assert f"partition: {topic}-0\tlow_watermark: 4" in printed
    assert f"partition: {topic}-1\tlow_watermark: 0" in printed
    described = json.loads(tool(broker, "LogDirsCommand", "--describe", "--topic-list", topic)[-1])
    (directory,) = described["brokers"][0]["logDirs"]
    assert directory["error"] is None
    assert Path(directory["logDir"]) == broker.directory / "data"
    sizes = {partition["partition"]: partition["size"] for partition in directory["partitions"]}
    assert sizes.keys() == {f"{topic}-0", f"{topic}-1"}
    assert sizes[f"{topic}-0"] > 600
    assert sizes[f"{topic}-1"] == 0


def test_the_cluster_shows_its_version_its_endpoints_and_its_quorum(
    broker: Broker, broker_kind: Kind
) -> None:
    features = tool(broker, "FeatureCommand", "describe")
    metadata = next(line for line in features if line.startswith("Feature: metadata.version"))
    assert "FinalizedVersionLevel: 4.3-IV0" in metadata
    upgraded = tool(broker, "FeatureCommand", "upgrade", "--feature", "metadata.version=30")
    assert upgraded == ["metadata.version was upgraded to 30."]
    endpoints = run_java(
        f"{TOOLS}.ClusterTool", "list-endpoints", "--bootstrap-server", broker.bootstrap
    ).stdout
    assert re.search(rf"^1 +127\.0\.0\.1 +{broker.port} ", endpoints, re.MULTILINE)
    status = "\n".join(tool(broker, "MetadataQuorumCommand", "describe", "--status"))
    assert re.search(r"^LeaderId: +1$", status, re.MULTILINE)
    assert re.search(r"^MaxFollowerLag: +0$", status, re.MULTILINE)
    assert re.search(r'^CurrentVoters: +\[\{"id": 1, .*"endpoints": \["[A-Z]+://127', status, re.MULTILINE)
    replication = tool(broker, "MetadataQuorumCommand", "describe", "--replication")
    assert re.match(r"^1\s.*\sLeader\s*$", replication[1])


def test_leaders_and_replicas_are_where_they_can_be(
    broker: Broker, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic = make_topic()
    elect = ["LeaderElectionCommand", "--election-type", "preferred"]
    assert tool(broker, *elect, "--topic", topic, "--partition", "0") == [
        f"Valid replica already elected for partitions {topic}-0"
    ]
    missing = tool(broker, *elect, "--topic", "never-made", "--partition", "0", succeed=False)
    assert "No such topic as never-made" in missing[-1]
    reassign = "reassign.ReassignPartitionsCommand"
    assert tool(broker, reassign, "--list") == ["No partition reassignments found."]
    plan = tmp_path / "plan.json"
    plan.write_text(
        json.dumps({"partitions": [{"topic": topic, "partition": 0, "replicas": [1]}], "version": 1})
    )
    printed = tool(broker, reassign, "--execute", "--reassignment-json-file", str(plan))
    assert printed[-1] == f"Successfully started partition reassignment for {topic}-0"
    verified = tool(broker, reassign, "--verify", "--reassignment-json-file", str(plan))
    assert f"Reassignment of partition {topic}-0 is completed." in verified


def test_whoever_asks_for_rules_is_told_that_there_is_no_security(broker: Broker) -> None:
    told = run_java(f"{TOOLS}.AclCommand", "--bootstrap-server", broker.bootstrap, "--list", succeed=False)
    assert told.returncode == 1
    assert "SecurityDisabledException" in told.stdout + told.stderr


def test_topics_are_described_page_by_page(broker: Broker, topic: str) -> None:
    create_topic(broker, topic, 5)
    printed = tool(
        broker, "TopicCommand", "--describe", "--topic", topic, "--partition-size-limit-per-response", "2"
    )
    assert [re.search(r"Partition: (\d)\tLeader: 1", line)[1] for line in printed[1:]] == list("01234")  # type: ignore[index]


@pytest.mark.only_kawal(reason="a table of what is served")
def test_the_table_of_versions_has_every_admin_api(broker: Broker) -> None:
    table = "\n".join(tool(broker, "BrokerApiVersionsCommand"))
    usable: dict[str, Any] = dict(re.findall(r"^\t(\w+)\(\d+\): .*\[usable: (\d+)\]", table, re.MULTILINE))
    assert {
        "AlterConfigs": "2",
        "AlterPartitionReassignments": "1",
        "AlterReplicaLogDirs": "2",
        "CreateAcls": "3",
        "DeleteAcls": "3",
        "DeleteRecords": "2",
        "DescribeAcls": "3",
        "DescribeClientQuotas": "1",
        "DescribeConfigs": "4",
        "DescribeLogDirs": "5",
        "DescribeProducers": "0",
        "DescribeQuorum": "2",
        "DescribeTopicPartitions": "0",
        "ElectLeaders": "2",
        "IncrementalAlterConfigs": "1",
        "ListConfigResources": "1",
        "ListPartitionReassignments": "0",
        "UpdateFeatures": "2",
    }.items() <= usable.items()
