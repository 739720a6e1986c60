"""Fetch: the records that it returns, its limits and its order."""

from __future__ import annotations

from uuid import UUID

import pytest

from protocol.error_codes import ErrorCode
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from protocol.records import iter_batches, read_batch_header
from tests.broker.gateway import Client, Gateway
from tests.broker.kit import batch, create, fetch, fetched, fetching, producing, read, send, values

TOPICS = {"t": 3}


@pytest.mark.parametrize("version", range(4, 18))
def test_every_version_gives_the_records(client: Client, version: int) -> None:
    topic_id = create(client, "v")
    send(client, "v", batch(b"a", b"b"))
    topic = "v" if version < 13 else topic_id
    data = fetched(client.call(fetching({(topic, 0): 0}), version))[topic, 0]
    assert (data.error_code, data.high_watermark, data.last_stable_offset) == (0, 2, 2)
    assert data.log_start_offset == (0 if version >= 5 else -1)
    assert (data.preferred_read_replica, values(data.records)) == (-1, [b"a", b"b"])


def test_the_batch_that_holds_the_offset_comes_whole(client: Client) -> None:
    send(client, "t", batch(b"a", b"b", b"c"))
    send(client, "t", batch(b"d"))
    assert read(client, "t", offset=2) == [b"a", b"b", b"c", b"d"]
    assert read(client, "t", offset=3) == [b"d"]
    assert read(client, "t", offset=4) == []


@pytest.mark.parametrize("offset", [-1, 5, 2**62])
def test_offsets_outside_the_log_tell_nothing_of_it(client: Client, offset: int) -> None:
    send(client, "t", batch(b"a", b"b", b"c", b"d"))
    data = fetch(client, "t", offset)
    assert data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert (data.high_watermark, data.last_stable_offset, data.log_start_offset) == (-1, -1, -1)


def test_the_first_batch_comes_even_when_it_is_larger_than_every_limit(client: Client) -> None:
    for index in range(3):
        send(client, "t", batch(bytes(1_000)), index)
        send(client, "t", batch(bytes(1_000)), index)
    request = fetching({("t", index): 0 for index in range(3)}, max_bytes=1, partition_max_bytes=1)
    parts = fetched(client.call(request, 12))
    sizes = [len(list(iter_batches(parts["t", index].records))) for index in range(3)]
    assert sizes == [1, 0, 0]


def test_each_partition_keeps_to_its_own_limit(client: Client) -> None:
    for index in range(2):
        for _ in range(5):
            send(client, "t", batch(bytes(1_000)), index)
    size = len(batch(bytes(1_000)))
    request = fetching({("t", 0): 0, ("t", 1): 0}, partition_max_bytes=2 * size + 10)
    parts = fetched(client.call(request, 12))
    assert [len(parts["t", index].records) for index in range(2)] == [2 * size, 2 * size]


def test_the_whole_answer_keeps_to_its_limit(client: Client) -> None:
    size = len(batch(bytes(1_000)))
    for index in range(3):
        for _ in range(5):
            send(client, "t", batch(bytes(1_000)), index)
    request = fetching({("t", index): 0 for index in range(3)}, max_bytes=7 * size)
    parts = fetched(client.call(request, 12))
    assert [len(parts["t", index].records) for index in range(3)] == [5 * size, 2 * size, 0]


def test_the_servers_own_limit_holds_too() -> None:
    gateway = Gateway(fetch_max_bytes=3_000)
    client = gateway.client()
    create(client, "t")
    for _ in range(5):
        send(client, "t", batch(bytes(1_000)))
    assert len(fetch(client, "t").records) == 2 * len(batch(bytes(1_000)))


def test_partitions_are_answered_in_the_order_of_the_request(client: Client) -> None:
    send(client, "t", batch(b"a"))
    answer = client.call(fetching({("t", 2): 0, ("t", 0): 0, ("t", 1): 0}), 12)
    assert list(fetched(answer)) == [("t", 2), ("t", 0), ("t", 1)]


def test_of_a_partition_named_twice_the_last_one_counts(client: Client) -> None:
    send(client, "t", batch(b"a"))
    send(client, "t", batch(b"b"))
    partitions = [
        FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20) for offset in (0, 1)
    ]
    request = FetchRequest(max_wait_ms=0, min_bytes=0, topics=[FetchTopic(topic="t", partitions=partitions)])
    parts = client.call(request, 12).responses[0].partitions
    assert [values(part.records) for part in parts] == [[b"b"]]


