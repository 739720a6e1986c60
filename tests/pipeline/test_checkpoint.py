"""The reader of Spark's checkpoint folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.checkpoint import Checkpoint
from pipeline.errors import LedgerError
from pipeline.positions import Range
from tests.pipeline.made import QUERY, write_checkpoint


def test_a_batch_reaches_from_the_previous_positions_to_its_own(tmp_path: Path) -> None:
    write_checkpoint(tmp_path, planned=[{"t": {"0": 7}}, {"t": {"0": 10}}, {"t": {"0": 15}}])
    checkpoint = Checkpoint(tmp_path)
    assert checkpoint.ranges(0) == [Range(topic="t", partition=0, begin=7, until=10)]
    assert checkpoint.ranges(1) == [Range(topic="t", partition=0, begin=10, until=15)]


def test_a_new_partition_begins_at_its_first_offset(tmp_path: Path) -> None:
    write_checkpoint(tmp_path, planned=[{"t": {"0": 7}}, {"t": {"0": 7, "1": 4}}])
    assert Checkpoint(tmp_path).ranges(0) == [Range(topic="t", partition=1, begin=0, until=4)]


def test_partitions_are_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    ends = {str(partition): 1 for partition in (10, 9, 2)}
    write_checkpoint(tmp_path, planned=[{"t": dict.fromkeys(ends, 0)}, {"t": ends}])
    assert [held.partition for held in Checkpoint(tmp_path).ranges(0)] == [2, 9, 10]


def test_the_query_keeps_its_id(tmp_path: Path) -> None:
    write_checkpoint(tmp_path, planned=[{"t": {"0": 0}}])
    assert Checkpoint(tmp_path).query_id() == QUERY


def test_planned_and_committed_batches_are_counted_by_their_files(tmp_path: Path) -> None:
    assert Checkpoint(tmp_path).last_planned() == -1
    assert Checkpoint(tmp_path).last_committed() == -1
    write_checkpoint(tmp_path, planned=[{"t": {"0": batch}} for batch in range(12)], committed=9)
    assert Checkpoint(tmp_path).last_planned() == 10
    assert Checkpoint(tmp_path).last_committed() == 9


@pytest.mark.parametrize("damage", ["", "v1\n{}\n", "v1\n{}\n{broken"])
def test_a_damaged_file_is_named_with_the_remedy(tmp_path: Path, damage: str) -> None:
    write_checkpoint(tmp_path, planned=[{"t": {"0": 0}}, {"t": {"0": 3}}])
    (tmp_path / "offsets" / "0").write_text(damage)
    with pytest.raises(LedgerError, match=f"{tmp_path}/offsets/0 .* cannot be read: .* move {tmp_path} away"):
        Checkpoint(tmp_path).ranges(0)
