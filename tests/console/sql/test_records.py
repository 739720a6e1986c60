"""Records that statements write and read."""

from __future__ import annotations

import pytest

from console.errors import CommandError
from console.sql.records import BATCH_RECORDS, produce, read_all, read_batches
from protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from protocol.partitioner import partition_of
from protocol.record_reader import Record
from tests.broker.gateway import START_MS
from tests.broker.kit import batch, create, send
from tests.broker.txn import Producer
from tests.console.sql.conftest import Sql


def records(count: int, size: int = 10) -> list[Record]:
    return [Record(0, START_MS, b"k%d" % number, bytes(size)) for number in range(count)]


def test_keys_lie_where_kafkas_own_producers_put_them() -> None:
    # Kafka's UtilsTest: -973932308, -790332482 and -985981536, without their signs.
    keys = (b"21", b"foobar", b"a-little-bit-long-string")
    assert [partition_of(key, 1_000) for key in keys] == [340, 166, 112]


def test_what_was_written_is_read_back(sql: Sql) -> None:
    create(sql.gateway.client(), "t", 3)
    assert produce(sql.session, "t", 3, records(100)) == 100
    found = [record.key or b"" for index in range(3) for record in read_all(sql.session, "t", index)]
    assert sorted(found) == sorted(record.key or b"" for record in records(100))


def test_many_records_are_cut_into_batches_of_bounded_size(sql: Sql) -> None:
    create(sql.gateway.client(), "t")
    produce(sql.session, "t", 1, records(BATCH_RECORDS + 1))
    assert len(list(read_batches(sql.session, "t", 0))) == 2
    produce(sql.session, "t", 1, records(3, 200_000))
    assert len(list(read_all(sql.session, "t"))) == BATCH_RECORDS + 4


def test_a_refusal_says_how_much_was_stored(sql: Sql) -> None:
    with pytest.raises(CommandError, match="0 rows before it were stored"):
        produce(sql.session, "gone", 1, records(1))


def test_reading_begins_at_the_first_record_that_is_left(sql: Sql) -> None:
    client = sql.gateway.client()
    create(client, "t")
    for number in range(3):
        produce(sql.session, "t", 1, [Record(0, START_MS, b"k", b"%d" % number)])
    partition = sql.gateway.partition("t")
    partition.vnode.log.set_log_start(partition.stream_id, 2)
    sql.gateway.settle()
    assert [record.value for record in read_all(sql.session, "t")] == [b"2"]


def test_a_topic_that_is_not_there_cannot_be_read(sql: Sql) -> None:
    with pytest.raises(CommandError, match="gone-0"):
        list(read_all(sql.session, "gone"))


def test_records_of_aborted_transactions_are_not_read(sql: Sql) -> None:
    create(sql.gateway.client(), "t")
    producer = Producer(sql.gateway)
    for value, end in ((b"1", producer.commit), (b"2", producer.abort), (b"3", producer.commit)):
        producer.write("t", 0, value)
        end()
    assert [record.value for record in read_all(sql.session, "t")] == [b"1", b"3"]


def test_deleted_records_of_a_batch_are_not_read(sql: Sql) -> None:
    client = sql.gateway.client()
    create(client, "t")
    send(client, "t", batch(b"1", b"2", b"3"))
    for before, left in ((2, [b"3"]), (3, [])):
        part = DeleteRecordsPartition(partition_index=0, offset=before)
        asked = DeleteRecordsTopic(name="t", partitions=[part])
        client.call(DeleteRecordsRequest(topics=[asked], timeout_ms=1), 2)
        assert [(record.value, record.offset) for record in read_all(sql.session, "t")] == [
            (value, 2) for value in left
        ]
