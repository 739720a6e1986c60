"""A split begins a leader epoch in its parent: clients are told, and find the new partition at once."""

from __future__ import annotations

from typing import Any

import pytest

from protocol.error_codes import ErrorCode
from protocol.records import read_batch_header
from tests.broker.gateway import Client, Gateway
from tests.broker.identified import id_of, identified, located, place_of
from tests.broker.kit import batch, create, fetch, fetched, fetching, send
from tests.broker.splits import HIGH, LOW, SPEED, keyed, split, split_topic
from tests.broker.storage.test_counted_partition import epochs
from tests.broker.test_leader_epochs import end_of, listed_epoch
from tests.broker.topic_requests import altered
from wal.errors import LogClosed

SPLITTING: Any = {
    "kawal_partition_autosplit_mode": "paused",
    "kawal_partition_write_bytes_per_sec": str(SPEED),
}


def fill(client: Client, count: int, partition: int = 0) -> None:
    for number in range(count):
        row = ((LOW, HIGH)[number % 2], b"%d" % number)
        assert send(client, "t", keyed(row), partition).error_code == 0


def code(client: Client, epoch: int, partition: int = 0, name: str = "t") -> int:
    answer = client.call(fetching({(name, partition): 0}, leader_epoch=epoch), 12)
    return int(fetched(answer)[name, partition].error_code)


def test_the_parent_alone_begins_an_epoch_at_each_of_its_splits(client: Client) -> None:
    split_topic(client, partitions=2)
    create(client, "other")
    for made in ([1, 0, 0], [2, 0, 0, 0]):
        split(client, 0)
        assert epochs(client) == made
    assert epochs(client, "other") == [0]


def test_readers_with_the_epoch_before_a_split_look_at_the_metadata_again(client: Client) -> None:
    split_topic(client)
    fill(client, 4)
    split(client)
    assert [code(client, epoch) for epoch in (-1, 0, 1, 2)] == [
        0, ErrorCode.FENCED_LEADER_EPOCH, 0, ErrorCode.UNKNOWN_LEADER_EPOCH,
    ]  # fmt: skip
    assert [code(client, epoch, 1) for epoch in (-1, 0, 1)] == [0, 0, ErrorCode.UNKNOWN_LEADER_EPOCH]


def test_the_epoch_before_a_split_ends_at_the_cut(client: Client) -> None:
    split_topic(client)
    fill(client, 5)
    split(client)
    fill(client, 4)
    assert [end_of(client, epoch) for epoch in (0, 1)] == [(0, 0, 5), (0, 1, 9 - 2)]
    assert listed_epoch(client, -1) == (7, 1)
    assert listed_epoch(client, -2) == (0, 0)
    stored = fetch(client, "t", 5).records
    assert read_batch_header(bytes(stored)).leader_epoch == 1


@pytest.mark.parametrize("how", ["restart", "crash"])
def test_no_start_goes_back_to_an_epoch_before_a_split(gateway: Gateway, how: str) -> None:
    client = gateway.client()
    split_topic(client)
    fill(client, 4)
    split(client)
    getattr(gateway, how)()
    client = gateway.client()
    assert epochs(client)[0] >= 1
    assert code(client, 0) == ErrorCode.FENCED_LEADER_EPOCH
    split(client)
    assert epochs(client)[0] == 2
    fill(client, 2)
    assert end_of(client, 1)[2] == 4, "the second split was where the first one was"


def test_an_epoch_that_the_log_did_not_take_is_told_and_begun_at_the_next_start(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The split is in the catalogue's log, the mark of its epoch in that of the partition."""
    client = gateway.client()
    split_topic(client)
    fill(client, 4)

    def refuse(*_: object) -> None:
        raise LogClosed("it takes nothing")

    with monkeypatch.context() as patched:
        patched.setattr(gateway.partition("t").vnode.log, "set_leader_epoch", refuse)
        split(client)
    assert "leader epoch 1 of partition 0 of topic 't' is not in its log: it takes nothing" in caplog.text
    assert epochs(client) == [1, 0]
    gateway.restart()
    client = gateway.client()
    assert epochs(client) == [1, 0]
    assert code(client, 1) == 0
    fill(client, 2)
    assert end_of(client, 0) == (0, 0, 4)


def test_a_view_tells_the_epoch_of_a_split_source(client: Client) -> None:
    split_topic(client)
    create(client, "alias", kawal_alias_of="t")
    fill(client, 4)
    split(client)
    assert epochs(client, "alias") == [1, 0]
    assert code(client, 1, name="alias") == 0
    assert code(client, 1, 1, name="alias") == ErrorCode.UNKNOWN_LEADER_EPOCH


def test_all_partitions_begin_an_epoch_when_they_get_successors() -> None:
    gateway = Gateway(kawal_vnodes=1)
    client = gateway.client()
    create(client, "t", 2, kawal_partition_write_bytes_per_sec=str(SPEED))
    fill(client, 1)
    assert altered(client, "t", "kawal.partition.autosplit.mode", "up") == (0, "")
    assert epochs(client) == [1, 1, 0, 0]
    assert code(client, 0, 1) == ErrorCode.FENCED_LEADER_EPOCH


# --- with ids -----------------------------------------------------------------------------------------------


def test_a_split_begins_a_ledger_and_all_ids_lead_back(gateway: Gateway) -> None:
    client = gateway.client()
    identified(client, entries=100, **SPLITTING)
    fill(client, 4)
    split(client)
    fill(client, 4)
    split(client)
    split(client)
    send(client, "t", keyed((None, b"free")), 0)
    send(client, "t", keyed((HIGH, b"5")), 1)
    ids = {
        (partition, offset): id_of(client, offset, partition=partition)
        for partition, end in ((0, 7), (1, 3))
        for offset in range(end)
    }
    assert [ids[0, offset][0] for offset in range(7)] == [0, 0, 0, 0, 1, 1, 3]
    assert [ids[1, offset][0] for offset in range(3)] == [0, 0, 0]
    assert len(set(ids.values())) == len(ids)
    for how in ("settle", "restart", "crash"):
        getattr(gateway, how)()
        client = gateway.client()
        for place, found in ids.items():
            assert found[2] == place[0]
            assert place_of(client, found) == (place[1], True)


def test_what_was_moved_has_an_id_in_the_partition_it_was_moved_to(client: Client) -> None:
    identified(client, entries=100, **SPLITTING)
    split(client)
    send(client, "t", keyed((LOW, b"1"), (HIGH, b"2"), (LOW, b"3"), (HIGH, b"4"), producer=(7, 0, 0)))
    assert [id_of(client, offset) for offset in (0, 2)] == [(1, 0, 0, 0), (1, 0, 0, 2)]
    assert [id_of(client, offset, partition=1) for offset in (0, 1)] == [(0, 0, 1, 0), (0, 0, 1, 1)]
    (gap,) = located(client, 1)
    assert (gap.error_code, gap.exact) == (0, True), "its place in the batch it was sent in stays"


def test_a_batch_that_was_moved_as_a_whole_leaves_an_entry_behind(client: Client) -> None:
    identified(client, entries=100, **SPLITTING)
    split(client)
    send(client, "t", keyed((HIGH, b"1"), producer=(7, 0, 0)))
    send(client, "t", keyed((LOW, b"2"), producer=(7, 0, 1)))
    assert id_of(client, 1) == (1, 1, 0, -1)
    assert id_of(client, 0, partition=1) == (0, 0, 1, -1)


def test_plain_batches_go_on_as_before(client: Client) -> None:
    split_topic(client)
    assert send(client, "t", batch(b"a")).base_offset == 0
