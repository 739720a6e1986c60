"""The offset map: runs of offsets, their records, and where a reader of the source continues."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.offset_map import (
    RUNS_IN_RECORD,
    MapRecord,
    Origin,
    PartitionMap,
    Run,
    decoded,
    encoded,
    foreign_pieces,
    maps_of,
    runs_of,
)

EAST = Origin("east", "t")
NORTH = Origin("north", "t")


def record(begin: int, until: int, *runs: Run, origins: list[Origin] | None = None) -> MapRecord:
    return MapRecord(
        job="copy",
        topic="t",
        partition=0,
        target_topic="there",
        target_id="id",
        begin=begin,
        until=until,
        origins=origins or [EAST],
        runs=list(runs),
    )


def test_offsets_that_go_up_together_are_one_run() -> None:
    source, target = [100, 101, 102, 105, 106], [90, 91, 92, 93, 94]
    assert runs_of(source, target, [0] * 5) == [Run(100, 90, 3), Run(105, 93, 2)]


def test_a_gap_of_the_target_and_another_origin_begin_a_run() -> None:
    assert runs_of([0, 1, 2], [0, 2, 3], [0, 0, 1]) == [Run(0, 0, 1), Run(1, 2, 1), Run(2, 3, 1, 1)]
    assert runs_of([], [], []) == []


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(1, 3)), max_size=50))
def test_runs_are_the_offsets_they_were_made_of(steps: list[tuple[int, int]]) -> None:
    source, target = [0], [7]
    for further, further_there in steps:
        source.append(source[-1] + further)
        target.append(target[-1] + further_there)
    pairs = [
        (run.source + at, run.target + at)
        for run in runs_of(source, target, [0] * len(source))
        for at in range(run.length)
    ]
    assert pairs == list(zip(source, target, strict=True))


def test_a_record_is_read_as_it_was_written() -> None:
    [(key, value)] = encoded(record(0, 9, Run(0, 5, 4)))
    assert key == b'["copy","t",0,0,0]'
    assert decoded(value) == record(0, 9, Run(0, 5, 4))


def test_very_many_runs_become_several_records_with_keys_of_their_own() -> None:
    runs = [Run(2 * at, at, 1) for at in range(RUNS_IN_RECORD + 1)]
    written = list(encoded(record(0, 2 * len(runs), *runs)))
    assert len({key for key, _ in written}) == 2
    assert [run for _, value in written for run in decoded(value).runs] == runs
    assert max(len(value) for _, value in written) < 500_000


@pytest.mark.parametrize(
    ("offset", "target"),
    [
        (10, 90),
        (12, 92),
        (13, 93),  # read up to a gap: the next record that was copied
        (15, 93),
        (16, 94),
        (17, 95),  # the end: what is copied next
        (20, 95),
        (9, None),
        (21, None),
    ],
)
def test_a_reader_goes_on_at_the_record_it_has_not_read(offset: int, target: int | None) -> None:
    held = PartitionMap([record(13, 20, Run(15, 93, 2)), record(10, 13, Run(10, 90, 3))])
    assert (held.begin, held.until) == (10, 20)
    assert held.target_of(offset) == target


def test_maps_are_kept_apart_by_partition() -> None:
    other = MapRecord(
        job="copy",
        topic="u",
        partition=1,
        target_topic="there",
        target_id="id",
        begin=0,
        until=1,
        origins=[EAST],
        runs=[Run(0, 0, 1)],
    )
    assert set(maps_of([record(0, 1, Run(0, 3, 1)), other])) == {("t", 0), ("u", 1)}


def test_what_others_copied_into_a_topic_is_found_by_its_own_offsets_with_its_origin() -> None:
    records = [record(0, 9, Run(4, 8, 2, 1), Run(0, 0, 3), origins=[EAST, NORTH])]
    assert foreign_pieces(records, "there") == {0: [(0, 3, EAST), (8, 10, NORTH)]}
    assert foreign_pieces(records, "t") == {}
