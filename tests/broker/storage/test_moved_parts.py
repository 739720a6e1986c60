"""A batch for several partitions is in the log as a whole or not at all."""

from __future__ import annotations

from dataclasses import replace

import pytest

from protocol.error_codes import ErrorCode
from tests.broker.gateway import Client, Gateway
from tests.broker.kit import outcomes, producing, send
from tests.broker.numbered import of_records
from tests.broker.splits import HIGH, LOW, keyed, split, split_topic, values_of
from tests.broker.topic_requests import altered


def test_a_divided_batch_lies_in_one_frame_whatever_is_in_it_already(gateway: Gateway) -> None:
    client = gateway.client()
    split_topic(client)
    split(client)
    log = gateway.partition("t").vnode.log
    log.change_options(replace(log.options, frame_bytes_max=40_000))
    third = 13_000
    for number in range(4):
        batch = keyed((HIGH, b"h" * third), (LOW, b"l" * (third // 4)), producer=(7, 0, 2 * number))
        client.send(producing(("t", 0, batch)), 9)
    frames = [frame for frame in log._state.pending if frame.runs]
    assert len(frames) > 1
    for frame in frames:
        assert len({len(run.entries) for run in frame.runs.values()}) == 1, "as many of either half"
    gateway.settle()
    codes = [outcome.error_code for answer in client.answers() for outcome in outcomes(answer)]
    assert codes == [0] * 4
    assert [len(values_of(client, index)) for index in (0, 1)] == [4, 4]


def test_a_divided_batch_lies_in_one_frame_with_its_marks_and_numbers_beside_it(gateway: Gateway) -> None:
    client = gateway.client()
    split_topic(client, kawal_dedup="seqno", kawal_message_ids="true", kawal_ledger_max_entries="1")
    split(client)
    split(client)
    names = (LOW, HIGH, b"e")
    log = gateway.partition("t").vnode.log
    # Nine entries a batch; in the second frame six are left when the second batch comes.
    log.change_options(replace(log.options, frame_entries_max=15))
    for number in range(9):
        client.send(producing(("t", 0, of_records([(name, number) for name in names]))), 9)
    frames = [frame for frame in log._state.pending if frame.runs]
    assert len(frames) > 1
    for frame in frames:
        assert len(frame.runs) == len(names)
        assert len({len(run.entries) for run in frame.runs.values()}) == 1, "as many of each part"
    gateway.settle()
    assert len(client.answers()) == 9
    assert [len(values_of(client, index)) for index in range(3)] == [9, 9, 9]


def test_what_no_frame_can_hold_is_refused_to_a_producer_whose_sequences_it_would_break(
    gateway: Gateway,
) -> None:
    client = gateway.client()
    split_topic(client, max_message_bytes="20000000", segment_bytes="1000000000")
    split(client)
    large = gateway.partition("t").vnode.log.options.frame_bytes_max
    rows = ((HIGH, b"h" * large), (LOW, b"l"))
    answer = send(client, "t", keyed(*rows, producer=(7, 0, 0)))
    assert answer.error_code == ErrorCode.MESSAGE_TOO_LARGE
    assert "belongs to 2 partitions" in answer.error_message
    assert send(client, "t", keyed((LOW, b"1"), producer=(7, 0, 0))).error_code == 0
    assert send(client, "t", keyed(*rows)).error_code == 0


@pytest.mark.parametrize("setting", ["kawal.max.partition.bytes"])
def test_a_partition_that_is_full_takes_nothing_that_is_moved_there(client: Client, setting: str) -> None:
    split_topic(client)
    split(client)
    send(client, "t", keyed((HIGH, b"x" * 1_000)), partition=1)
    assert altered(client, "t", setting, "900") == (0, "")
    answer = send(client, "t", keyed((HIGH, b"1"), (LOW, b"2")))
    assert answer.error_code == ErrorCode.POLICY_VIOLATION
    assert "partition 1" in answer.error_message
    assert values_of(client, 0) == []
