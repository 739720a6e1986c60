"""Snapshots cut the catalogue's log short and lose nothing of the catalogue."""

from __future__ import annotations

import errno

import pytest

from broker.catalogue import catalogue_snapshots
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol.messages.metadata import MetadataRequest
from tests.broker.gateway import Gateway
from wal.memory_faults import failing


def create(gateway: Gateway, name: str) -> None:
    topic = CreatableTopic(name=name, num_partitions=1, replication_factor=1, assignments=[], configs=[])
    answer = gateway.client().call(CreateTopicsRequest(topics=[topic]), 7)
    assert answer.topics[0].error_code == 0


def names(gateway: Gateway) -> list[str]:
    return sorted(topic.name for topic in gateway.client().call(MetadataRequest(topics=None), 12).topics)


@pytest.fixture(autouse=True)
def _early_snapshots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue_snapshots, "SNAPSHOT_AFTER_BYTES", 500)


def test_a_snapshot_is_written_and_read_at_the_next_start() -> None:
    gateway = Gateway()
    for number in range(20):
        create(gateway, f"topic-{number:02}")
    assert any("snapshot" in path for path in gateway.disk.files())
    gateway.crash()
    assert names(gateway) == [f"topic-{number:02}" for number in range(20)]


def test_ids_go_on_above_those_of_deleted_topics_after_a_snapshot() -> None:
    gateway = Gateway()
    for number in range(20):
        create(gateway, f"topic-{number:02}")
    next_stream = gateway.broker.catalogue.next_stream
    gateway.restart()
    assert gateway.broker.catalogue.next_stream == next_stream


def test_a_failed_snapshot_leaves_the_log_as_it_is() -> None:
    gateway = Gateway()
    gateway.disk.faults.append(failing("write", errno.EIO, path="snapshot", times=100))
    for number in range(20):
        create(gateway, f"topic-{number:02}")
    gateway.crash()
    assert names(gateway) == [f"topic-{number:02}" for number in range(20)]
