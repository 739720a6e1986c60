"""The records of batches that a group is given, by their headers."""

from __future__ import annotations

import pytest

from broker.coordinators.share_settings import NO_QUEUE_SETTINGS, QueueSettings
from broker.fetching.record_choice import Choice, Chosen, Moment, choice_of, choose
from groups.share.found import Later
from protocol.compression import Codec
from protocol.record_reader import Record
from protocol.record_writer import encode_batch


def made(base: int, *kinds: str, codec: Codec = Codec.NONE) -> memoryview:
    records = [
        Record(base + number, 1_000, None, b"", (("kind", kind.encode()),))
        for number, kind in enumerate(kinds)
    ]
    return memoryview(encode_batch(records, codec=codec))


NOW = Moment(500, 10_000)

CHOICE = choice_of(QueueSettings(filter="kind=a"))


def test_without_settings_nothing_is_chosen_by() -> None:
    assert choice_of(NO_QUEUE_SETTINGS) is None
    assert choice_of(QueueSettings(member_records_max=5, auto_accepts=True)) is None


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.ZSTD])
def test_chosen_records_are_ranges_that_do_not_cross_batches(codec: Codec) -> None:
    assert CHOICE is not None
    batches = [made(0, "a", "a", "b", "a", codec=codec), made(4, "a", "b"), made(6, "b")]
    chosen = choose(batches, [(0, 3), (4, 5), (6, 6)], CHOICE, NOW)
    assert chosen.ranges == [(0, 1), (3, 3), (4, 4)]
    assert chosen.later == []


def test_a_batch_that_cannot_be_read_is_delivered_as_it_is(caplog: pytest.LogCaptureFixture) -> None:
    assert CHOICE is not None
    broken = bytearray(made(0, "b", "b", codec=Codec.GZIP))
    broken[61:] = bytes(len(broken) - 61)
    chosen = choose([memoryview(broken), made(2, "a")], [(0, 1), (2, 2)], CHOICE, NOW)
    assert chosen.ranges == [(0, 1), (2, 2)]
    assert "batch at offset 0" in caplog.text


TIMED = Choice(None, is_timed=True)


def timed(*headers: dict[str, str], timestamp_ms: int = 9_000, ttl_ms: int = -1) -> Chosen:
    """Choose among records of one batch with these headers."""
    records = [
        Record(offset, timestamp_ms, None, b"", tuple((name, value.encode()) for name, value in told.items()))
        for offset, told in enumerate(headers)
    ]
    batch = memoryview(encode_batch(records))
    return choose([batch], [(0, len(records) - 1)], TIMED, NOW._replace(ttl_ms=ttl_ms))


def test_records_are_due_at_a_moment_or_after_a_delay() -> None:
    chosen = timed(
        {"kawal-deliver-at": "10000"},
        {"kawal-deliver-at": "10001"},
        {"kawal-delay-ms": "1000"},
        {"kawal-delay-ms": "1700"},
        {"kawal-delay-ms": "1700"},
        {"kawal-deliver-at": "10300", "kawal-delay-ms": "0"},
        {},
    )
    assert chosen.ranges == [(0, 0), (2, 2), (6, 6)]
    assert chosen.later == [Later(1, 1, 501), Later(3, 4, 1_200), Later(5, 5, 800)]


def test_records_expire_at_a_moment_or_at_an_age() -> None:
    chosen = timed({"kawal-expires-at": "10000"}, {"kawal-expires-at": "10001"})
    assert (chosen.ranges, chosen.expired) == ([(1, 1)], [(0, 0)])
    assert timed({}, {}, ttl_ms=1_000).expired == [(0, 1)]
    assert timed({}, {}, ttl_ms=1_001).ranges == [(0, 1)]
    assert timed({}, timestamp_ms=-1, ttl_ms=0).ranges == [(0, 0)], "a record without a time has no age"


@pytest.mark.parametrize("text", ["", "-5", "soon", "1e3", "9" * 16, " 5"])
def test_what_is_no_number_counts_as_absent(text: str) -> None:
    told = {"kawal-deliver-at": text, "kawal-expires-at": text, "kawal-delay-ms": text}
    assert timed(told) == Chosen([(0, 0)], [], [])


def test_a_filter_comes_before_times() -> None:
    choice = choice_of(QueueSettings(filter="!test", is_timed=True))
    assert choice is not None
    records = [
        Record(0, 0, None, b"", (("test", b""), ("kawal-expires-at", b"1"))),
        Record(1, 0, None, b"", (("kawal-expires-at", b"1"),)),
    ]
    chosen = choose([memoryview(encode_batch(records))], [(0, 1)], choice, NOW)
    assert chosen == Chosen([], [], [(1, 1)])
