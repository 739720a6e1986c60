"""`__kawal_ledgers`: a record when a ledger begins, when it ends, and a null when it is there no more."""

from __future__ import annotations

import errno
import json
from typing import Any

import pytest

from broker.catalogue.topic import LEDGERS_TOPIC
from broker.upkeep import ledgers_topic
from broker.upkeep.ledgers_topic import INTERVAL_MS, STEP_MS, LedgersTopic
from protocol.error_codes import ErrorCode
from protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from protocol.messages.delete_topics import DeleteTopicsRequest
from tests.broker.gateway import START_MS, Client, Gateway
from tests.broker.identified import identified
from tests.broker.kit import batch, create, fetch, records_of, send
from wal.memory_faults import failing


def began(gateway: Gateway) -> Gateway:
    LedgersTopic(gateway.broker, gateway.broker, gateway.broker.vnodes)
    return gateway


@pytest.fixture
def gateway() -> Gateway:
    return began(Gateway(kawal_vnodes=2))


def told(client: Client) -> list[tuple[str, Any]]:
    """Return all records of the topic."""
    found: list[tuple[str, Any]] = []
    while (data := fetch(client, LEDGERS_TOPIC, len(found))).records:
        for record in records_of(data.records):
            value = json.loads(bytes(record.value)) if record.value is not None else None
            found.append((bytes(record.key or b"").decode(), value))
    return found


def newest(client: Client) -> dict[str, Any]:
    """Return what is left when the topic is compacted."""
    return {key: value for key, value in dict(told(client)).items() if value is not None}


def delete_up_to(client: Client, offset: int, name: str = "t") -> None:
    partition = DeleteRecordsPartition(partition_index=0, offset=offset)
    topic = DeleteRecordsTopic(name=name, partitions=[partition])
    answer = client.call(DeleteRecordsRequest(topics=[topic], timeout_ms=1_000), 2)
    assert answer.topics[0].partitions[0].error_code == 0


def delete(client: Client) -> None:
    request = DeleteTopicsRequest(topic_names=["t"], timeout_ms=1_000)
    assert client.call(request, 5).responses[0].error_code == 0


def test_a_ledger_is_told_when_it_begins_and_when_it_ends(gateway: Gateway, client: Client) -> None:
    identified(client, entries=2)
    create(client, "plain")
    send(client, "plain", batch(b"x"))
    send(client, "t", batch(b"a", b"b"))
    gateway.advance(3 * INTERVAL_MS)
    (key, row), *others = told(client)
    assert (key, others) == ("t:0:0", [])
    assert (row["ledger"], row["first_offset"], row["end_offset"], row["entries"]) == (0, 0, None, None)
    assert START_MS <= row["began_ms"] <= gateway.now_ms

    second, third = batch(b"c"), batch(b"d", b"e", b"f")
    send(client, "t", second)
    send(client, "t", third)
    gateway.advance(3 * INTERVAL_MS)
    row, open_row = (newest(client)[f"t:0:{ledger}"] for ledger in (0, 1))

    assert (row["first_offset"], row["end_offset"], row["entries"]) == (0, 3, 2)
    assert row["bytes"] == len(batch(b"a", b"b")) + len(second)
    assert (open_row["first_offset"], open_row["end_offset"]) == (3, None)
    assert len(told(client)) == 3, "nothing that has not changed is told again"


def test_a_start_tells_only_what_has_changed_since(gateway: Gateway, client: Client) -> None:
    identified(client, entries=1, partitions=3)
    for partition in range(3):
        for _ in range(4):
            send(client, "t", batch(b"a"), partition=partition)
    gateway.advance(3 * INTERVAL_MS)
    before = told(client)
    assert len(before) == 12

    gateway.restart()
    began(gateway).advance(3 * INTERVAL_MS)
    client = gateway.client()
    assert told(client) == before

    send(client, "t", batch(b"a"), partition=1)
    delete_up_to(client, 2)
    gateway.crash()
    began(gateway).advance(3 * INTERVAL_MS)
    client = gateway.client()

    since = dict(told(client)[12:])
    assert since.pop("t:1:3")["end_offset"] == 4
    assert since.pop("t:1:4")["first_offset"] == 4
    assert since == {"t:0:0": None, "t:0:1": None}


