"""`kawal.message.id.header`: records come with their ids, and are else as they were stored."""

from __future__ import annotations

import errno
from collections.abc import Generator
from random import Random
from typing import Any

import pytest

from broker.errors import RequestError
from broker.loop.internal_errors import ErrorPlace
from broker.loop.slices import all_here, run_here
from broker.storage import message_id_headers
from protocol.compression import Codec
from protocol.error_codes import ErrorCode
from protocol.messages.create_topics import CreateTopicsRequest
from protocol.messages.init_producer_id import InitProducerIdRequest
from protocol.record_reader import Record
from protocol.record_writer import encode_batch
from protocol.records import check_crc, iter_batches, read_batch_header, renew_crc
from tests.broker.compacted import SMALL, fill, pass_time, put
from tests.broker.gateway import START_MS, Client, Gateway
from tests.broker.group_reads import configure as configure_reads
from tests.broker.group_reads import member as group_member
from tests.broker.identified import id_of, identified
from tests.broker.kit import batch, create, creation, fetch, fetched, fetching, records_of, send
from tests.broker.shares import Member, configure
from tests.broker.topic_changes import alter
from tests.broker.topic_requests import deleted
from tests.broker.txn import Producer
from wal import ledgers
from wal.ledgers import Flags
from wal.memory_faults import failing

HEADER = "kawal-message-id"


def headed(
    client: Client, name: str = "t", partitions: int = 1, *, entries: int | str = 3, **configs: str
) -> None:
    identified(client, name, partitions, entries=entries, kawal_message_id_header="true", **configs)


def ids_of(records: Any) -> dict[int, str]:
    """Return the ids in what a fetch gave, by offset; '' where a record has none."""
    return {
        record.offset: ",".join((value or b"").decode() for name, value in record.headers if name == HEADER)
        for record in records_of(records)
    }


def all_ids(client: Client, name: str = "t", *, from_offset: int = 0, max_bytes: int = 1 << 20) -> Any:
    found: dict[int, str] = {}
    while True:
        request = fetching({(name, 0): from_offset}, partition_max_bytes=max_bytes)
        data = fetched(client.call(request, 12))[name, 0]
        assert data.error_code == 0
        if not data.records:
            return found
        found |= {offset: text for offset, text in ids_of(data.records).items() if offset >= from_offset}
        from_offset = max(read_batch_header(part).last_offset for part in iter_batches(data.records)) + 1


def looked_up(client: Client, offset: int, name: str = "t") -> str:
    return ":".join(map(str, id_of(client, offset, name)))


@pytest.mark.parametrize("seed", range(8))
def test_each_record_has_the_id_that_a_look_up_gives(seed: int) -> None:
    random = Random(seed)
    gateway = Gateway(kawal_vnodes=1, kawal_segment_bytes=1 << 16)
    client = gateway.client()
    headed(client, entries=random.randint(1, 9))
    end = 0
    for _ in range(60):
        count = random.choice((1, 1, 2, 7))
        codec = random.choice((Codec.NONE, Codec.LZ4, Codec.GZIP))
        send(
            client, "t", batch(*(random.randbytes(random.randint(1, 400)) for _ in range(count)), codec=codec)
        )
        end += count
        if random.random() < 0.05:
            gateway.restart()
            client = gateway.client()
    expected = {offset: looked_up(client, offset) for offset in range(end)}

    start = random.randrange(end)
    assert all_ids(client, max_bytes=random.choice((1, 500, 1 << 20))) == expected
    assert all_ids(client, from_offset=start, max_bytes=200) == {
        offset: text for offset, text in expected.items() if offset >= start
    }


def test_batches_keep_what_they_have(gateway: Gateway, client: Client) -> None:
    headed(client)
    create(client, "plain")
    records = [
        Record(0, START_MS, b"k", b"v", (("a", b"1"), (HEADER, b"forged"), ("n", None))),
        Record(1, START_MS + 5, None, None),
        Record(2, START_MS - 7, b"", b""),
    ]
    producer = client.call(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1_000), 4)
    stored = encode_batch(
        records,
        codec=Codec.ZSTD,
        producer_id=producer.producer_id,
        producer_epoch=0,
        base_sequence=0,
    )
    assert send(client, "t", stored).error_code == 0
    (given,) = iter_batches(fetch(client, "t").records)
    before, after = read_batch_header(stored), read_batch_header(given)

    assert check_crc(given)
    assert after._replace(batch_length=0, crc=0, leader_epoch=0) == before._replace(
        batch_length=0, crc=0, leader_epoch=0
    )
    assert after.leader_epoch == 0
    shown = list(records_of(given))
    assert [record._replace(headers=()) for record in shown] == [
        record._replace(headers=()) for record in records
    ]
    assert shown[0].headers == (("a", b"1"), ("n", None), (HEADER, b"0:0:0:0"))


