"""The topics of a copy: names, configurations, batches."""

from __future__ import annotations

import pytest

from console.errors import CommandError
from console.restoring.topic_copies import BATCH_RECORDS, TopicCopies, own_configs
from protocol.record_reader import Record
from protocol.records import iter_batches, read_batch_header
from tests.broker.databases import create_database
from tests.broker.gateway import START_MS, Gateway
from tests.broker.kit import fetch
from tests.console.restoring.servers import THERE, sessions, two_servers


@pytest.fixture
def there(monkeypatch: pytest.MonkeyPatch) -> Gateway:
    gateway = two_servers(monkeypatch)[THERE]
    create_database(gateway.client(), "d", vnodes="1")
    return gateway


def copies() -> TopicCopies:
    return TopicCopies(sessions()[1], "d", prefix="p.", origin=b"o")


def test_configurations_become_those_that_are_told_and_no_others(there: Gateway) -> None:
    made = copies()
    configs = {
        "kawal.database": "other",
        "retention.ms": "5",
        "kawal.columns": "v int",
        "kawal.quarantine": "q",
    }
    made.make("t", 1, configs)
    there_now = own_configs(sessions()[1], "p.t")
    assert there_now == {**configs, "kawal.database": "d", "kawal.quarantine": "p.q"}
    made.alter("t", {"retention.ms": "6", "kawal.columns": "v int", "kawal.quarantine": "q"})
    assert own_configs(sessions()[1], "p.t")["retention.ms"] == "6"
    made.alter("t", {"kawal.columns": "v int", "kawal.quarantine": "q"})
    assert "retention.ms" not in own_configs(sessions()[1], "p.t")
    made.grow("t", 3)
    made.grow("t", 2)
    assert there.broker.find_topic("p.t").partition_count == 3


def test_records_are_written_in_bounded_batches(there: Gateway) -> None:
    made = copies()
    made.make("t", 1, {})
    for number in range(BATCH_RECORDS + 2):
        made.add("t", 0, Record(0, START_MS, None, b"%d" % number), number)
    made.add("t", 0, Record(0, START_MS, None, bytes(300_000)), 5_000)
    made.flush()
    made.flush()
    client = there.client()
    counts = [read_batch_header(found).record_count for found in iter_batches(fetch(client, "p.t").records)]
    assert counts == [BATCH_RECORDS, 2, 1]
    made.delete_before("t", 0, 4_000)
    assert fetch(client, "p.t", BATCH_RECORDS + 2).log_start_offset == BATCH_RECORDS + 2


def test_a_refused_batch_and_a_name_that_is_taken_are_reported(there: Gateway) -> None:
    made = copies()
    made.make("t", 1, {"kawal.read.only": "true"})
    with pytest.raises(CommandError, match=r"'p.t': .*exists"):
        made.make("t", 1, {})
    made.add("t", 0, Record(0, START_MS, None, b"1"), 0)
    with pytest.raises(CommandError, match=r"p\.t-0: .*drop it and begin again"):
        made.flush()


def test_a_dropped_topic_takes_its_unwritten_records_along(there: Gateway) -> None:
    made = copies()
    made.make("t", 1, {})
    made.add("t", 0, Record(0, START_MS, None, b"1"), 0)
    made.drop("t")
    made.flush()
    assert there.broker.catalogue.find("p.t") is None
    assert (made.offsets, made.partitions) == ({}, {})
