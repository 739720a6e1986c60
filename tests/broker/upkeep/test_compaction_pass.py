"""A pass step by step: in chunks, with the loop free in between, and without a trace if it fails."""

from __future__ import annotations

import errno
from collections.abc import Callable
from random import Random

import pytest

from broker.storage.partition import Partition
from broker.upkeep import compaction_pass
from broker.upkeep.compaction_pass import CompactionPass, Result
from broker.upkeep.compaction_policy import DirtyPart
from tests.broker.compacted import batches, fill, keyed, made, pairs_of, pass_time, put
from tests.broker.gateway import Gateway
from tests.broker.kit import send
from wal.memory_faults import failing

Work = tuple[Callable[[], object], Callable[[Exception | None], None]]


def filled(gateway: Gateway, batches: int = 40, keys: int = 5) -> Partition:
    client = gateway.client()
    made(client)
    for number in range(batches):
        put(client, "t", [(b"k%d" % (number % keys), b"%d" % number)])
    fill(client, "t")
    pairs_of(client, "t")  # the first fetch has its handler imported, by a thread that tests take away
    return gateway.partition("t")


def run(gateway: Gateway, partition: Partition, dirty: DirtyPart | None = None) -> list[Result]:
    """Begin a pass, and return a list that gets its result as time passes."""
    results: list[Result] = []
    settings = gateway.broker.topics.settings(partition.topic)
    end = partition.high_watermark - 1
    CompactionPass(
        gateway.broker,
        gateway.broker,
        partition,
        settings=settings,
        dirty=dirty or DirtyPart(0, end, 0, 1, overdue=False),
        ended=lambda _partition, result, _now_ms: results.append(result),
    ).begin(gateway.now_ms)
    return results


def test_a_pass_tells_what_it_did() -> None:
    gateway = Gateway(log_cleaner_enable=False)
    partition = filled(gateway)
    results = run(gateway, partition)
    pass_time(gateway, 1_000)

    (result,) = results
    assert (result.problem, result.clean_end, result.records_read, result.records_kept) == ("", 41, 41, 6)
    assert 0 < result.kept_bytes < result.read_bytes
    assert partition.vnode.log.clean_end(partition.stream_id) == 41


def test_a_pass_goes_chunk_by_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction_pass, "CHUNK_BYTES", 300)
    monkeypatch.setattr(compaction_pass, "COPIES_PER_TURN", 1)
    gateway = Gateway(log_cleaner_enable=False)
    partition = filled(gateway, keys=30)
    chunks: list[Work] = []
    gateway.broker.scheduler.offload = lambda work, done: chunks.append((work, done))
    results = run(gateway, partition)
    count = 0
    while not results:
        assert len(chunks) <= 1
        if chunks:
            work, done = chunks.pop()
            work()
            done(None)
            count += 1
        pass_time(gateway, 50)

    assert count > 20
    assert results[0].problem == ""
    assert [offset for offset, _, _ in pairs_of(gateway.client(), "t")] == list(range(10, 40))
    stored = sum(header.size_bytes for header, _ in batches(gateway.client(), "t"))
    assert partition.size_bytes == stored, "what was replaced is not counted any more"


def test_a_pass_keeps_to_the_pace_it_is_given() -> None:
    gateway = Gateway(log_cleaner_enable=False, log_cleaner_io_max_bytes_per_second=1_000.0)
    partition = filled(gateway)
    results = run(gateway, partition)
    pass_time(gateway, 2_000)
    assert not results
    pass_time(gateway, 20_000)
    assert results[0].problem == ""


def test_what_is_written_during_a_pass_is_kept() -> None:
    gateway = Gateway(log_cleaner_enable=False)
    partition = filled(gateway)
    chunks: list[Work] = []
    gateway.broker.scheduler.offload = lambda work, done: chunks.append((work, done))
    results = run(gateway, partition)
    client = gateway.client()
    while not results:
        if chunks:
            work, done = chunks.pop()
            work()
            put(client, "t", [(b"k0", b"meanwhile")])
            done(None)
        pass_time(gateway, 10)

    found = pairs_of(client, "t")
    assert found[:5] == [(offset, b"k%d" % (offset % 5), b"%d" % offset) for offset in range(35, 40)]
    assert {value for _, _, value in found[5:]} == {b"meanwhile"}


def test_a_pass_that_is_no_longer_wanted_ends() -> None:
    gateway = Gateway(log_cleaner_enable=False)
    partition = filled(gateway)
    chunks: list[Work] = []
    gateway.broker.scheduler.offload = lambda work, done: chunks.append((work, done))
    results = run(gateway, partition)
    gateway.broker.topics.change_configs(partition.topic, {"cleanup.policy": "delete"}, gateway.now_ms)
    work, done = chunks.pop()
    work()
    done(None)
    pass_time(gateway, 1_000)

    assert results[0].problem == "no longer wanted"
    assert len(pairs_of(gateway.client(), "t")) == 40
    assert partition.vnode.log.begin_copies() is not None


def test_a_second_pass_on_a_log_waits_its_turn() -> None:
    gateway = Gateway(log_cleaner_enable=False)
    partition = filled(gateway)
    assert partition.vnode.log.begin_copies() is not None
    (result,) = run(gateway, partition)
    assert "takes no copies now" in result.problem


@pytest.mark.parametrize("kind", ["write", "sync", "read"])
@pytest.mark.parametrize("nth", [1, 2, 3])
def test_whatever_fails_leaves_the_partition_as_it_was_or_compacted(kind: str, nth: int) -> None:
    gateway = Gateway(log_cleaner_enable=False, kawal_tail_cache_bytes=0)
    partition = filled(gateway)
    before = pairs_of(gateway.client(), "t")
    results = run_with_fault(gateway, partition, kind, nth)
    pass_time(gateway, 5_000)

    found = pairs_of(gateway.client(), "t")
    assert len(results) == 1
    assert found == (before if results[0].problem else before[-5:])
    gateway.crash()
    again = pairs_of(gateway.client(), "t")
    assert again in ([before] if results[0].problem else [before[-5:]])


def run_with_fault(gateway: Gateway, partition: Partition, kind: str, nth: int) -> list[Result]:
    gateway.disk.faults.append(failing(kind, errno.EIO, nth=nth))
    results = run(gateway, partition)
    pass_time(gateway, 2_000)
    gateway.disk.faults.clear()
    return results


def test_a_crash_at_any_moment_of_passes_loses_no_last_record() -> None:
    for seed in range(10):
        chance = Random(seed)
        gateway = Gateway()
        client = gateway.client()
        made(client)
        last: dict[bytes, tuple[int, bytes | None]] = {}
        for number in range(120):
            key = b"k%d" % chance.randrange(7)
            value = b"%d" % number * chance.randint(1, 40)
            answer = send(client, "t", keyed([(key, value)]))
            last[key] = answer.base_offset, value
            if chance.random() < 0.2:
                pass_time(gateway, chance.choice((1, 5, 14_990, 15_000, 15_003)))
            if chance.random() < 0.05:
                gateway.crash()
                client = gateway.client()
        found = pairs_of(client, "t")
        expected = {(offset, key, value) for key, (offset, value) in last.items()}
        assert expected <= set(found), f"seed {seed}"