def test_no_answer_has_more_bytes_than_it_may_but_for_one_batch(client: Client) -> None:
    headed(client, entries=1_000)
    for _ in range(40):
        send(client, "t", batch(*[b"x" * 10] * 20))
    size = len(next(iter_batches(fetch(client, "t").records)))
    assert size > len(batch(*[b"x" * 10] * 20)) + 20 * len(HEADER)
    data = fetched(client.call(fetching({("t", 0): 0}, partition_max_bytes=3 * size + 5), 12))["t", 0]
    assert len(data.records) == 3 * size
    data = fetched(client.call(fetching({("t", 0): 0}, partition_max_bytes=10), 12))["t", 0]
    assert len(data.records) == size
    send(client, "t", batch(b"y" * 1_000))
    request = fetching({("t", 0): 780, ("t2", 0): 0}, max_bytes=size + 30)
    identified(client, "t2", kawal_message_id_header="true")
    send(client, "t2", batch(b"z"))
    answer = fetched(client.call(request, 12))
    assert sum(len(data.records) for data in answer.values()) <= size + 30


def test_the_setting_applies_to_the_next_fetch_and_only_where_batches_are_counted(client: Client) -> None:
    identified(client)
    stored = batch(b"a")
    send(client, "t", stored)
    assert ids_of(fetch(client, "t").records) == {0: ""}
    alter(client, "t", "kawal.message.id.header", "true")
    assert ids_of(fetch(client, "t").records) == {0: "0:0:0:-1"}
    alter(client, "t", "kawal.message.id.header", "false")
    assert ids_of(fetch(client, "t").records) == {0: ""}


def test_a_topic_without_ids_cannot_show_them(client: Client) -> None:
    request = CreateTopicsRequest(topics=[creation("u", kawal_message_id_header="true")])
    (made,) = client.call(request, 7).topics
    assert made.error_code == ErrorCode.INVALID_CONFIG
    assert "kawal.message.ids=true" in str(made.error_message)


def test_records_that_cannot_be_opened_are_given_as_they_are(client: Client) -> None:
    headed(client)
    broken = bytearray(batch(b"abc", codec=Codec.GZIP))
    broken[75] ^= 0xFF
    renew_crc(broken)
    assert send(client, "t", broken).error_code == 0
    send(client, "t", batch(b"next"))
    first, second = iter_batches(fetch(client, "t").records)
    assert bytes(first[61:]) == bytes(broken[61:])
    assert ids_of(second) == {1: "0:1:0:-1"}


