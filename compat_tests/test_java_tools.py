"""Apache Kafka 4.3.1's own command line tools, each a Java client with its defaults."""

from __future__ import annotations

import re

from confluent_kafka import TopicPartition

from compat_tests.broker import Broker
from compat_tests.confluent import open_consumer, read
from compat_tests.conftest import MakeTopic
from compat_tests.java import run_java

TOOLS = "org.apache.kafka.tools"

PERFORMANCE_LINE = re.compile(r"^(\d+) records sent, [\d.]+ records/sec .* ms avg latency, .* 99.9th\.$")


def tool(broker: Broker, name: str, *arguments: str, stdin: str = "", succeed: bool = True) -> list[str]:
    """Run a tool against the broker and return the lines of its standard output."""
    result = run_java(
        f"{TOOLS}.{name}", "--bootstrap-server", broker.bootstrap, *arguments, stdin=stdin, succeed=succeed
    )
    return result.stdout.splitlines()


def test_topics_are_created_described_grown_and_deleted(broker: Broker, topic: str) -> None:
    make = ["--create", "--topic", topic, "--partitions", "2", "--config", "retention.ms=1000000"]
    assert tool(broker, "TopicCommand", *make) == [f"Created topic {topic}."]
    head, *partitions = tool(broker, "TopicCommand", "--describe", "--topic", topic)
    assert re.match(
        rf"Topic: {topic}\tTopicId: [\w-]{{22}}\tPartitionCount: 2\tReplicationFactor: 1\tConfigs: ", head
    )
    assert "retention.ms=1000000" in head
    fields = [dict(re.findall(r"(\w+): (\S*)", line)) for line in partitions]
    node = fields[0]["Leader"]
    assert [(f["Partition"], f["Leader"], f["Replicas"], f["Isr"]) for f in fields] == [
        ("0", node, node, node),
        ("1", node, node, node),
    ]
    tool(broker, "TopicCommand", "--alter", "--topic", topic, "--partitions", "4")
    assert tool(broker, "GetOffsetShell", "--topic", topic) == [f"{topic}:{i}:0" for i in range(4)]
    tool(broker, "TopicCommand", "--delete", "--topic", topic)
    assert topic not in tool(broker, "TopicCommand", "--list")


def test_errors_of_topic_commands_are_kafkas(broker: Broker, topic: str) -> None:
    refused = run_java(
        f"{TOOLS}.TopicCommand", "--bootstrap-server", broker.bootstrap, "--create", "--topic", topic,
        "--replication-factor", "3", succeed=False,
    )  # fmt: skip
    assert refused.returncode == 1
    assert "Unable to replicate the partition 3 time(s)" in refused.stdout + refused.stderr


def test_the_console_tools_round_trip_keys_headers_and_values(broker: Broker, make_topic: MakeTopic) -> None:
    topic = make_topic(partitions=2)
    reader = ["parse.key=true", "parse.headers=true"]
    printer = ["print.key=true", "print.headers=true", "print.offset=true", "print.partition=true"]
    tool(
        broker, "ConsoleProducer", "--topic", topic, "--compression-codec", "zstd",
        *[part for property_ in reader for part in ("--reader-property", property_)],
        stdin="h1:a,h2:b\tk1\tv1\nh1:c\tk1\tv2\n",
    )  # fmt: skip
    with open_consumer(broker) as consumer:
        sizes = [consumer.get_watermark_offsets(TopicPartition(topic, p), timeout=60)[1] for p in range(2)]
    partition = sizes.index(2)
    printed = tool(
        broker, "consumer.ConsoleConsumer", "--topic", topic, "--partition", str(partition), "--offset", "0",
        "--max-messages", "2", "--timeout-ms", "60000",
        *[part for property_ in printer for part in ("--formatter-property", property_)],
    )  # fmt: skip
    assert printed == [
        f"Partition:{partition}\tOffset:0\th1:a,h2:b\tk1\tv1",
        f"Partition:{partition}\tOffset:1\th1:c\tk1\tv2",
    ]


def test_producer_performance_sends_every_record_and_offsets_count_them(
    broker: Broker, make_topic: MakeTopic
) -> None:
    topic = make_topic(partitions=3)
    printed = tool(
        broker, "ProducerPerformance", "--topic", topic, "--num-records", "50000", "--record-size", "200",
        "--throughput", "-1", "--command-property", "compression.type=lz4",
    )  # fmt: skip
    last = PERFORMANCE_LINE.match(printed[-1])
    assert last
    assert last[1] == "50000"
    ends = [int(line.rpartition(":")[2]) for line in tool(broker, "GetOffsetShell", "--topic", topic)]
    assert sum(ends) == 50_000
    earliest = tool(broker, "GetOffsetShell", "--topic", topic, "--time", "earliest")
    assert earliest == [f"{topic}:{i}:0" for i in range(3)]
    newest = tool(broker, "GetOffsetShell", "--topic", topic, "--time", "max-timestamp")
    assert all(0 <= int(line.rpartition(":")[2]) < end for line, end in zip(newest, ends, strict=True))


def test_records_of_the_java_producer_are_what_other_clients_read(
    broker: Broker, make_topic: MakeTopic
) -> None:
    topic = make_topic()
    lines = [f"line {i}" for i in range(500)]
    tool(broker, "ConsoleProducer", "--topic", topic, stdin="\n".join(lines))
    with open_consumer(broker, check_crcs=True) as consumer:
        assert [m.value().decode() for m in read(consumer, topic, 500)] == lines


def test_the_version_table_and_the_cluster_id_can_be_read(broker: Broker) -> None:
    identity = run_java(f"{TOOLS}.ClusterTool", "cluster-id", "--bootstrap-server", broker.bootstrap).stdout
    assert re.fullmatch(r"Cluster ID: \S+\n", identity)
    table = "\n".join(tool(broker, "BrokerApiVersionsCommand"))
    assert re.search(r"Produce\(0\): (0 to )?\d+", table)
    assert "Fetch(1)" in table


def test_whole_config_listings_are_understood(broker: Broker, make_topic: MakeTopic) -> None:
    topic = make_topic(retention_ms="1234567")
    listed = run_java(
        "kafka.admin.ConfigCommand", "--bootstrap-server", broker.bootstrap, "--describe",
        "--entity-type", "topics", "--entity-name", topic, "--all",
    ).stdout  # fmt: skip
    assert re.search(
        r"retention\.ms=1234567 sensitive=false synonyms=\{DYNAMIC_TOPIC_CONFIG:retention\.ms=1234567", listed
    )
    assert "segment.bytes=1073741824" in listed
