"""The records of batches that a group is given, by their headers."""

from __future__ import annotations

import pytest

from broker.coordinators.group_settings import NO_QUEUE_SETTINGS, QueueSettings
from broker.fetching.record_choice import choice_of, choose
from protocol.compression import Codec
from protocol.record_reader import Record
from protocol.record_writer import encode_batch


def made(base: int, *kinds: str, codec: Codec = Codec.NONE) -> memoryview:
    records = [
        Record(base + number, 1_000, None, b"", (("kind", kind.encode()),))
        for number, kind in enumerate(kinds)
    ]
    return memoryview(encode_batch(records, codec=codec))


CHOICE = choice_of(QueueSettings(filter="kind=a"))


def test_without_settings_nothing_is_chosen_by() -> None:
    assert choice_of(NO_QUEUE_SETTINGS) is None
    assert choice_of(QueueSettings(member_records_max=5, auto_accepts=True)) is None


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.ZSTD])
def test_chosen_records_are_ranges_that_do_not_cross_batches(codec: Codec) -> None:
    assert CHOICE is not None
    batches = [made(0, "a", "a", "b", "a", codec=codec), made(4, "a", "b"), made(6, "b")]
    chosen = choose(batches, [(0, 3), (4, 5), (6, 6)], CHOICE)
    assert chosen.ranges == [(0, 1), (3, 3), (4, 4)]
    assert chosen.later == []


def test_a_batch_that_cannot_be_read_is_delivered_as_it_is(caplog: pytest.LogCaptureFixture) -> None:
    assert CHOICE is not None
    broken = bytearray(made(0, "b", "b", codec=Codec.GZIP))
    broken[61:] = bytes(len(broken) - 61)
    chosen = choose([memoryview(broken), made(2, "a")], [(0, 1), (2, 2)], CHOICE)
    assert chosen.ranges == [(0, 1), (2, 2)]
    assert "batch at offset 0" in caplog.text
