"""The copy in an object store, kept by a broker whose threads are simulated."""

from __future__ import annotations

import logging
from random import Random
from typing import Any

import pytest

from broker.config.config import config_of
from broker.snapshot import Snapshot
from broker.start import open_broker
from broker.upkeep import remote_copy
from broker.upkeep.remote_copy import LOG_EVERY_MS, CopyState
from protocol.error_codes import ErrorCode
from tests.broker.databases import create_database, drop_database
from tests.broker.gateway import Gateway
from tests.broker.kit import batch, create, outcomes, producing, send
from tests.broker.upkeep.copies import copy_of
from wal.memory_disk import MemoryDisk
from wal.memory_objects import MemoryObjects, ObjectCall, ObjectFault
from wal.objects import ObjectStore, StoreRefuses
from wal.remote.formats import CUT, open_cut
from wal.remote.journal_format import JournalHeader, encode_journal, journal_key
from wal.remote.restore import RemoteRestore
from wal.remote.uploader import Uploader


class Copied:
    """A broker, the store, and the copy that is kept there."""

    def __init__(self, **settings: Any) -> None:
        self.gateway = Gateway(kawal_vnodes=2, kawal_segment_bytes=1 << 16, **settings)
        self.objects = MemoryObjects()
        self.probes = 0
        self.problem: Exception | None = None
        self.copy = copy_of(self.gateway, self.objects, self._probe)

    def _probe(self) -> None:
        self.probes += 1
        if self.problem is not None:
            raise self.problem

    def is_in(self, state: CopyState) -> bool:
        """Return whether the copy is in this state."""
        return self.copy.counts.state is state

    def restored(self) -> dict[str, list[int]]:
        """Return the high watermarks of a broker that starts on a restore, by topic."""
        disk, store = MemoryDisk(), self.objects
        cluster = self.gateway.broker.cluster_id
        for _ in RemoteRestore(store, disk, cluster_id=cluster, data="/data").run():
            pass
        broker = open_broker(
            disk, config_of({"log.dirs": "/data"}), random=Random(2), now_ms=self.gateway.now_ms, wall_ms=0
        )
        return {
            topic.name: [
                broker.topics.partition(topic, index).high_watermark for index in range(topic.partition_count)
            ]
            for topic in broker.catalogue.by_name.values()
            if topic.recorded
        }


def test_topics_and_records_come_back_from_the_store_alone() -> None:
    copied = Copied()
    client = copied.gateway.client()
    create(client, "t", partitions=2)
    send(client, "t", batch(b"one"))
    copied.gateway.advance(6_000)
    assert copied.is_in(CopyState.COPYING)
    assert copied.restored()["t"] == [1, 0]


def test_the_first_round_waits_until_the_start_is_over() -> None:
    copied = Copied()
    copied.gateway.advance(900)
    assert not copied.objects.calls
    copied.gateway.advance(200)
    assert copied.is_in(CopyState.COPYING)


def test_the_store_is_tried_before_anything_is_trusted_to_it() -> None:
    copied = Copied()
    copied.problem = StoreRefuses("s3://b: not atomic")
    copied.gateway.advance(10_000)
    assert copied.probes > 1
    assert not copied.objects.objects
    assert copied.is_in(CopyState.AWAY)
    copied.problem = None
    copied.gateway.advance(120_000)
    assert copied.is_in(CopyState.COPYING)
    probes = copied.probes
    copied.gateway.advance(60_000)
    assert copied.probes == probes


def test_after_10_000_answers_of_503_the_copy_goes_on_and_the_log_was_told_now_and_then(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_copy, "RETRY_MS", 5)
    monkeypatch.setattr(remote_copy, "RETRY_MAX_MS", 5)
    copied = Copied()
    client = copied.gateway.client()
    create(client, "t", partitions=1)
    failures = 10_000

    def hook(_call: ObjectCall) -> ObjectFault | None:
        nonlocal failures
        failures -= 1
        return ObjectFault.AWAY if failures >= 0 else None

    copied.objects.hook = hook
    began_ms = copied.gateway.now_ms
    with caplog.at_level(logging.WARNING, "kawal.remote"):
        send(client, "t", batch(b"acknowledged meanwhile"))
        while failures > 0:
            copied.gateway.advance(10_000)
        copied.gateway.advance(10_000)
    assert copied.is_in(CopyState.COPYING)
    assert copied.restored()["t"] == [1]
    minutes = (copied.gateway.now_ms - began_ms) // LOG_EVERY_MS
    assert 1 <= len(caplog.records) <= minutes + 1


def test_a_process_that_was_fenced_stops_and_says_so() -> None:
    copied = Copied()
    create(copied.gateway.client(), "t", partitions=1)
    copied.gateway.advance(6_000)
    broker = copied.gateway.broker
    other = Uploader(
        copied.objects, copied.gateway.disk, path=broker.store.path, identity=broker.store.identity,
        incarnation="b", delete_delay_ms=1_000,
    )  # fmt: skip
    other.take_over({}, 0)
    send(copied.gateway.client(), "t", batch(b"one"))
    copied.gateway.advance(6_000)
    assert copied.is_in(CopyState.STOPPED)
    assert "another process" in copied.copy.counts.problem
    calls = len(copied.objects.calls)
    copied.gateway.advance(600_000)
    assert len(copied.objects.calls) == calls
    assert copied.copy.numbers(0)["stopped"] == 1


