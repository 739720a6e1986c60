"""Produce: the records that are stored and acknowledged, their form, and the moment."""

from __future__ import annotations

import sys
from uuid import UUID

import pytest

from broker.handlers.produce import APPENDS_PER_COMMIT
from protocol.compression import Codec
from protocol.error_codes import ErrorCode
from protocol.messages.create_topics import CreateTopicsRequest
from protocol.messages.metadata import MetadataRequest
from protocol.records import HEADER_BYTES, check_crc, iter_batches, read_batch_header
from tests.broker.gateway import START_MS, Client, Gateway
from tests.broker.kit import batch, create, creation, fetch, outcomes, producing, read, records_of, send


def test_batches_get_dense_offsets_in_the_order_in_which_they_come(client: Client) -> None:
    create(client, "t")
    assert [send(client, "t", batch(b"a", b"b")).base_offset, send(client, "t", batch(b"c")).base_offset] == [
        0,
        2,
    ]
    assert read(client, "t") == [b"a", b"b", b"c"]


@pytest.mark.parametrize("version", range(3, 13))
def test_every_version_by_name_is_answered(client: Client, version: int) -> None:
    create(client, "t")
    outcome = send(client, "t", batch(b"a"), version=version)
    assert (outcome.error_code, outcome.base_offset, outcome.log_append_time_ms) == (0, 0, -1)
    assert outcome.log_start_offset == (0 if version >= 5 else -1)


def test_version_13_names_topics_by_id_and_the_answer_repeats_it(client: Client) -> None:
    topic_id = create(client, "t")
    answer = client.call(producing(("", 0, batch(b"a")), topic_id=topic_id), 13)
    assert (answer.responses[0].topic_id, outcomes(answer)[0].base_offset) == (topic_id, 0)


def test_what_is_fetched_is_what_was_sent_but_for_offset_and_epoch(client: Client) -> None:
    create(client, "t")
    for codec in Codec:
        send(client, "t", batch(b"value " * 100, b"other", codec=codec))
    sent = [bytes(batch(b"value " * 100, b"other", codec=codec)) for codec in Codec]
    for number, stored in enumerate(iter_batches(fetch(client, "t").records)):
        header = read_batch_header(stored)
        assert (header.base_offset, header.leader_epoch) == (2 * number, 0)
        assert bytes(stored[16:]) == sent[number][16:]
        assert bytes(stored[8:12]) == sent[number][8:12]


def test_all_acks_waits_for_the_disk(gateway: Gateway, client: Client) -> None:
    create(client, "t")
    client.send(producing(("t", 0, batch(b"a")), acks=-1), 9)
    assert client.answers() == []
    gateway.settle()
    assert outcomes(client.answers()[0])[0].base_offset == 0


def test_acks_1_is_answered_when_its_records_can_be_read(gateway: Gateway, client: Client) -> None:
    create(client, "t")
    client.send(producing(("t", 0, batch(b"a")), acks=1), 9)
    assert client.answers() == []
    gateway.settle()
    assert outcomes(client.answers()[0])[0].error_code == 0
    assert read(client, "t") == [b"a"]


def test_acks_0_gets_no_answer_and_is_stored(gateway: Gateway, client: Client) -> None:
    create(client, "t")
    frame = producing(("t", 0, batch(b"a")), acks=0)
    client.send_unanswered(frame, 9)
    gateway.settle()
    assert client.connection.close_reason is None
    assert not client.connection.outgoing
    assert read(client, "t") == [b"a"]


def test_an_error_with_acks_0_closes_the_connection(gateway: Gateway, client: Client) -> None:
    create(client, "t")
    client.send_unanswered(producing(("t", 7, batch(b"a")), acks=0), 9)
    assert client.connection.close_reason is not None
    assert not client.connection.outgoing


def test_one_request_reaches_partitions_on_several_vnodes_and_waits_for_all(gateway: Gateway) -> None:
    client = gateway.client()
    create(client, "t", partitions=4)
    client.send(producing(*[("t", index, batch(b"%d" % index)) for index in range(4)]), 9)
    jobs = [pair for pair in gateway.broker.take_jobs(gateway.now_ms) if pair[0].database == "default"]
    assert len({vnode.index for vnode, _ in jobs}) == 2
    for number, (vnode, job) in enumerate(jobs):
        assert client.answers() == [], f"answered after {number} of the vnodes"
        job.run()
        gateway.broker.job_done(vnode, job, None, gateway.now_ms)
    (answer,) = client.answers()
    assert [outcome.base_offset for outcome in outcomes(answer)] == [0, 0, 0, 0]


def test_good_and_bad_partitions_of_one_request_are_told_apart(client: Client) -> None:
    create(client, "t", partitions=2)
    answer = client.call(
        producing(("t", 0, batch(b"a")), ("t", 5, batch(b"a")), ("none", 0, batch(b"a")), ("t", 1, b"junk")),
        9,
    )
    codes = [outcome.error_code for outcome in outcomes(answer)]
    assert codes == [
        0,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.INVALID_RECORD,
    ]
    assert [outcome.base_offset for outcome in outcomes(answer)] == [0, -1, -1, -1]


