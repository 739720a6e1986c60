"""Views of every kind read by kafka-console-consumer of Apache Kafka 4.3.1, and described by its tools."""

from __future__ import annotations

import pytest

from compat_tests.broker import Broker
from compat_tests.test_java_tools import tool
from compat_tests.view_kinds import KINDS, Kinds, Told, in_order, told

pytestmark = pytest.mark.only_kawal("Apache Kafka has no views")

PRINTED = ("print.partition=true", "print.offset=true", "print.headers=true", "print.key=true")


@pytest.fixture(scope="module")
def world(group_broker: Broker) -> Kinds:
    return Kinds(group_broker, "java", count=400)


def console(broker: Broker, topic: str, *arguments: str) -> list[Told]:
    """Return what the console consumer prints."""
    printer = [part for property_ in PRINTED for part in ("--formatter-property", property_)]
    printed = tool(broker, "consumer.ConsoleConsumer", "--topic", topic, *arguments, *printer)
    found = []
    for line in printed:
        partition, offset, headers, key, value = line.split("\t", 4)
        pairs = [tuple(header.split(":", 1)) for header in headers.split(",")] if ":" in headers else []
        found.append(
            told(
                int(partition.removeprefix("Partition:")),
                int(offset.removeprefix("Offset:")),
                None if key == "null" else key,
                value,
                [(name, text) for name, text in pairs],
            )
        )
    return in_order(found)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "nothing"])
def test_the_console_consumer_reads_each_kind_of_view(world: Kinds, kind: str) -> None:
    wanted = world.shown(kind)
    limits = ["--max-messages", str(len(wanted)), "--timeout-ms", "60000"]
    assert console(world.broker, world.topic(kind), "--from-beginning", *limits) == wanted


def test_the_console_consumer_finds_nothing_and_ends(world: Kinds) -> None:
    place = ["--partition", "0", "--offset", "earliest", "--timeout-ms", "6000"]
    assert console(world.broker, world.topic("nothing"), *place) == []
    assert console(world.broker, world.topic("head"), *place) == world.shown("head", 0)


def test_tools_describe_a_view_and_tell_its_ends(world: Kinds) -> None:
    name = world.topic("late")
    head, *_ = tool(world.broker, "TopicCommand", "--describe", "--topic", name)
    assert "PartitionCount: 2" in head
    assert "kawal.sql=SELECT id, carrier" in head
    assert tool(world.broker, "GetOffsetShell", "--topic", name) == [
        f"{name}:{index}:200" for index in (0, 1)
    ]
    group = ["--group", "java-console", "--from-beginning", "--max-messages", str(len(world.shown("late")))]
    console(world.broker, name, *group, "--timeout-ms", "60000")
    told_of = tool(
        world.broker, "consumer.group.ConsumerGroupCommand", "--describe", "--group", "java-console"
    )
    rows = [line.split() for line in told_of if name in line]
    assert {(row[2], row[4]) for row in rows} == {("0", "200"), ("1", "200")}
    assert all(int(row[5]) == 0 for row in rows), told_of


def test_the_topics_tool_itself_knows_no_configurations_but_kafkas(world: Kinds) -> None:
    """docs/views.md says so, and which tools to use instead."""
    config = ["--config", "kawal.sql=STABLE x"]
    printed = tool(world.broker, "TopicCommand", "--create", "--topic", "x", *config, succeed=False)
    assert printed == ["Error while executing topic command : Unknown topic config name: kawal.sql"]
