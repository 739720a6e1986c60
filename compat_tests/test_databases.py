"""Databases at run time, by the command line and by topic configurations, also over kill -9."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from random import Random
from typing import Any

import pytest
from confluent_kafka import KafkaException
from kafka import KafkaAdminClient
from kafka.admin import NewTopic

from compat_tests.broker import Broker
from compat_tests.confluent import make_producer, open_consumer, produce, read
from compat_tests.conftest import StartBroker
from compat_tests.test_console import kawal, sentence
from compat_tests.topics import create_topic, delete_topic
from compat_tests.waiting import eventually
from console.database_admin import do
from console.errors import CommandError
from protocol.messages.kawal_databases import DatabaseAction

KILLS = 3


def listed(broker: Broker) -> dict[str, Any]:
    return {
        database["name"]: database
        for database in json.loads(kawal(broker, "databases list", "--json").stdout)
    }


def test_another_broker_is_told_from_a_kawal_server(broker: Broker) -> None:
    if broker.kind == "kawal":
        assert kawal(broker, "databases list").stdout.split()[0] == b"default"
    else:
        assert "is not a Kawal server" in sentence(kawal(broker, "databases list", code=1))


@pytest.mark.only_kawal("Apache Kafka has no databases")
def test_a_database_lives_from_create_to_drop_without_a_restart(start_broker: StartBroker) -> None:
    broker = start_broker()
    kawal(broker, "sql", "CREATE DATABASE power VGROUPS 3 WAL_LEVEL 1 WAL_RETENTION_PERIOD 3600")
    admin: Any = KafkaAdminClient(bootstrap_servers=broker.bootstrap)
    configs = {"kawal.database": "power"}
    admin.create_topics([NewTopic("meters", num_partitions=6, replication_factor=1, topic_configs=configs)])
    admin.close()
    producer = make_producer(broker, acks="all")
    for partition in range(6):
        assert produce(producer, "meters", [b"%d" % partition], partition=partition) == [0]
    shown = listed(broker)["power"]
    assert (shown["vnodes"], shown["topics"]) == (3, 1)
    settings = {name: setting["value"] for name, setting in shown["settings"].items()}
    assert (settings["durability"], settings["wal.retention.ms"]) == ("os", "3600000")
    described = json.loads(kawal(broker, "topics describe", "meters", "--all", "--json").stdout)
    assert "kawal.database" in str(described)
    kept = described[0]["configs"]["retention.ms"]["value"]
    assert kept == "-1", "whole files of the database are deleted"

    assert "'meters'; delete them first" in sentence(kawal(broker, "sql", "DROP DATABASE power", code=1))
    kawal(broker, "databases alter", "power", "--config", "durability=disk")
    broker.stop()
    broker.restart()
    assert listed(broker)["power"]["settings"]["durability"] == {"value": "disk", "default": False}
    with open_consumer(broker) as consumer:
        assert [read(consumer, "meters", 1, partition=index)[0].value() for index in range(6)] == [
            b"%d" % index for index in range(6)
        ]
    directory = broker.directory / "data" / shown["directory"]
    assert len(list(directory.iterdir())) == 3
    delete_topic(broker, "meters")
    kawal(broker, "sql", "DROP DATABASE power")
    assert list(listed(broker)) == ["default"]
    eventually(lambda: not directory.exists(), waiting_for="the directory to go")


@pytest.mark.only_kawal("Apache Kafka has no databases")
def test_an_unknown_database_is_answered_with_the_nearest(start_broker: StartBroker) -> None:
    broker = start_broker()
    kawal(broker, "databases create", "telemetry")
    with pytest.raises(KafkaException, match="did you mean 'telemetry'"):
        create_topic(broker, "meters", 1, {"kawal.database": "telemetrie"})


class Owner(threading.Thread):
    """An owner that creates and drops databases and topics in them without end, and keeps the answers."""

    def __init__(self, broker: Broker, name: str) -> None:
        super().__init__(daemon=True)
        self.broker = broker
        self.prefix = name
        self.chance = Random(name)
        self.there: set[str] = set()
        """The databases answered as created, whose drop was not asked for."""
        self.gone: set[str] = set()
        """The databases answered as dropped."""
        self.over = False

    def run(self) -> None:
        number = 0
        while not self.over:
            number += 1
            name = f"{self.prefix}{number}"
            try:
                self._live(name)
            except CommandError:
                return

    def _live(self, name: str) -> None:
        (made,) = do(self.broker.bootstrap, DatabaseAction.CREATE, [name], {"vnodes": "2"})
        if made.error_code:
            return
        self.there.add(name)
        if self.chance.random() < 0.6:
            self.there.discard(name)
            (dropped,) = do(self.broker.bootstrap, DatabaseAction.DROP, [name])
            if not dropped.error_code:
                self.gone.add(name)


@pytest.mark.only_kawal("Apache Kafka has no databases")
def test_kill_9_loses_no_database_and_leaves_no_half_of_one(start_broker: StartBroker) -> None:
    broker = start_broker()
    kawal(broker, "databases create", "kept", "--vnodes", "2")
    create_topic(broker, "records", 2, {"kawal.database": "kept"})
    there, gone, sent = {"default", "kept"}, set[str](), 0
    for cycle in range(KILLS):
        producer = make_producer(broker, acks="all")
        owners = [Owner(broker, f"o{cycle}-{number}-") for number in range(2)]
        for owner in owners:
            owner.start()
        sent += len(produce(producer, "records", [b"%d" % (sent + number) for number in range(50)]))
        least = 2 + cycle
        eventually(
            lambda owners=owners, least=least: (
                sum(len(owner.there) + len(owner.gone) for owner in owners) >= least
            ),  # type: ignore[misc]
            waiting_for="some databases",
        )
        broker.kill()
        for owner in owners:
            owner.over = True
            owner.join(60)
            there |= owner.there
            gone |= owner.gone
        broker.restart()
        found = listed(broker)
        assert there <= set(found)
        assert not gone & set(found)
        directories = {path.name for path in Path(broker.directory / "data").glob("db-*")}
        assert directories == {database["directory"] for name, database in found.items() if name != "default"}
        with open_consumer(broker) as consumer:
            values = [message.value() for message in read(consumer, "records", sent)]
        assert values == [b"%d" % number for number in range(sent)]
