"""Chunks of a growing segment are few, lie end to end, and are rarely uploaded again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from wal.remote.chunks import FANOUT, next_chunk
from wal.remote.formats import Chunk


def grown(sizes: list[int]) -> tuple[list[Chunk], int]:
    """Return the chunks after rounds that added so many bytes, and the bytes uploaded in all."""
    chunks: list[Chunk] = []
    end = uploaded = 0
    for number, size in enumerate(sizes):
        end += size
        position, level, kept = next_chunk(chunks)
        chunks[kept:] = [Chunk(str(number), position, end - position, 0, 0, level)]
        uploaded += end - position
    return chunks, uploaded


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=600))
def test_chunks_lie_end_to_end_from_the_beginning(sizes: list[int]) -> None:
    chunks, _ = grown(sizes)
    ends = [0, *(chunk.end for chunk in chunks)]
    assert [chunk.position for chunk in chunks] == ends[:-1]
    assert ends[-1] == sum(sizes)


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=600))
def test_there_are_at_most_seven_chunks_of_each_level(sizes: list[int]) -> None:
    chunks, _ = grown(sizes)
    levels = [chunk.level for chunk in chunks]
    assert levels == sorted(levels, reverse=True)
    assert all(levels.count(level) < FANOUT for level in levels)


def test_a_byte_is_uploaded_once_for_each_level() -> None:
    chunks, uploaded = grown([1] * 8**4)
    assert len(chunks) == 1
    assert uploaded <= 8**4 * 5
