"""A segment's index gives the same answers from memory and from its file, and a damaged file is rejected."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from wal.index import BLOCK_EXTENTS, ActiveIndex, SegmentIndex
from wal.index_file import FileIndex, decode_index, encode_index

SEED = 77


def built(seed: int = 1, streams: int = 20, extents: int = 300) -> ActiveIndex:
    chance = random.Random(seed)
    index = ActiveIndex()
    ends = dict.fromkeys(chance.sample(range(1_000_000), streams), 0)
    position = 64
    for number in range(extents):
        if number % 5 == 0:
            index.add_frame(position, number * 10)
        stream_id = chance.choice(list(ends))
        count, size = chance.randrange(1, 9), chance.randrange(61, 5_000)
        index.add(
            stream_id,
            base=ends[stream_id],
            count=count,
            position=position,
            size=size,
            max_timestamp=chance.randrange(-5, 100),
            version=number * 10 + 1,
        )
        ends[stream_id] += count + chance.choice((0, 0, 3))
        position += size
    return index


def stored(index: ActiveIndex) -> FileIndex:
    data = encode_index(index, vnode_id=1, base_version=42, end_position=9_999, next_version=50, seed=SEED)
    decoded = decode_index(data, base_version=42, seed=SEED)
    assert decoded is not None
    return decoded


def rows(index: SegmentIndex, stream_id: int) -> list[tuple[int, ...]]:
    return [
        (
            index.base[r],
            index.count[r],
            index.position[r],
            index.size[r],
            index.max_timestamp[r],
            index.version[r],
        )
        for r in index.slots(stream_id) or ()
    ]


def test_a_stored_index_answers_as_the_one_in_memory() -> None:
    active = built()
    from_file = stored(active)

    assert list(from_file.stream_ids()) == sorted(active.stream_ids())
    for stream_id in [*active.stream_ids(), 5, 1_000_001]:
        assert rows(from_file, stream_id) == rows(active, stream_id)
        assert from_file.range_of(stream_id) == active.range_of(stream_id)
    assert list(from_file.frame_version) == list(active.frame_version)
    assert list(from_file.frame_position) == list(active.frame_position)


@pytest.mark.parametrize("kind", ["memory", "file"])
def test_place_finds_the_extent_that_begins_at_or_before(kind: str) -> None:
    active = built()
    index: SegmentIndex = active if kind == "memory" else stored(active)
    for stream_id in active.stream_ids():
        slots = index.slots(stream_id)
        assert slots is not None
        bases = [index.base[row] for row in slots]
        for offset in range(-1, bases[-1] + 20):
            expected = max((n for n, base in enumerate(bases) if base <= offset), default=-1)
            assert index.place(slots, offset) == expected


def test_frame_of_finds_the_frame_that_holds_a_version() -> None:
    index = stored(built())

    assert index.frame_of(-1) == -1
    assert index.frame_of(0) == 0
    assert index.frame_of(49) == 0
    assert index.frame_of(50) == 1


def test_an_empty_index_can_be_stored() -> None:
    index = stored(ActiveIndex())

    assert list(index.stream_ids()) == []
    assert index.range_of(1) is None


def test_an_index_of_no_kind_answers_nothing() -> None:
    with pytest.raises(NotImplementedError):
        SegmentIndex().slots(1)
    with pytest.raises(NotImplementedError):
        SegmentIndex().stream_ids()


def many(extents: int, chance: random.Random, *, streams: int = 2) -> ActiveIndex:
    """Return an index with times that ascend, more or less."""
    index = ActiveIndex()
    for number in range(extents):
        index.add(
            1 + number % streams,
            base=number,
            count=1,
            position=64 + 61 * number,
            size=61,
            max_timestamp=10 * number + chance.randrange(-400, 400),
            version=number,
        )
    return index


@pytest.mark.parametrize("extents", [0, 1, BLOCK_EXTENTS, 3 * BLOCK_EXTENTS + 7, 2_000])
@pytest.mark.parametrize("is_stored", [False, True])
def test_places_by_time_are_those_of_a_walk(extents: int, is_stored: bool) -> None:
    chance = random.Random(extents)
    active = many(extents, chance)
    index = stored(active) if is_stored else active
    slots = index.slots(1) or ()
    times = [index.max_timestamp[row] for row in slots]
    for _ in range(300):
        place = chance.randrange(len(slots) + 1)
        wanted = chance.randrange(-500, 10 * extents + 500)
        walked = next((at for at in range(place, len(slots)) if times[at] >= wanted), len(slots))
        assert index.place_since(1, place, wanted) == walked
        if place < len(slots):
            newest = max(times[place:])
            assert index.newest_from(1, place) == (newest, times.index(newest, place))


class CountedColumn(Sequence[int]):
    """A column that counts the rows that are looked at."""

    def __init__(self, column: Sequence[int]) -> None:
        self.column = column
        self.looks = 0

    def __len__(self) -> int:
        return len(self.column)

    def __getitem__(self, row):  # type: ignore[no-untyped-def]
        self.looks += 1
        return self.column[row]


@pytest.mark.parametrize("extents", [20_000, 200_000])
def test_a_search_by_time_looks_at_the_extents_of_two_blocks_however_many_there_are(extents: int) -> None:
    index = stored(many(extents, random.Random(1), streams=1))
    index.block_times(1)
    index.max_timestamp = counted = CountedColumn(index.max_timestamp)
    assert index.place_since(1, 3, 10 * extents - 500) > extents - 200
    assert index.place_since(1, 3, 10**9) == extents
    assert counted.looks <= 4 * BLOCK_EXTENTS
    counted.looks = 0
    newest, _ = index.newest_from(1, 3)
    assert newest > 10 * extents - 500
    assert counted.looks <= 3 * BLOCK_EXTENTS


@pytest.mark.parametrize("seed", range(3))
def test_the_last_extent_of_each_stream_is_told_with_its_version(seed: int) -> None:
    index = built(seed)
    expected = {stream_id: index.version[index.by_stream[stream_id][-1]] for stream_id in index.stream_ids()}
    assert dict(index.newest_versions()) == expected
    assert list(stored(index).newest_versions()) == sorted(expected.items())
