"""The commands of docs/queues.md, typed as they are printed there, with Kafka's own tools of today."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Final

import pytest

from compat_tests.broker import Broker
from compat_tests.confluent import make_producer, produce
from compat_tests.java import run_java
from compat_tests.test_console import kawal
from compat_tests.test_share_groups import configure, numbered, poll, share_consumer
from compat_tests.topics import create_topic

pytestmark = pytest.mark.only_kawal(reason="most of these settings are Kawal's own")

TOOLS: Final = {
    "kafka-configs.sh": "kafka.admin.ConfigCommand",
    "kafka-topics.sh": "org.apache.kafka.tools.TopicCommand",
}


@pytest.fixture(scope="module")
def broker(group_broker: Broker) -> Broker:
    return group_broker


def commands() -> list[list[str]]:
    """Return the words of each command of the page that is one of Kafka's."""
    page = (Path(__file__).parents[1] / "docs/queues.md").read_text().replace("\\\n", " ")
    lines = [line.strip("`.") for line in page.splitlines()]
    return [shlex.split(line) for line in lines if line.startswith(tuple(TOOLS))]


@pytest.mark.timeout(240)
def test_the_commands_of_the_page_work_in_their_order(broker: Broker) -> None:
    create_topic(broker, "jobs")
    found = commands()
    assert len(found) >= 8
    for tool, *words in found:
        if "--bootstrap-server" not in words:
            words += ["--bootstrap-server", ""]
        words[words.index("--bootstrap-server") + 1] = broker.bootstrap
        printed = run_java(TOOLS[tool], *words).stdout
        assert "Completed updating" in printed or "Created topic" in printed, (tool, words, printed)
    configure(broker, "workers", kawal_share_filter="")
    produce(make_producer(broker), "jobs", numbered(10))
    with share_consumer(broker, "workers", "jobs", explicit=True) as consumer:
        poll(consumer, 10)
        for command in (
            "queues list",
            "queues describe workers",
            "queues peek workers",
            "queues release workers --topic jobs --partition 0 --offset 5",
            "queues release workers",
            "queues purge workers",
        ):
            assert kawal(broker, command).stdout, command
    assert kawal(broker, "queues reset workers --to earliest").stdout
