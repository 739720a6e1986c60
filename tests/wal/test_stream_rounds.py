"""Streams in a row that come and go while rounds are made: none is missed, and no step touches them all."""

from __future__ import annotations

import random

import pytest

from wal.stream_producers import StreamProducers
from wal.stream_rounds import Round, StreamRow


def row_of(*stream_ids: int) -> tuple[dict[int, StreamProducers], StreamRow]:
    streams: dict[int, StreamProducers] = {}
    row = StreamRow(streams)
    for stream_id in stream_ids:
        row.add(stream_id, StreamProducers())
    return streams, row


def rest_of(way: Round) -> list[int]:
    return list(iter(way.next, None))


def test_a_round_meets_each_stream_once_and_then_begins_again() -> None:
    way = Round(row_of(4, 7, 9)[1])
    assert rest_of(way) == []
    assert rest_of(way) == [9, 7, 4]
    assert rest_of(way) == [9, 7, 4]


def test_a_round_of_no_streams_ends_at_once() -> None:
    way = Round(row_of()[1])
    assert [way.next(), way.next()] == [None, None]


def test_a_stream_that_is_removed_is_met_no_more() -> None:
    streams, row = row_of(1, 2, 3, 4)
    way = Round(row)
    assert [way.next(), way.next()] == [None, 4]
    row.remove(2)
    assert rest_of(way) == [3, 4, 1]
    assert sorted(streams) == [1, 3, 4]


def test_a_removed_row_is_empty() -> None:
    streams, row = row_of(1, 2)
    row.clear()
    assert (len(row), streams) == (0, {})


@pytest.mark.parametrize("seed", range(20))
def test_no_stream_that_is_there_all_the_time_is_missed_in_a_round(seed: int) -> None:
    chance = random.Random(seed)
    streams, row = row_of(*range(50))
    way = Round(row)
    rest_of(way)
    stays = set(range(50))
    met = set()
    next_id = 50
    while (stream_id := way.next()) is not None:
        met.add(stream_id)
        for _ in range(chance.randrange(3)):
            gone = chance.choice(list(streams))
            stays.discard(gone)
            row.remove(gone)
        if chance.random() < 0.7:
            row.add(next_id, StreamProducers())
            next_id += 1
        assert [streams[row[place]].place for place in range(len(row))] == list(range(len(row)))
    assert stays <= met