def test_ledgers_that_were_deleted_are_told_as_null(gateway: Gateway, client: Client) -> None:
    identified(client, entries=1)
    for _ in range(4):
        send(client, "t", batch(b"a"))
    gateway.advance(3 * INTERVAL_MS)
    delete_up_to(client, 2)
    gateway.advance(3 * INTERVAL_MS)

    assert sorted(newest(client)) == ["t:0:2", "t:0:3"]


def test_another_topic_of_the_same_name_leaves_nothing_of_the_first(gateway: Gateway, client: Client) -> None:
    identified(client, entries=1, partitions=3)
    for partition in range(3):
        send(client, "t", batch(b"a"), partition=partition)
    gateway.advance(3 * INTERVAL_MS)
    assert len(newest(client)) == 3
    delete(client)
    topic_id = create(client, "t", 2, kawal_message_ids="true")
    send(client, "t", batch(b"b"), partition=1)
    gateway.advance(3 * INTERVAL_MS)

    assert {key: row["topic_id"] for key, row in newest(client).items()} == {"t:1:0": str(topic_id)}
    delete(client)
    gateway.advance(3 * INTERVAL_MS)
    assert newest(client) == {}


def test_what_was_lost_is_told_again(gateway: Gateway, client: Client) -> None:
    identified(client, entries=1)
    gateway.advance(2 * INTERVAL_MS)
    send(client, "t", batch(b"a"))
    gateway.disk.faults.append(failing("sync", errno.EIO))
    gateway.advance(INTERVAL_MS)
    gateway.disk.faults.clear()
    gateway.advance(4 * INTERVAL_MS)

    assert sorted(newest(client)) == ["t:0:0"]


def test_very_many_ledgers_have_their_turns(
    gateway: Gateway, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledgers_topic, "PARTITIONS_PER_STEP", 7)
    monkeypatch.setattr(ledgers_topic, "RECORDS_PER_BATCH", 5)
    identified(client, entries=1, partitions=30)
    for partition in range(30):
        for _ in range(2):
            send(client, "t", batch(b"a"), partition=partition)
    gateway.advance(INTERVAL_MS + 3 * STEP_MS)
    assert 0 < len(told(client)) <= 20
    gateway.advance(INTERVAL_MS)

    assert len(told(client)) == 60
    assert len(newest(client)) == 60


def test_no_client_writes_it(gateway: Gateway, client: Client) -> None:
    gateway.advance(2 * INTERVAL_MS)

    assert send(client, LEDGERS_TOPIC, batch(b"forged")).error_code == ErrorCode.INVALID_TOPIC_EXCEPTION


def test_records_that_are_not_the_servers_are_passed_over(gateway: Gateway, client: Client) -> None:
    identified(client)
    send(client, "t", batch(b"a"))
    gateway.advance(2 * INTERVAL_MS)
    partition = gateway.partition(LEDGERS_TOPIC)
    for key, value in ((None, b"x"), (b"a:b:c", b"{}"), (b"t:0:0", b'{"topic_id": 3}'), (b"\xff", b"1")):
        partition.vnode.log.append(partition.stream_id, batch(value, key=key))
    gateway.restart()
    began(gateway).advance(3 * INTERVAL_MS)
    client = gateway.client()
    for _ in range(4):
        send(client, "t", batch(b"b"))
    gateway.advance(3 * INTERVAL_MS)

    assert _last_row(client)["first_offset"] == 3


def _last_row(client: Client) -> Any:
    """Return the last row of the topic, past what is not JSON of ours."""
    partition_end = 0
    row: Any = None
    while (data := fetch(client, LEDGERS_TOPIC, partition_end)).records:
        for record in records_of(data.records):
            partition_end = record.offset + 1
            if record.key == b"t:0:1" and record.value is not None:
                row = json.loads(bytes(record.value))
    return row
