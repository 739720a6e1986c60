"""Apache Kafka 4.3.1's own consumer and kafka-consumer-groups."""

from __future__ import annotations

import pytest

from compat_tests.broker import Broker
from compat_tests.conftest import MakeTopic
from compat_tests.groups import committed_of, fill
from compat_tests.java import run_java

TOOLS = "org.apache.kafka.tools"


@pytest.fixture(scope="module")
def broker(group_broker: Broker) -> Broker:
    return group_broker


def tool(broker: Broker, name: str, *arguments: str) -> list[str]:
    """Run a tool and return the lines of its standard output."""
    return run_java(f"{TOOLS}.{name}", "--bootstrap-server", broker.bootstrap, *arguments).stdout.splitlines()


def groups(broker: Broker, *arguments: str) -> list[list[str]]:
    """Run kafka-consumer-groups and return the words of its lines that are not empty."""
    return [line.split() for line in tool(broker, "consumer.group.ConsumerGroupCommand", *arguments) if line]


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_the_console_consumer_commits_and_goes_on(
    broker: Broker, make_topic: MakeTopic, protocol: str
) -> None:
    topic = make_topic()
    fill(broker, topic, partitions=1, count=4)
    options = ["--topic", topic, "--group", topic, "--from-beginning", "--timeout-ms", "20000"]
    for wanted in (["0:0", "0:1"], ["0:2", "0:3"]):
        printed = tool(
            broker, "consumer.ConsoleConsumer", *options, "--max-messages", "2",
            "--command-property", f"group.protocol={protocol}",
        )  # fmt: skip
        assert printed == wanted
    assert committed_of(broker, topic) == {0: 4}


def test_groups_are_listed_described_reset_and_deleted(broker: Broker, make_topic: MakeTopic) -> None:
    topic = make_topic()
    fill(broker, topic, partitions=1, count=5)
    tool(
        broker, "consumer.ConsoleConsumer", "--topic", topic, "--group", topic, "--from-beginning",
        "--max-messages", "5", "--timeout-ms", "20000",
    )  # fmt: skip
    assert [topic] in groups(broker, "--list")
    head, row = groups(broker, "--describe", "--group", topic)
    columns = dict(zip(head, row, strict=True))
    shown = [columns[name] for name in ("TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG")]
    assert shown == [topic, "0", "5", "5", "0"]
    groups(broker, "--reset-offsets", "--group", topic, "--topic", topic, "--shift-by", "-3", "--execute")
    assert committed_of(broker, topic) == {0: 2}
    groups(broker, "--delete", "--group", topic)
    assert committed_of(broker, topic) == {}