def test_unknown_names_ids_and_partitions_have_their_codes(client: Client) -> None:
    topic_id = create(client, "known")
    by_name = fetched(client.call(fetching({("none", 0): 0, ("t", 3): 0, ("t", -1): 0}), 12))
    assert {data.error_code for data in by_name.values()} == {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    by_id = fetched(client.call(fetching({(UUID(int=5), 0): 0, (topic_id, 1): 0}), 13))
    assert by_id[UUID(int=5), 0].error_code == ErrorCode.UNKNOWN_TOPIC_ID
    assert by_id[topic_id, 1].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize(("epoch", "code"), [(-1, 0), (0, 0), (1, ErrorCode.UNKNOWN_LEADER_EPOCH)])
def test_the_leader_epoch_is_checked(client: Client, epoch: int, code: int) -> None:
    send(client, "t", batch(b"a"))
    data = fetched(client.call(fetching({("t", 0): 0}, leader_epoch=epoch), 12))["t", 0]
    assert data.error_code == code


def test_reading_committed_names_no_aborted_transaction(client: Client) -> None:
    send(client, "t", batch(b"a"))
    committed = fetched(client.call(fetching({("t", 0): 0}, isolation_level=1), 12))["t", 0]
    uncommitted = fetched(client.call(fetching({("t", 0): 0}, isolation_level=0), 12))["t", 0]
    assert (committed.aborted_transactions, uncommitted.aborted_transactions) == ([], None)
    assert values(committed.records) == [b"a"]


def test_only_what_is_durable_can_be_read(gateway: Gateway, client: Client) -> None:
    producer, reader = gateway.client(), gateway.client()
    producer.send(producing(("t", 0, batch(b"a"))), 9)
    reader.send(fetching({("t", 0): 0}), 12)
    (answer,) = reader.answers()
    data = fetched(answer)["t", 0]
    assert (data.high_watermark, values(data.records)) == (0, [])
    gateway.settle()
    assert read(reader, "t") == [b"a"]


def test_what_was_sent_in_many_frames_reads_as_one_stream(gateway: Gateway, client: Client) -> None:
    expected = []
    for number in range(30):
        value = b"%d " % number * 50
        send(client, "t", batch(value), number % 3)
        if number % 3 == 0:
            expected.append(value)
    assert read(client, "t") == expected
    gateway.restart()
    assert read(gateway.client(), "t") == expected


def test_a_large_read_from_a_cold_file_gives_the_same_bytes() -> None:
    gateway = Gateway(kawal_tail_cache_bytes=0, kawal_segment_bytes=200_000)
    client = gateway.client()
    create(client, "t")
    sent = [bytes([number]) * 40_000 for number in range(20)]
    for value in sent:
        send(client, "t", batch(value))
    gateway.crash()
    client, found, offset = gateway.client(), [], 0
    while offset < len(sent):
        data = fetch(client, "t", offset)
        found += values(data.records)
        offset = len(found)
    assert found == sent


def test_a_fetch_without_partitions_is_answered_at_once(client: Client) -> None:
    client.send(fetching({}, max_wait_ms=30_000), 12)
    (answer,) = client.answers()
    assert (answer.error_code, answer.responses) == (0, [])


def test_stored_batches_bear_epoch_0(client: Client) -> None:
    send(client, "t", batch(b"a"))
    (stored,) = iter_batches(fetch(client, "t").records)
    assert read_batch_header(stored).leader_epoch == 0


def test_a_fetch_below_the_log_start_gets_the_first_records_where_that_is_wanted() -> None:
    gateway = Gateway(kawal_out_of_range="first")
    client = gateway.client()
    create(client, "t")
    for value in (b"a", b"b", b"c"):
        send(client, "t", batch(value))
    partition = gateway.partition("t")
    partition.vnode.log.set_log_start(partition.stream_id, 2)
    gateway.settle()
    assert read(client, "t", 0) == [b"c"]
    for offset in (-1, 4):
        assert fetch(client, "t", offset).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
