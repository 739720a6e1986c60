"""Apache Kafka 4.3.1's own consumer and kafka-consumer-groups."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from compat_tests.broker import Broker
from compat_tests.conftest import MakeTopic
from compat_tests.groups import committed_of, fill
from compat_tests.java import java_command, run_java
from compat_tests.libraries import Confluent, Settings
from compat_tests.members import Member
from compat_tests.process import ServerProcess
from compat_tests.waiting import eventually

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
    options = ["--topic", topic, "--group", topic, "--from-beginning", "--timeout-ms", "60000"]
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
        "--max-messages", "5", "--timeout-ms", "60000",
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


@contextmanager
def console_consumer(
    broker: Broker, topic: str, protocol: str, output: Path
) -> Iterator[Callable[[], set[str]]]:
    """Run a console consumer in the group named like the topic; yield a function for what it has printed."""
    command = java_command(
        f"{TOOLS}.consumer.ConsoleConsumer", "--bootstrap-server", broker.bootstrap, "--topic", topic,
        "--group", topic, "--from-beginning", "--command-property", f"group.protocol={protocol}",
    )  # fmt: skip
    process = ServerProcess(command, log_path=output, environment={})
    try:
        yield lambda: set(process.output().split())
    finally:
        process.terminate(within_seconds=60)


def test_both_protocols_of_java_share_a_group_with_other_libraries(
    broker: Broker, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic = make_topic(partitions=6)
    member = Member(partial(Confluent, broker, topic, [topic], Settings()), commits=True)
    with (
        member,
        console_consumer(broker, topic, "classic", tmp_path / "classic") as classic,
        console_consumer(broker, topic, "consumer", tmp_path / "consumer") as consumer,
    ):
        eventually(lambda: len(member.held()) == 2, waiting_for="a third of the group")
        fill(broker, topic, partitions=6, count=10)
        wanted = {f"{partition}:{number}" for partition in range(6) for number in range(10)}

        def seen() -> set[str]:
            return {value.decode() for value in member.values()} | classic() | consumer()

        eventually(
            lambda: seen() >= wanted,
            waiting_for="every record",
            last=lambda: wanted - seen(),
        )
        assert classic() & wanted, "the classic consumer has no share"
        assert consumer() & wanted, "the consumer of KIP-848 has no share"
