"""SIGKILL while views are made, dropped and read: answers stay true, and readers miss nothing."""

from __future__ import annotations

import threading
from random import Random
from typing import Any

import pytest

from compat_tests.broker import Broker
from compat_tests.confluent import open_consumer, read
from compat_tests.conftest import StartBroker
from compat_tests.group_lab import Lab, values, wait_for
from compat_tests.topics import create_topic
from compat_tests.views import admin_client, make_view
from compat_tests.waiting import eventually
from compat_tests.wire import RawClient
from console.database_admin import do
from protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from protocol.messages.kawal_databases import DatabaseAction

pytestmark = pytest.mark.only_kawal("Apache Kafka has no views")

KILLS = 3
PARTITIONS = 2

MADE: tuple[dict[str, str], ...] = (
    {"kawal.sql": "SELECT _offset AS o FROM source WHERE _offset > 10"},
    {"kawal.sql": "WITH META AS STABLE source WHERE tbname = 'k'"},
    {"kawal.sql": "ONLY META AS DATABASE kept"},
    {"kawal.alias.of": "source", "kawal.from": "offset 1", "kawal.replay.speed": "60"},
)
"""The views that are made and dropped."""

READ = {
    "query": "SELECT * FROM source WHERE _key IS NULL",
    "stable": "STABLE source",
    "database": "DATABASE kept",
}
"""The views that are read all the time."""


class Owner(threading.Thread):
    """An owner that makes and drops views without end, and keeps what was answered."""

    def __init__(self, broker: Broker, name: str) -> None:
        super().__init__(daemon=True)
        self.client = RawClient(broker)
        self.prefix = name
        self.chance = Random(name)
        self.there: dict[str, dict[str, str]] = {}
        """The configurations of views answered as made, whose drop was not asked for."""
        self.gone: set[str] = set()
        """The views answered as dropped."""
        self.problems: list[Any] = []

    def run(self) -> None:
        try:
            number = 0
            while True:
                number += 1
                self._live(f"{self.prefix}{number}", MADE[number % len(MADE)])
        except (OSError, AssertionError):
            # The server has ended: what was under way may have happened or not.
            self.client.close()

    def _live(self, name: str, configs: dict[str, str]) -> None:
        lines = [CreatableTopicConfig(name=key, value=text) for key, text in configs.items()]
        topic = CreatableTopic(
            name=name, num_partitions=-1, replication_factor=-1, assignments=[], configs=lines
        )
        (made,) = self.client.call(CreateTopicsRequest(topics=[topic], timeout_ms=10_000), 7).topics
        if made.error_code:
            self.problems.append(made)
            return
        self.there[name] = configs
        if self.chance.random() < 0.6:
            del self.there[name]
            request = DeleteTopicsRequest(topics=[DeleteTopicState(name=name)], timeout_ms=10_000)
            (dropped,) = self.client.call(request, 6).responses
            if dropped.error_code:
                self.problems.append(dropped)
            else:
                self.gone.add(name)


def configs_of(broker: Broker, names: list[str]) -> dict[str, dict[str, str]]:
    """Return the configurations of topics."""
    resources = [
        DescribeConfigsResource(resource_type=2, resource_name=name, configuration_keys=None)
        for name in names
    ]
    client = RawClient(broker)
    results = client.call(DescribeConfigsRequest(resources=resources), 4).results
    client.close()
    return {result.resource_name: {line.name: line.value for line in result.configs} for result in results}


def check_catalogue(broker: Broker, there: dict[str, dict[str, str]], gone: set[str]) -> None:
    """Check that every view answered as made is there as it was asked for, and none that was dropped."""
    asking = admin_client(broker)
    listed = set(asking.list_topics(timeout=60).topics)
    assert set(there) <= listed
    assert not gone & listed
    shown = configs_of(broker, list(there))
    for name, wanted in there.items():
        assert {key: shown[name][key] for key in wanted} == wanted


def test_kill_9_while_views_are_made_dropped_and_read_loses_nothing(start_broker: StartBroker) -> None:
    broker = start_broker(group_initial_rebalance_delay_ms="0")
    (kept,) = do(broker.bootstrap, DatabaseAction.CREATE, ["kept"], {"vnodes": "1"})
    assert not kept.error_code
    create_topic(broker, "source", PARTITIONS, {"kawal.database": "kept"})
    for name, sql in READ.items():
        make_view(broker, name, sql)
    # The others leave sockets of failed connections behind.
    labs = [Lab(broker, library, "crash") for library in ("confluent", "confluent-848")]
    members = [lab.member(*READ, commits=True) for lab in labs]
    there: dict[str, dict[str, str]] = {}
    gone: set[str] = set()
    written: list[bytes] = []
    for cycle in range(KILLS):
        owners = [Owner(broker, f"v{cycle}-{number}-") for number in range(2)]
        for owner in owners:
            owner.start()
        written += values(f"{cycle}-", 40)
        labs[0].produce("source", written[-40:], PARTITIONS)
        eventually(
            lambda owners=owners: min(len(owner.gone) for owner in owners) >= 10,  # type: ignore[misc]
            waiting_for="some views",
        )
        broker.kill()
        for owner in owners:
            owner.join(60)
            assert not owner.is_alive()
            assert not owner.problems
            there |= owner.there
            gone |= owner.gone
        broker.restart()
        check_catalogue(broker, there, gone)
    for member in members:
        for view in READ:
            wait_for(
                lambda member=member, view=view: (  # type: ignore[misc]
                    {*written} == {record.value for record in member.records if record.topic == view}
                ),
                f"every record of {view}",
                member,
            )
        member.leave()
        member.check()
    # A view that was made before a kill is read like any other.
    aliases = [name for name, configs in there.items() if "kawal.alias.of" in configs]
    with open_consumer(broker) as consumer:
        (first,) = read(consumer, aliases[0], 1, offset=1)
        assert first.value() == written[2]
