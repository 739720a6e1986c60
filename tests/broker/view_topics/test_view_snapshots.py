"""Views that begin with the last record of each key, and go on with every record: no hole, nothing twice."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from broker.view_topics import view_snapshots
from broker.view_topics.view_snapshots import ReaderSnapshots
from protocol.error_codes import ErrorCode
from protocol.messages.create_topics import CreateTopicsRequest
from protocol.record_reader import Record
from protocol.record_writer import encode_batch
from tests.broker.databases import create_database
from tests.broker.gateway import START_MS, Client, Gateway
from tests.broker.group_reads import end_of, records, seen
from tests.broker.kit import create, creation, fetch, records_of, send
from tests.broker.topic_changes import grow

K, L, M = b"k", b"l", b"m"


def written(**configs: str) -> tuple[Gateway, Client]:
    """Make t with k0 l1 k2 m3 k4, and the view s of it that begins with its state."""
    gateway = Gateway(kawal_vnodes=1)
    client = gateway.client()
    create(client, "t", 1, kawal_columns="v int", **configs)
    send(client, "t", records((K, b'{"v":0}'), (L, b'{"v":1}'), (K, b'{"v":2}')))
    send(client, "t", records((M, b'{"v":3}'), (K, b'{"v":4}')))
    create(client, "s", -1, kawal_alias_of="t", kawal_snapshot="true")
    return gateway, client


def offsets(client: Client, name: str = "s", start: int = 0) -> list[int]:
    return [offset for offset, _ in seen(client, name, start)]


def snapshots(gateway: Gateway) -> ReaderSnapshots:
    hub: Any = gateway.partition("s")
    found: ReaderSnapshots = hub.host.shared(ReaderSnapshots)
    return found


def test_a_reader_at_the_start_gets_the_last_record_of_each_key_and_then_every_record() -> None:
    gateway, client = written()
    reader = gateway.client()
    assert offsets(reader) == [1, 3, 4]
    send(client, "t", records((K, b"{}"), (K, b"{}")))
    assert offsets(reader, start=5) == [5, 6]
    # Another reader has a snapshot of its own, as of now.
    assert offsets(gateway.client()) == [1, 3, 6]
    # A reader that begins elsewhere gets everything.
    assert offsets(gateway.client(), start=2) == [2, 3, 4, 5, 6]


def test_queries_and_bounds_go_with_a_snapshot() -> None:
    gateway, client = written()
    snapshot = {"kawal_snapshot": "true"}
    create(client, "q", -1, kawal_sql="SELECT v FROM t WHERE v <> 4", **snapshot)
    create(client, "b", -1, kawal_alias_of="t", kawal_from="offset 1", kawal_to="offset 3", **snapshot)
    # Of the records that the query shows, the last of each key.
    assert offsets(gateway.client(), "q") == [1, 2, 3]
    assert offsets(gateway.client(), "b", 1) == [1, 2]


def test_the_same_key_in_two_topics_of_a_database_is_two_keys() -> None:
    gateway = Gateway()
    client = gateway.client()
    create_database(client, "d", vnodes="1")
    for name in ("a", "b"):
        create(client, name, kawal_database="d")
        send(client, name, records((K, b"old"), (K, name.encode())))
    create(client, "s", -1, kawal_sql="DATABASE d", kawal_snapshot="true")
    assert [value for _, value in seen(gateway.client(), "s")] == [b"a", b"b"]


def test_records_that_come_while_the_snapshot_is_read_all_come_after_it() -> None:
    gateway, client = written()
    reader = gateway.client()
    first = fetch(reader, "s")
    assert [record.offset for record in records_of(first.records)] == [1, 3, 4]
    send(client, "t", records((L, b"{}"), (L, b"{}"), (M, None)))
    assert offsets(reader, start=end_of(first.records)) == [5, 6, 7]


def test_a_snapshot_is_forgotten_when_it_is_read_and_when_the_view_is_deleted() -> None:
    gateway, client = written()
    reader = gateway.client()
    fetch(reader, "s")
    assert (len(snapshots(gateway)), snapshots(gateway).budget.keys) == (1, 3)
    fetch(reader, "s", 5)
    send(client, "t", records((K, b"{}")))
    fetch(reader, "s", 5)
    assert (len(snapshots(gateway)), snapshots(gateway).budget.keys) == (0, 0)
    fetch(gateway.client(), "s")
    kept = snapshots(gateway)
    gateway.broker.delete_topic(gateway.broker.find_topic("s"), gateway.now_ms)
    gateway.settle()
    assert (len(kept), kept.budget.keys) == (0, 0)


def test_the_reader_that_read_longest_ago_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view_snapshots, "SNAPSHOTS_MAX", 2)
    gateway, client = written()
    readers = [gateway.client() for _ in range(3)]
    for reader in readers:
        assert offsets(reader) == [1, 3, 4]
    assert len(snapshots(gateway)) == 2
    send(client, "t", records((K, b"{}")))
    assert offsets(readers[0], start=5) == [5]


def test_after_a_restart_a_reader_in_the_middle_gets_every_record() -> None:
    gateway, _ = written()
    fetch(gateway.client(), "s")
    gateway.restart()
    client = gateway.client()
    assert offsets(client, start=2) == [2, 3, 4]
    assert gateway.broker.find_topic("s").configs["kawal.snapshot"] == "true"


@pytest.mark.parametrize(
    ("configs", "part"),
    [
        ({"kawal_snapshot": "true"}, "is for views"),
        ({"kawal_alias_of": "t", "kawal_snapshot": "maybe"}, "kawal.snapshot"),
        (
            {"kawal_alias_of": "t", "kawal_snapshot": "true", "kawal_replay_speed": "2"},
            "exclude each other",
        ),
    ],
)
def test_what_cannot_begin_with_a_snapshot_is_refused(configs: dict[str, str], part: str) -> None:
    _, client = written()
    request = CreateTopicsRequest(topics=[creation("v", -1 if "kawal_alias_of" in configs else 1, **configs)])
    (refused,) = client.call(request, 7).topics
    assert refused.error_code == ErrorCode.INVALID_CONFIG
    assert part in (refused.error_message or "")


def test_false_is_no_snapshot() -> None:
    gateway, client = written()
    create(client, "plain", -1, kawal_alias_of="t", kawal_snapshot="false")
    assert offsets(gateway.client(), "plain") == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("seed", range(12))
def test_whatever_happens_meanwhile_the_state_is_whole_and_nothing_comes_twice(seed: int) -> None:
    """Readers of a topic that grows and is compacted end with the value that each key has at the end."""
    chance = Random(seed)
    gateway = Gateway(kawal_vnodes=1, log_cleaner_backoff_ms=1_000)
    client = gateway.client()
    create(client, "t", 1, cleanup_policy="compact", min_cleanable_dirty_ratio="0")
    create(client, "s", -1, kawal_alias_of="t", kawal_snapshot="true")
    state: dict[tuple[int, bytes], bytes] = {}
    readers: list[tuple[Client, dict[int, int], dict[tuple[int, bytes], bytes]]] = []

    def write(count: int) -> None:
        for _ in range(count):
            index = chance.randrange(gateway.broker.find_topic("t").partition_count)
            key, value = b"k%d" % chance.randrange(6), b"%d" % chance.randrange(10**9)
            send(client, "t", encode_batch([Record(0, START_MS, key, value)]), index)
            state[index, key] = value

    def read_on(reader: Client, positions: dict[int, int], found: dict[tuple[int, bytes], bytes]) -> None:
        for index in range(gateway.broker.find_topic("s").partition_count):
            data: Any = fetch(reader, "s", positions.get(index, 0), index)
            assert data.error_code == 0
            for record in records_of(data.records):
                if record.offset >= positions.get(index, 0):
                    assert record.key is not None
                    found[index, record.key] = record.value or b""
                    positions[index] = record.offset + 1
            positions[index] = max(positions.get(index, 0), end_of(data.records))

    for _ in range(25):
        match chance.randrange(8):
            case 0 if gateway.broker.find_topic("t").partition_count < 3:
                grow(client, "t", gateway.broker.find_topic("t").partition_count + 1)
            case 1:
                readers.append((gateway.client(), {}, {}))
            case 2 | 3 | 4:
                for reader in readers:
                    read_on(*reader)
            case 5:
                gateway.advance(2_000)
            case _:
                write(chance.randrange(1, 8))
    readers.append((gateway.client(), {}, {}))
    for reader in readers:
        for _ in range(4):
            read_on(*reader)
        assert reader[2] == state, seed
