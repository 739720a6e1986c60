"""Apache Kafka 4.3.1's tools that judge a broker themselves: verifiable clients, latency, compatibility."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from compat_tests.broker import Broker
from compat_tests.confluent import open_consumer, read
from compat_tests.groups import committed_of
from compat_tests.java import run_java
from compat_tests.topics import create_topic

TOOLS = "org.apache.kafka.tools"

FEATURES = (
    "offsets-for-times",
    "cluster-id",
    "create-topics",
    "describe-acls",
    "describe-configs",
    "idempotent-producer",
)


@pytest.fixture(scope="module")
def broker(group_broker: Broker) -> Broker:
    return group_broker


def tool(broker: Broker, name: str, *arguments: str) -> list[str]:
    """Run a tool and return the lines of its standard output."""
    return run_java(f"{TOOLS}.{name}", "--bootstrap-server", broker.bootstrap, *arguments).stdout.splitlines()


def events(lines: list[str]) -> dict[str, list[dict[str, Any]]]:
    """Return what a verifiable client reported, by the name of the event."""
    told: dict[str, list[dict[str, Any]]] = {}
    for line in lines:
        event = json.loads(line)
        told.setdefault(event["name"], []).append(event)
    return told


def verifiably_produced(broker: Broker, topic: str, count: int, *options: str) -> dict[str, Any]:
    """Produce numbers and return the tool's own sum; fail unless each was acknowledged at its own offset."""
    told = events(
        tool(broker, "VerifiableProducer", "--topic", topic, "--max-messages", str(count), *options)
    )
    assert "producer_send_error" not in told
    sent = told["producer_send_success"]
    assert sorted(int(record["value"]) for record in sent) == list(range(count))
    assert len({(record["partition"], record["offset"]) for record in sent}) == count
    (total,) = told["tool_data"]
    return total


@pytest.mark.parametrize("acks", ["-1", "1"])
def test_every_record_of_the_verifiable_producer_is_acknowledged_and_read(
    broker: Broker, topic: str, acks: str
) -> None:
    create_topic(broker, topic, 2)
    total = verifiably_produced(broker, topic, 2_000, "--acks", acks, "--throughput", "-1")
    assert (total["sent"], total["acked"]) == (2_000, 2_000)
    with open_consumer(broker) as consumer:
        values = [
            int(message.value())
            for partition in range(2)
            for message in read(consumer, topic, _end(broker, topic, partition), partition=partition)
        ]
    assert sorted(values) == list(range(2_000))


def _end(broker: Broker, topic: str, partition: int) -> int:
    (line,) = tool(broker, "GetOffsetShell", "--topic-partitions", f"{topic}:{partition}")
    return int(line.rpartition(":")[2])


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_the_verifiable_consumer_reads_and_commits_every_record(
    broker: Broker, topic: str, protocol: str
) -> None:
    create_topic(broker, topic, 3)
    verifiably_produced(broker, topic, 500)
    told = events(
        tool(
            broker, "VerifiableConsumer", "--topic", topic, "--group-id", topic, "--max-messages", "500",
            "--group-protocol", protocol, "--reset-policy", "earliest",
        )
    )  # fmt: skip
    assert sum(partition["count"] for partition in told["records_consumed"]) == 500
    assert all(commit["success"] for commit in told["offsets_committed"])
    assert sum(committed_of(broker, topic).values()) == 500
    assert "shutdown_complete" in told


def test_consumer_performance_reads_every_record(broker: Broker, topic: str) -> None:
    create_topic(broker, topic, 2)
    verifiably_produced(broker, topic, 1_000)
    head, figures = tool(
        broker, "ConsumerPerformance", "--topic", topic, "--num-records", "1000", "--timeout", "30000"
    )
    found = dict(zip(head.split(", "), figures.split(", "), strict=True))
    assert found["data.consumed.in.nMsg"] == "1000"


def test_end_to_end_latency_is_measured(broker: Broker, topic: str) -> None:
    create_topic(broker, topic)
    *_, average, percentiles = tool(
        broker, "EndToEndLatency", "--topic", topic, "--num-records", "100", "--producer-acks", "all",
        "--record-size", "200",
    )  # fmt: skip
    assert re.fullmatch(r"Avg latency: \d+\.\d+ ms", average)
    assert percentiles.startswith("Percentiles: 50th = ")


def test_the_client_compatibility_test_finds_every_feature(broker: Broker, topic: str) -> None:
    create_topic(broker, topic)
    supported = [part for name in FEATURES for part in (f"--{name}-supported", "true")]
    run_java(
        f"{TOOLS}.ClientCompatibilityTest", "--bootstrap-server", broker.bootstrap, "--topic", topic,
        "--num-cluster-nodes", "1", "--expect-record-too-large-exception", "false", *supported,
    )  # fmt: skip


def test_groups_of_every_kind_are_listed(broker: Broker, topic: str) -> None:
    create_topic(broker, topic)
    verifiably_produced(broker, topic, 1)
    tool(broker, "VerifiableConsumer", "--topic", topic, "--group-id", topic, "--max-messages", "1")
    listed = [line.split() for line in tool(broker, "GroupsCommand", "--list")]
    assert [topic, "Classic", "consumer"] in listed
