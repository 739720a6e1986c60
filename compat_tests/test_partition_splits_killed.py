"""A server that is killed before each disk call that makes partitions: what was answered stays, in its order.

The process kills itself: a module that Python imports at its start counts the calls, once a file arms it.
"""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError, TopicPartition

from compat_tests.broker import Broker
from compat_tests.confluent import make_producer, open_consumer
from compat_tests.conftest import StartBroker
from compat_tests.test_partition_splits import KEYS, SPLITTING
from compat_tests.topics import create_topic
from compat_tests.waiting import eventually
from compat_tests.wire import RawClient
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from protocol.messages.kawal_topics import KawalTopicsRequest, TopicAction, TopicItem

pytestmark = [
    pytest.mark.only_kawal(reason="partitions of Apache Kafka do not split"),
    pytest.mark.timeout(300),
]

COUNTING = """
import os, signal

_arm = os.environ.get("KAWAL_TEST_ARM", "")
_left = None


def _counted(call):
    def counted(*arguments, **keywords):
        global _left
        if not os.path.exists(_arm):
            _left = None
        elif _left is None:
            with open(_arm) as file:
                _left = int(file.read() or 0)
        if _left:
            _left -= 1
            if not _left:
                os.kill(os.getpid(), signal.SIGKILL)
        return call(*arguments, **keywords)

    return counted


for _name in ("pwritev", "fdatasync", "fsync", "rename", "posix_fallocate"):
    setattr(os, _name, _counted(getattr(os, _name)))
"""
"""The module: while the file is there, with n in it, the process ends before its n-th call."""

STEP = 20
CALLS_MAX = 40
KILLS_MIN = 4
"""A split takes at least a write and a sync of the catalogue, and so do the first records after it."""


def produce(producer: Any, topic: str, numbers: range) -> None:
    for number in numbers:
        for key in KEYS:
            producer.produce(topic, struct.pack(">q", number), key)


def split_or_die(broker: Broker, topic: str) -> bool:
    """Ask for a split; return whether it was answered."""
    request = KawalTopicsRequest(action=TopicAction.SPLIT, topics=[TopicItem(name=topic, partition=0)])
    with suppress(OSError, EOFError, AssertionError):
        client = RawClient(broker)
        client.send(request, 0)
        (answer,) = client.receive().topics
        return not answer.error_code
    return False


def begin_or_die(broker: Broker, topic: str) -> bool:
    """Have the server choose partitions; return whether it was answered."""
    line = AlterableConfig(name="kawal.partition.autosplit.mode", config_operation=0, value="paused")
    resource = AlterConfigsResource(resource_type=2, resource_name=topic, configs=[line])
    with suppress(OSError, EOFError, AssertionError):
        client = RawClient(broker)
        client.send(IncrementalAlterConfigsRequest(resources=[resource], validate_only=False), 1)
        (answer,) = client.receive().responses
        return not answer.error_code
    return False


Ask = Callable[[Broker, str], bool]


def read_in_order(broker: Broker, topic: str) -> dict[bytes, list[int]]:
    """Return the numbers of each key: those of the first partitions, and then those of what came after."""
    found: dict[bytes, list[int]] = {key: [] for key in KEYS}
    partitions = partitions_of(broker, topic)
    with open_consumer(broker, enable_partition_eof="true") as consumer:
        for partition in partitions:
            consumer.assign([TopicPartition(topic, partition, 0)])
            while True:
                message = consumer.poll(60)
                assert message is not None, f"partition {partition} is not read to its end"
                if message.error():
                    assert message.error().code() == KafkaError._PARTITION_EOF
                    break
                found[message.key()].append(struct.unpack(">q", message.value())[0])
    return found


def partitions_of(broker: Broker, topic: str) -> list[int]:
    """Return the partitions of a topic, in order."""
    with open_consumer(broker) as consumer:
        return sorted(consumer.list_topics(topic, 30).topics[topic].partitions)


@pytest.mark.parametrize(
    ("ask", "partitions"), [(split_or_die, 1), (begin_or_die, 2)], ids=["split", "barrier over two logs"]
)
def test_new_partitions_are_all_there_or_none_before_whichever_disk_call_the_server_is_killed(
    start_broker: StartBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ask: Ask, partitions: int
) -> None:
    settings = {name.replace("_", "."): value for name, value in SPLITTING.items()}
    if ask is begin_or_die:
        del settings["kawal.partition.autosplit.mode"]
    module, arm = tmp_path / "counting", tmp_path / "arm"
    module.mkdir()
    (module / "sitecustomize.py").write_text(COUNTING)
    monkeypatch.setenv("PYTHONPATH", str(module))
    monkeypatch.setenv("KAWAL_TEST_ARM", str(arm))
    broker = start_broker()
    kills = whole = 0
    for calls in range(1, CALLS_MAX):
        topic = f"killed-{calls}"
        create_topic(broker, topic, partitions, settings)
        producer = make_producer(broker, enable_idempotence="true", reconnect_backoff_max_ms=200)
        produce(producer, topic, range(STEP))
        assert producer.flush(60) == 0
        (tmp_path / "made").write_text(str(calls))
        (tmp_path / "made").rename(arm)
        answered = ask(broker, topic)
        # The retry of what is on its way straddles the kill, and the split.
        produce(producer, topic, range(STEP, 2 * STEP))
        flushing = threading.Thread(target=producer.flush, args=(60,))
        flushing.start()
        _wait_until_it_dies_or_stores(broker, flushing)
        arm.unlink()
        died = broker.process.exit_code is not None
        if died:
            kills += 1
            broker.restart()
        flushing.join(90)
        produce(producer, topic, range(2 * STEP, 3 * STEP))
        assert producer.flush(60) == 0
        count = len(partitions_of(broker, topic))
        assert count in (partitions, 2 * partitions)
        is_split = count > partitions
        assert is_split or not answered, "a split that was answered is gone"
        whole += is_split
        assert read_in_order(broker, topic) == {key: list(range(3 * STEP)) for key in KEYS}, calls
        if not died:
            break
    assert not died, "some call is still left"
    assert kills >= KILLS_MIN
    assert whole > 0, "no split came through"


def _wait_until_it_dies_or_stores(broker: Broker, flushing: threading.Thread) -> None:
    eventually(
        lambda: broker.process.exit_code is not None or not flushing.is_alive(),
        waiting_for="the end of the process, or of what is produced",
    )
