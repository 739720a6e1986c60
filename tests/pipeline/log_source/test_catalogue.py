"""Partitions are found where the gateway keeps them."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.errors import SourceError
from pipeline.log_source.catalogue import check_directory, homes_of
from tests.broker.kit import batch, create, send
from tests.console.test_wal_orphans import DiskGateway
from wal.disk import OsDisk


@pytest.fixture
def data(tmp_path: Path) -> Path:
    gateway = DiskGateway(tmp_path)
    for name, partitions in (("first", 1), ("t", 3)):
        create(gateway.client(), name, partitions)
    send(gateway.client(), "t", batch(b"a"), 1)
    gateway.stop()
    return tmp_path


def test_each_partition_has_its_log_and_stream(data: Path) -> None:
    gateway = DiskGateway(data)
    partitions = [gateway.partition("t", index) for index in range(3)]
    expected = [(index, partition.stream_id) for index, partition in enumerate(partitions)]
    topic_id = gateway.broker.find_topic("t").topic_id
    directories = [partition.vnode.log.storage[0].directory for partition in partitions]
    gateway.stop()
    homes = homes_of(OsDisk(), str(data), ["t"])["t"]
    assert [(home.partition, home.stream_id) for home in homes] == expected
    assert [home.directory for home in homes] == directories
    assert {home.topic_id for home in homes} == {str(topic_id)}
    assert [home.directory.endswith(f"vnode-{home.vnode_id}") for home in homes] == [True] * 3


def test_a_directory_that_is_none_and_a_topic_that_is_not_there_are_named(data: Path, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"no kawal\.json"):
        check_directory(OsDisk(), str(tmp_path / "default"))
    with pytest.raises(SourceError, match="no topic 'missing'"):
        homes_of(OsDisk(), str(data), ["t", "missing"])


def test_a_directory_of_another_format_is_refused(data: Path) -> None:
    marker = data / "kawal.json"
    marker.write_text(
        marker.read_text().replace('"format": 4', '"format": 3').replace('"format":4', '"format":3')
    )
    with pytest.raises(SourceError, match="has data format 3"):
        check_directory(OsDisk(), str(data))