def test_large_batches_are_written_anew_in_parts_of_a_fetch(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(message_id_headers, "IN_THREAD_BYTES", 100)
    headed(client, entries=1_000)
    for _ in range(3):
        send(client, "t", batch(*[b"x" * 100] * 30))
    assert len(all_ids(client)) == 90
    assert ids_of(fetch(client, "t", 89).records)[89] == "0:2:0:29"


def test_a_disk_that_cannot_be_read_is_told(gateway: Gateway, client: Client) -> None:
    headed(client)
    for _ in range(30):
        send(client, "t", batch(b"x" * 20_000))
    gateway.restart()
    client = gateway.client()
    gateway.disk.faults.append(failing("read", errno.EIO, times=1_000))
    assert fetch(client, "t").error_code == ErrorCode.KAFKA_STORAGE_ERROR


def test_transactions_are_read_as_without_ids(gateway: Gateway, client: Client) -> None:
    for name, shown in (("t", "true"), ("u", "false")):
        identified(client, name, kawal_message_id_header=shown)
        producer = Producer(gateway, f"producer of {name}")
        producer.write(name, 0, b"aborted", b"aborted")
        producer.abort()
        producer.write(name, 0, b"kept")
        producer.commit()
        producer.write(name, 0, b"undecided")

    def answers(isolation: int) -> list[Any]:
        return [
            fetched(client.call(fetching({(name, 0): 0}, isolation_level=isolation), 12))[name, 0]
            for name in ("t", "u")
        ]

    for isolation in (0, 1):
        shown, plain = answers(isolation)
        assert (shown.high_watermark, shown.last_stable_offset) == (6, 5)
        heads, plain_heads = ([read_batch_header(part) for part in iter_batches(data.records)]
                              for data in (shown, plain))  # fmt: skip
        assert [(head.base_offset, head.attributes, head.base_sequence) for head in heads] == [
            (head.base_offset, head.attributes, head.base_sequence) for head in plain_heads
        ]
        found = shown.aborted_transactions
        assert [entry.first_offset for entry in found or []] == [0] * isolation
        expected = {0: "0:0:0:-1", 1: "0:1:0:-1", 3: "1:0:0:-1", 5: "1:2:0:-1"}
        ids = {offset: text for offset, text in ids_of(shown.records).items() if text}
        assert ids == {offset: text for offset, text in expected.items() if offset < 6 - isolation}


def test_compacted_records_keep_their_ids(
    gateway: Gateway, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledgers, "MARK_ENTRIES", 3)
    headed(client, "t", 1, entries=7, **SMALL)
    for number in range(40):
        put(client, "t", [(b"k%d" % (number % 5), b"v%d" % number)])
    fill(client, "t")
    before = all_ids(client)
    assert len(before) == 42
    pass_time(gateway, 60_000)
    after = all_ids(client)

    assert len(after) < 20
    assert after == {offset: before[offset] for offset in after}
    assert all_ids(client, from_offset=37, max_bytes=1) == {
        offset: text for offset, text in after.items() if offset >= 37
    }


def test_share_groups_and_groups_with_settings_get_ids(gateway: Gateway, client: Client) -> None:
    headed(client)
    send(client, "t", batch(b"a", b"b"))
    send(client, "t", batch(b"c"))
    topic_id = gateway.broker.catalogue.by_name["t"].topic_id
    configure(gateway, share_auto_offset_reset="earliest")
    share_member = Member(gateway, "m", "t")
    (topic,) = share_member.fetch((topic_id, 0)).responses
    assert ids_of(topic.partitions[0].records) == {0: "0:0:0:0", 1: "0:0:0:1", 2: "0:1:0:-1"}

    configure_reads(client, "reading", snapshot_enable="true")
    reader = group_member(gateway, "t", group_id="reading")
    assert ids_of(fetch(reader, "t").records)[2] == "0:1:0:-1"


def test_views_show_what_is_stored(client: Client) -> None:
    headed(client)
    send(client, "t", batch(b"a"))
    create(client, "v", kawal_sql="SELECT * FROM t")
    assert ids_of(fetch(client, "v").records) == {0: ""}


def test_a_topic_that_is_not_partitioned_has_minus_one_for_its_partition(client: Client) -> None:
    headed(client, kawal_nonpartitioned="true")
    send(client, "t", batch(b"a"))
    assert ids_of(fetch(client, "t").records) == {0: "0:0:-1:-1"}


def test_after_a_repair_records_have_the_ids_that_look_ups_give(gateway: Gateway, client: Client) -> None:
    headed(client, entries=100)
    for _ in range(6):
        send(client, "t", batch(b"a"))
    partition = gateway.partition("t")
    found = partition.vnode.log.ledgers(partition.stream_id)
    assert found is not None
    found.lose_count()
    send(client, "t", batch(b"after"))
    send(client, "t", batch(b"after"))
    assert all_ids(client) == {offset: looked_up(client, offset) for offset in range(8)}
    found.ledgers[-1] = found.ledgers[-1]._replace(flags=int(Flags.UNNUMBERED))
    assert all_ids(client)[7] == "", "where no number is known, there is no header"


def test_where_batches_cannot_be_counted_for_the_disk_that_is_an_error_of_each_kind_of_fetch(
    gateway: Gateway, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> Generator[None, None, int]:
        yield
        raise RequestError(ErrorCode.KAFKA_STORAGE_ERROR, "the disk cannot be read")

    headed(client)
    for _ in range(3):
        send(client, "t", batch(b"a"))
    monkeypatch.setattr(message_id_headers, "ordinal_at", broken)
    assert ids_of(fetch(client, "t").records)[2] == "0:2:0:-1", "counted from a mark"
    assert fetch(client, "t", 1).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    configure_reads(client, "reading", consume_excluded="true")
    reader = group_member(gateway, "t", group_id="reading")
    assert fetch(reader, "t", 1).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert gateway.broker.internal_errors.counts == dict.fromkeys(ErrorPlace, 0)


def test_a_topic_that_is_deleted_while_its_records_get_ids_is_no_error_of_ours(
    gateway: Gateway, client: Client
) -> None:
    headed(client)
    for _ in range(3):
        send(client, "t", batch(b"a"))
    partition = gateway.partition("t")
    result = partition.read(1, 1_000)
    assert deleted(client, "t") == {"t": (0, "")}
    given = all_here(
        message_id_headers.with_ids(partition, result, 1_000, minimum_one=True, offload=run_here)
    )
    assert given.size_bytes == result.size_bytes
    assert gateway.broker.internal_errors.counts == dict.fromkeys(ErrorPlace, 0)
