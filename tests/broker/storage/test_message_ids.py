"""Ids of messages after deletion, compaction, transactions and while the log changes."""

from __future__ import annotations

import pytest

from broker.errors import RequestError
from broker.storage import message_ids
from protocol.error_codes import ErrorCode
from protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from tests.broker.compacted import SMALL, fill, pass_time, put
from tests.broker.gateway import Client, Gateway
from tests.broker.identified import Id, id_of, identified, located, place_of
from tests.broker.kit import batch, send
from tests.broker.txn import Producer
from wal import ledgers


def delete_below(client: Client, offset: int) -> None:
    part = DeleteRecordsPartition(partition_index=0, offset=offset)
    request = DeleteRecordsRequest(topics=[DeleteRecordsTopic(name="t", partitions=[part])], timeout_ms=1_000)
    (topic,) = client.call(request, 2).topics
    assert topic.partitions[0].error_code == 0


def test_what_was_deleted_has_no_place_and_the_rest_keeps_its_ids(client: Client) -> None:
    identified(client, entries=4)
    for _ in range(10):
        send(client, "t", batch(b"a", b"b"))
    ids = [id_of(client, offset) for offset in range(20)]

    delete_below(client, 13)

    assert [id_of(client, offset) for offset in range(13, 20)] == ids[13:]
    assert [place_of(client, found) for found in ids[13:]] == [(offset, True) for offset in range(13, 20)]
    assert place_of(client, ids[0]) == "ledger 0 of partition 0 was deleted, or had no entries"
    assert place_of(client, ids[9]) == "entry 0 of ledger 1 was deleted"
    assert place_of(client, ids[12]) == "the message at offset 12 was deleted"


def test_a_topic_that_is_deleted_while_its_ids_are_asked_for_is_unknown(
    gateway: Gateway, client: Client
) -> None:
    """Bug: an assertion closed the connection of who asked."""
    identified(client)
    send(client, "t", batch(b"a"))
    partition = gateway.partition("t")
    gateway.broker.delete_topic(gateway.broker.find_topic("t"), gateway.now_ms)
    gateway.settle()
    looking = message_ids.place_of(partition, 0, 0, -1, gateway.broker.scheduler.offload)
    with pytest.raises(RequestError, match="partition 0 has no batches any more") as raised:
        next(looking)
    assert raised.value.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def compacted(gateway: Gateway, client: Client, monkeypatch: pytest.MonkeyPatch) -> list[Id]:
    """Return the ids of a topic's messages from before it was compacted, with marks in between."""
    monkeypatch.setattr(ledgers, "MARK_ENTRIES", 3)
    identified(client, "t", 1, entries=7, **SMALL)
    for number in range(40):
        put(client, "t", [(b"k%d" % (number % 5), b"v%d" % number)])
    fill(client, "t")
    ids = [id_of(client, offset) for offset in range(42)]
    pass_time(gateway, 60_000)
    assert gateway.broker.compaction.stats.records_removed > 20
    return ids


def test_compaction_changes_no_id(gateway: Gateway, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = compacted(gateway, client, monkeypatch)
    partition = gateway.partition("t")
    clean_end = partition.vnode.log.clean_end(partition.stream_id)
    assert clean_end > 35

    inexact = 0
    for offset, known in enumerate(ids):
        (found,) = located(client, offset)
        assert found.error_code == 0
        assert found.first_offset <= offset <= found.last_offset
        if found.exact:
            assert (found.ledger, found.entry) == known[:2]
            assert place_of(client, known) == (offset, True)
        else:
            inexact += 1
            assert found.ledger == known[0], "a run ends with its ledger"
            assert found.last_offset - found.first_offset < 3, "a run ends before a mark"
            assert place_of(client, known) == (found.first_offset, False)
    assert 10 < inexact < 40
    # A second pass meets runs, and what comes after has the next number.
    for number in range(5):
        put(client, "t", [(b"k%d" % number, b"newest")])
    fill(client, "t")
    ids = [id_of(client, offset) for offset in range(40, 49)]
    pass_time(gateway, 60_000)
    assert partition.vnode.log.clean_end(partition.stream_id) > clean_end
    gateway.crash()
    client = gateway.client()
    assert [place_of(client, known) for known in ids[2:]] == [(offset, True) for offset in range(42, 49)]


def test_a_client_cannot_pass_a_batch_off_as_a_run(gateway: Gateway, client: Client) -> None:
    identified(client, "t", 1, entries=100, **SMALL)
    for number in range(4):
        data = batch(b"v%d" % number, key=b"k", producer=(-1, -1, -1_000))
        assert send(client, "t", data).error_code == 0
    fill(client, "t")
    put(client, "t", [(b"other", b"value")])
    ids = [id_of(client, offset) for offset in range(7)]
    pass_time(gateway, 60_000)

    assert gateway.broker.compaction.stats.records_removed > 2
    assert [id_of(client, offset) for offset in (4, 5, 6)] == ids[4:]
    assert [place_of(client, ids[offset])[0] for offset in (0, 3)] == [0, 3]


def test_markers_of_transactions_are_entries(gateway: Gateway, client: Client) -> None:
    identified(client, entries=100)
    producer = Producer(gateway, "tx")
    producer.init()
    producer.add(("t", 0))
    producer.write("t", 0, b"a", b"b")
    producer.commit()
    send(client, "t", batch(b"after"))

    assert [id_of(client, offset)[1:] for offset in (0, 1, 2, 3)] == [
        (0, 0, -1), (1, 0, -1), (2, 0, -1), (3, 0, -1),
    ]  # fmt: skip


def test_what_keeps_changing_is_given_up(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    identified(client)
    send(client, "t", batch(b"a"))
    passes = iter(range(100))
    monkeypatch.setattr("wal.log.VnodeLog.compaction", lambda *_: next(passes))

    (found,) = located(client, 0)

    assert found.error_code == 7
    assert message_ids.TRIES == 3
