"""`__kawal_storage_state`: a record for each log, a new one when its marks or files change."""

from __future__ import annotations

import errno
import json
from typing import Any

import pytest

from broker.catalogue.topic import STORAGE_TOPIC
from broker.upkeep import own_logs
from broker.upkeep.storage_topic import INTERVAL_MS, StorageTopic
from protocol.error_codes import ErrorCode
from protocol.record_reader import Record
from tests.broker.databases import create_database, drop_database
from tests.broker.gateway import Client, Gateway
from tests.broker.kit import batch, create, fetch, records_of, send
from wal.memory_faults import failing


@pytest.fixture
def gateway() -> Gateway:
    gateway = Gateway(kawal_vnodes=1, kawal_segment_bytes=1 << 16)
    StorageTopic(gateway.broker, gateway.broker, gateway.broker.vnodes)
    return gateway


def told(client: Client) -> list[Record]:
    """Return all records of the topic."""
    found: list[Record] = []
    while (data := fetch(client, STORAGE_TOPIC, len(found))).records:
        found += records_of(data.records)
    return found


def newest(client: Client) -> dict[str, Any]:
    return {
        (record.key or b"").decode(): json.loads(record.value) if record.value else None
        for record in told(client)
    }


def test_each_log_is_told_once_until_it_changes(gateway: Gateway, client: Client) -> None:
    gateway.advance(3 * INTERVAL_MS)
    first = newest(client)
    assert len(first) == 2, "that of the catalogue, too"
    state = first["default/vnode-0"]
    assert state["log"] == "default/vnode-0"
    assert state["segments"]["count"] == 1
    count = len(told(client))
    gateway.advance(20 * INTERVAL_MS)
    assert len(told(client)) == count

    create(client, "t")
    for number in range(300):
        send(client, "t", batch(b"%d" % number * 2_000))
    gateway.advance(3 * INTERVAL_MS)

    again = newest(client)["default/vnode-0"]
    assert again["segments"]["count"] > 5
    assert again["time_ms"] > state["time_ms"]
    assert len(told(client)) - count < 6, "the rate is bounded"


def test_what_was_lost_is_told_again(gateway: Gateway, client: Client) -> None:
    gateway.advance(INTERVAL_MS + 1)
    gateway.disk.faults.append(failing("sync", errno.EIO))
    gateway.advance(INTERVAL_MS)
    gateway.disk.faults.clear()
    gateway.advance(4 * INTERVAL_MS)

    assert "default/vnode-0" in newest(client)


def test_a_log_that_is_removed_is_told_as_null(gateway: Gateway, client: Client) -> None:
    create_database(client, "power", vnodes="1")
    gateway.advance(3 * INTERVAL_MS)
    before = newest(client)
    (added,) = before.keys() - {"default/vnode-0", "meta/vnode-0"}
    assert before[added]["log"] == added
    drop_database(client, "power")
    gateway.advance(3 * INTERVAL_MS)

    after = newest(client)
    assert [name for name, value in after.items() if value is None] == [added]


def test_very_many_logs_have_their_turns(
    gateway: Gateway, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_logs, "LOGS_PER_BATCH", 1)
    gateway.advance(4 * INTERVAL_MS)

    assert len(newest(client)) == 2


def test_no_client_writes_it(gateway: Gateway, client: Client) -> None:
    gateway.advance(2 * INTERVAL_MS)

    assert send(client, STORAGE_TOPIC, batch(b"forged")).error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
