"""kawal.dedup=seqno over partitions and time, and with large batches."""

from __future__ import annotations

from typing import Any

import pytest

from broker.loop.slices import run_here
from broker.storage.inspection import INSPECTED_RECORDS_MAX
from protocol.error_codes import ErrorCode
from protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from protocol.messages.kawal_producers import KawalProducersRequest
from protocol.record_reader import iter_records
from tests.broker.gateway import START_MS, Client, Gateway
from tests.broker.kit import create, outcomes, producing, send
from tests.broker.numbered import dedup_topic, numbered, of_records, sent, stored
from tests.broker.splits import batches, split, split_topic
from tests.broker.topic_requests import altered
from tests.sim.damage import put
from wal.memory_image import KEEP_ALL

AGAIN = ErrorCode.NOT_ENOUGH_REPLICAS
DAY_MS = 86_400_000


# --- several partitions --------------------------------------------------------------------------------


def spread(client: Client, **configs: str) -> None:
    """Create a topic over all vnodes."""
    dedup_topic(client, partitions=8, **configs)


def test_a_number_counts_in_all_partitions_of_the_topic(client: Client) -> None:
    spread(client)
    assert sent(client, 5) == (0, 0)
    for partition in range(1, 8):
        assert sent(client, 5, partition=partition) == (0, -1)
    assert sent(client, 6, partition=3) == (0, 0)
    assert sent(client, 6) == (0, -1)


def test_a_producer_moves_to_another_log_only_when_its_records_are_durable(
    gateway: Gateway, client: Client
) -> None:
    spread(client)
    first = gateway.partition("t", 0).vnode
    elsewhere = next(index for index in range(8) if gateway.partition("t", index).vnode is not first)
    client.send(producing(("t", 0, numbered(5))), 9)
    client.send(producing(("t", elsewhere, numbered(6))), 9)
    gateway.settle()
    one, two = (outcomes(answer)[0] for answer in client.answers())
    assert (one.error_code, two.error_code) == (0, AGAIN)
    assert "its last records, in another partition, are not durable yet" in two.error_message
    assert sent(client, 6, partition=elsewhere) == (0, 0)


def test_a_bound_producer_stays_on_its_partition(gateway: Gateway, client: Client) -> None:
    spread(client, kawal_routing="producer-bind")
    sent(client, 5, partition=6)
    gateway.restart()
    client = gateway.client()
    answer = send(client, "t", of_records([(b"another", 1), (b"sensor", 9)]), 2)
    assert answer.error_code == ErrorCode.POLICY_VIOLATION
    assert "'sensor' is bound to partition 6 of topic 't', and wrote to partition 2" in answer.error_message
    assert answer.record_errors == []
    assert stored(client, 2) == []
    assert sent(client, 6, partition=6) == (0, 1)


def test_binding_needs_names(client: Client) -> None:
    create(client, "t")
    code, message = altered(client, "t", "kawal.routing", "producer-bind")
    assert code == ErrorCode.INVALID_CONFIG
    assert "needs kawal.dedup=seqno" in message


# --- how long, how many --------------------------------------------------------------------------------


def test_a_number_is_forgotten_some_time_after_its_producers_last_record(gateway: Gateway) -> None:
    client = gateway.client()
    dedup_topic(client, kawal_producer_binding_ttl_ms=str(DAY_MS), kawal_routing="producer-bind")
    sent(client, 5)
    gateway.now_ms += DAY_MS
    gateway.tick()
    client = gateway.client()
    assert sent(client, 5) == (0, -1)
    gateway.now_ms += 1
    gateway.tick()
    assert sent(client, 3) == (0, 1)
    gateway.crash()
    client = gateway.client()
    assert [sent(client, seqno) for seqno in (3, 4)] == [(0, -1), (0, 2)]


def test_a_clock_that_jumps_for_a_while_forgets_nothing(gateway: Gateway) -> None:
    client = gateway.client()
    dedup_topic(client)
    sent(client, 5)
    gateway.broker.clock.set(now_ms=gateway.now_ms, wall_ms=gateway.now_ms + 100 * DAY_MS)
    assert sent(client, 5) == (0, -1)


def test_a_partition_remembers_a_limited_number_of_producers(gateway: Gateway) -> None:
    client = gateway.client()
    dedup_topic(
        client, partitions=8, kawal_producer_binding_max="2", kawal_producer_binding_ttl_ms=str(DAY_MS)
    )
    for name in (b"a", b"b"):
        assert sent(client, 1, name=name)[0] == 0
    answer = send(client, "t", numbered(1, name=b"c"))
    assert answer.error_code == ErrorCode.POLICY_VIOLATION
    assert "remembers 2 producers, and 1 more are above kawal.producer.binding.max=2" in answer.error_message
    assert sent(client, 2, name=b"a")[0] == 0
    assert sent(client, 1, name=b"c", partition=1)[0] == 0
    gateway.now_ms += DAY_MS + 1
    gateway.tick()
    client = gateway.client()
    assert sent(client, 1, name=b"d")[0] == 0


def test_a_topic_made_again_under_its_name_begins_anew(gateway: Gateway, client: Client) -> None:
    dedup_topic(client)
    sent(client, 5)
    log = gateway.partition("t").vnode.log
    scope = gateway.partition("t").stream_id
    client.call(DeleteTopicsRequest(topics=[DeleteTopicState(name="t")], timeout_ms=1_000), 6)
    gateway.settle()
    assert list(log.named_producers.all_of(scope)) == []
    dedup_topic(client)
    assert sent(client, 5) == (0, 0)


# --- large batches -------------------------------------------------------------------------------------