def test_the_numbers_of_a_journal_come_with_durability_remote() -> None:
    assert not [name for name in Copied().copy.numbers(0) if name.startswith("journal_")]
    copied = Copied(kawal_durability="remote", kawal_remote_store="s3://lake/logs")
    copied.gateway.advance(1_000)
    create(copied.gateway.client(), "t", partitions=1)
    send(copied.gateway.client(), "t", batch(b"one"))
    numbers = copied.copy.numbers(0)
    assert (numbers["journal_open"], numbers["journal_waiting"], numbers["journal_fenced"]) == (1, 0, 0)
    assert numbers["journal_puts"] >= 1
    assert numbers["journal_stored_bytes"] > len(b"one")
    assert (numbers["journal_in_flight"], numbers["journal_waiting_bytes"]) == (0, 0)


def test_a_server_whose_journal_was_ended_by_another_one_refuses_what_waits_and_all_that_comes() -> None:
    """A chunk that met a FENCE stopped the journal and not its logs: clients waited without an answer."""
    copied = Copied(kawal_durability="remote", kawal_remote_store="s3://lake/logs")
    copied.gateway.advance(1_000)
    create(copied.gateway.client(), "t", partitions=1)
    prefix, number = copied.gateway.broker.cluster_id, copied.copy.journal.chunk
    epoch = open_cut(copied.objects.read(f"{prefix}/{CUT}").data, CUT).epoch
    assert number is not None
    header = JournalHeader(epoch=epoch, number=number, incarnation="b", fenced_by=epoch + 1)
    copied.objects.create(journal_key(prefix, epoch, number), encode_journal(header))
    for _ in range(2):
        answer = send(copied.gateway.client(), "t", batch(b"one"))
        assert answer.error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert copied.copy.numbers(0)["journal_fenced"] == 1


def test_a_backlog_is_copied_within_the_rate() -> None:
    copied = Copied(remote_log_manager_copy_max_bytes_per_second=100_000)
    client = copied.gateway.client()
    create(client, "t", partitions=1)
    for _ in range(40):
        send(client, "t", batch(b"x" * 20_000))
    copied.gateway.advance(4_000)
    assert 0 < copied.copy.counts.uploaded_bytes < 700_000
    assert copied.copy.counts.segments_missing > 0
    copied.gateway.advance(60_000)
    assert copied.copy.counts.segments_missing == 0
    assert copied.restored()["t"] == [40]


def test_an_idle_broker_asks_the_store_for_nothing() -> None:
    copied = Copied()
    copied.gateway.advance(20_000)
    calls = len(copied.objects.calls)
    copied.gateway.advance(600_000)
    assert len(copied.objects.calls) == calls


def test_a_new_database_is_copied_and_a_dropped_one_leaves_the_copy() -> None:
    copied = Copied()
    client = copied.gateway.client()
    create_database(client, "metrics")
    copied.gateway.advance(6_000)
    cut = copied.copy._uploader.cut
    assert cut is not None
    assert len(cut.logs) > 3
    drop_database(client, "metrics")
    copied.gateway.advance(12_000)
    assert copied.copy._uploader.cut is not None
    assert len(copied.copy._uploader.cut.logs) == 3


def test_an_error_of_our_own_costs_a_round() -> None:
    copied = Copied()
    copied.gateway.broker.internal_errors.listener = None
    copied.problem = KeyError("ours")
    copied.gateway.advance(2_000)
    assert copied.is_in(CopyState.AWAY)
    copied.problem = None
    copied.gateway.advance(20_000)
    assert copied.is_in(CopyState.COPYING)


def test_metrics_tell_how_far_the_copy_trails() -> None:
    copied = Copied()
    assert Snapshot.take(copied.gateway.broker).remote["lag_ms"] == -1
    copied.gateway.advance(1_500)
    numbers = Snapshot.take(copied.gateway.broker).remote
    assert 0 <= numbers["lag_ms"] <= 1_500
    assert numbers["rounds"] == 1


def test_a_broker_without_a_store_has_no_numbers_of_it() -> None:
    assert Snapshot.take(Gateway().broker).remote == {}


def test_the_memory_store_is_a_store() -> None:
    store: ObjectStore = MemoryObjects()
    assert store.name == "memory"


def test_what_acknowledgements_wait_for_before_the_first_copy_is_whole_is_told_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(remote_copy, "ROUND_BYTES", 1)
    gateway = Gateway(
        kawal_vnodes=1,
        kawal_segment_bytes=1 << 16,
        kawal_durability="remote",
        kawal_remote_store="s3://bucket/p",
    )
    client = gateway.client()
    create(client, "t", partitions=1)
    for _ in range(20):
        send(client, "t", batch(b"x" * 30_000))
    copy_of(gateway, MemoryObjects())

    client.send(producing(("t", 0, batch(b"y"))), 9)
    gateway.settle()
    assert client.answers() == []
    gateway.advance(30_000)

    (answer,) = client.answers()
    assert outcomes(answer)[0].error_code == 0
    told = [line for line in caplog.messages if "acknowledgements of durability 'remote' wait" in line]
    assert len(told) == 1