def test_append_time_rewrites_timestamp_and_crc(gateway: Gateway, client: Client) -> None:
    create(client, "t", message_timestamp_type="LogAppendTime")
    gateway.now_ms += 5_000
    gateway.broker.set_clocks(now_ms=gateway.now_ms, wall_ms=gateway.now_ms)
    outcome = send(client, "t", batch(b"a", b"b", timestamp_ms=17))
    assert outcome.log_append_time_ms == START_MS + 5_000
    (stored,) = iter_batches(fetch(client, "t").records)
    assert check_crc(stored)
    header = read_batch_header(stored)
    assert (header.is_append_time, header.max_timestamp) == (True, START_MS + 5_000)
    assert [record.timestamp_ms for record in records_of(stored)] == [START_MS + 5_000] * 2


def test_a_batch_in_a_small_frame_outlives_the_receive_buffer(gateway: Gateway, client: Client) -> None:
    """The log keeps batches by reference; those in the shared buffer must be copied out of it."""
    create(client, "t")
    client.send(producing(("t", 0, batch(b"first"))), 9)
    client.send(producing(("t", 0, batch(b"XXXXX"))), 9)
    client.send(MetadataRequest(topics=[]), 12)
    gateway.settle()
    assert len(client.answers()) == 3
    assert read(client, "t") == [b"first", b"XXXXX"]


def test_a_batch_of_its_own_frame_is_stored_whole(client: Client) -> None:
    create(client, "t")
    large = bytes(range(256)) * 3_000
    assert send(client, "t", batch(large)).error_code == 0
    assert read(client, "t") == [large]


def test_a_cut_batch_or_stray_bytes_behind_a_good_one_are_ignored(client: Client) -> None:
    create(client, "t")
    assert send(client, "t", batch(b"a") + batch(b"b")[:-5]).error_code == 0
    assert send(client, "t", batch(b"c") + b"\x00\x01\x02").error_code == 0
    assert read(client, "t") == [b"a", b"c"]


def test_an_unknown_topic_id_is_refused(client: Client) -> None:
    outcome = outcomes(client.call(producing(("", 0, batch(b"a")), topic_id=UUID(int=5)), 13))[0]
    assert outcome.error_code == ErrorCode.UNKNOWN_TOPIC_ID


def test_a_topic_takes_nothing_before_it_is_durable(gateway: Gateway) -> None:
    """Records acknowledged now would vanish with the topic if the power failed."""
    maker, producer = gateway.client(), gateway.client()
    maker.send(CreateTopicsRequest(topics=[creation("t")]), 7)
    producer.send(producing(("t", 0, batch(b"a"))), 9)
    (answer,) = producer.answers()
    assert outcomes(answer)[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    gateway.settle()
    assert send(producer, "t", batch(b"a")).error_code == 0


def test_an_empty_request_is_answered_empty(client: Client) -> None:
    assert client.call(producing(), 9).responses == []


def test_the_header_alone_is_no_batch(client: Client) -> None:
    create(client, "t")
    empty = batch(b"a")[:HEADER_BYTES]
    assert send(client, "t", empty).error_code == ErrorCode.INVALID_RECORD


def test_a_wide_request_waits_for_the_disk_so_that_others_do_not_wait_behind_all_of_it() -> None:
    gateway = Gateway(kawal_vnodes=1)
    wide, small = gateway.client(), gateway.client()
    count = 3 * APPENDS_PER_COMMIT + 10
    create(wide, "wide", partitions=count)
    create(small, "small")
    wide.send(producing(*(("wide", index, batch(b"w")) for index in range(count))), 9)
    scheduler = gateway.broker.scheduler
    while scheduler.pending:
        scheduler.run()
    assert gateway.partition("wide").vnode.log.open_frame_bytes > 0, "it waits, and others have their turn"
    small.send(producing(("small", 0, batch(b"s"))), 9)
    gateway.run_jobs()
    assert [outcome.error_code for outcome in outcomes(small.answers()[0])] == [0]
    assert wide.answers() == []
    gateway.settle()
    assert [outcome.error_code for outcome in outcomes(wide.answers()[0])] == [0] * count


def test_a_topic_whose_partitions_do_not_split_has_nothing_imported_for_splits(
    gateway: Gateway, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first produce after a start would wait for the import."""
    monkeypatch.setitem(sys.modules, "broker.upkeep.partition_splits", None)
    create(client, "t")
    create(client, "checked", kawal_check_records="open")
    assert send(client, "t", batch(b"a")).base_offset == 0
    assert send(client, "checked", batch(b"a")).base_offset == 0
    create(
        client,
        "split",
        kawal_partition_autosplit_mode="paused",
        kawal_partition_write_bytes_per_sec="1000000",
    )
    gateway.broker.internal_errors.listener = None
    client.send(producing(("split", 0, batch(b"a"))), 9)
    gateway.settle()
    assert sum(gateway.broker.internal_errors.counts.values()) == 1