def held_back(gateway: Gateway) -> list[Any]:
    """Collect what is given to threads instead of doing it."""
    tasks: list[Any] = []

    def offload(work: Any, done: Any) -> None:
        tasks.append(lambda: run_here(work, done))

    gateway.broker.scheduler.offload = offload
    return tasks


@pytest.mark.parametrize("owned", [False, True])
def test_a_large_batch_is_read_and_rewritten_in_a_thread(
    gateway: Gateway, client: Client, owned: bool
) -> None:
    dedup_topic(client)
    sent(client, 9)
    tasks = held_back(gateway)
    count = INSPECTED_RECORDS_MAX + 5
    targets = [("t", 0, numbered(*range(count)))] * (101 if owned else 1)
    client.send(producing(*targets), 9)
    steps = 0
    while tasks or gateway.broker.scheduler.pending:
        gateway.settle()
        while tasks:
            tasks.pop(0)()
            steps += 1
    gateway.settle()
    (answer,) = client.answers()
    assert [part.base_offset for part in outcomes(answer)] == [1] + [-1] * (len(targets) - 1)
    assert steps == len(targets) + 1 + owned  # each read, one rewritten, and a wide answer encoded
    assert [seqno for _, seqno in stored(client)] == list(range(9, count))


def test_what_another_client_has_written_meanwhile_is_dropped_from_a_large_batch(
    gateway: Gateway, client: Client
) -> None:
    dedup_topic(client)
    sent(client, 9)
    tasks = held_back(gateway)
    count = INSPECTED_RECORDS_MAX + 5
    client.send(producing(("t", 0, numbered(*range(count)))), 9)
    gateway.settle()
    tasks.pop(0)()  # it is read
    gateway.settle()
    assert len(tasks) == 1  # to be rewritten
    assert sent(gateway.client(), 20) == (0, 1)
    while tasks or gateway.broker.scheduler.pending:
        while tasks:
            tasks.pop(0)()
        gateway.settle()
    (answer,) = client.answers()
    assert outcomes(answer)[0].error_code == 0
    assert [seqno for _, seqno in stored(client)] == [9, 20, *range(21, count)]


def test_append_time_is_that_of_the_rest_of_a_batch_too(client: Client) -> None:
    dedup_topic(client, message_timestamp_type="LogAppendTime")
    sent(client, 1, 2)
    answer = send(client, "t", numbered(2, 3))
    assert answer.log_append_time_ms >= START_MS
    assert stored(client) == [(0, 1), (1, 2), (3, 3)]


# --- partitions that split ------------------------------------------------------------------------------


def test_a_bound_source_stays_in_the_family_of_its_partition_and_keeps_its_order_over_splits(
    gateway: Gateway,
) -> None:
    """Whichever partition its client sends to, before and after splits, and after a restart in between."""
    client = gateway.client()
    split_topic(client, partitions=2, kawal_dedup="seqno", kawal_routing="producer-bind")
    names = [b"source-%d" % number for number in range(24)]
    read: dict[bytes, list[tuple[int, int]]] = {name: [] for name in names}

    def write(seqno: int) -> None:
        for number, name in enumerate(names):
            # First to its own partition; later to any.
            chosen = (number if seqno == 0 else number + seqno) % 2
            assert sent(client, seqno, name=name, partition=chosen)[0] == 0
            assert sent(client, seqno, name=name, partition=chosen)[0] == 0, "a repetition"

    roots = {name: number % 2 for number, name in enumerate(names)}
    for seqno in range(12):
        write(seqno)
        if seqno in (2, 5, 8):
            assert split(client, {2: 0, 5: 1, 8: 0}[seqno]) == (0, "")
        if seqno == 6:
            gateway.restart()
            client = gateway.client()
    family = {0: 0, 1: 1, 2: 0, 3: 1, 4: 0}
    for partition, root in family.items():
        for name, seqno in by_source(client, partition):
            assert roots[name] == root, f"{name!r} left its family"
            read[name].append((seqno, partition))
    for name, found in read.items():
        assert [seqno for seqno, _ in sorted(found)] == list(range(12)), name
        partitions = [partition for _, partition in sorted(found)]
        # Parents come before children, and a source never goes back.
        assert partitions == sorted(partitions), name
        assert found == sorted(found), name
    used = {partition for found in read.values() for _, partition in found}
    assert used == set(family), "some sources go to each child"


def by_source(client: Client, partition: int) -> list[tuple[bytes, int]]:
    """Return the source and the number of each record of a partition."""
    return [
        (dict(record.headers)["kawal-producer-id"] or b"", int(record.value or b""))
        for batch in batches(client, partition)
        for record in iter_records(batch)
    ]


def test_while_the_end_of_a_log_is_damaged_no_number_is_taken_for_new_in_another_one() -> None:
    """Bug: after damage to the log of its last record a producer could store it again through another log."""
    gateway = Gateway(kawal_vnodes=2)
    client = gateway.client()
    dedup_topic(client, partitions=2)
    assert sent(client, 5, partition=0) == (0, 0)
    assert sent(client, 9, partition=1) == (0, 0)
    vnode = gateway.partition("t", 1).vnode
    gateway.advance(3_000)
    gateway.crash()
    (path,) = [
        path for path in gateway.disk.files() if f"vnode-{vnode.index}/" in path and path.endswith(".wal")
    ]
    gateway.disk = put(gateway.disk.crash(KEEP_ALL), path, gateway.disk.contents(path).index(b"sensor"), b"?")
    gateway.open_again()
    client = gateway.client()
    assert gateway.partition("t", 1).vnode.log.damage is not None

    assert sent(client, 9, partition=0)[0] == ErrorCode.KAFKA_STORAGE_ERROR

    answer = client.call(KawalProducersRequest(topic="t", names=None), 0)
    assert answer.error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert stored(client, 0) == [(0, 5)]
