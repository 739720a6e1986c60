"""The comparison of two sides by sums that no order changes."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline.compare import HASH, compared

BOUNDS = [(("t", 0), 0, 0, 3)]


def side(spark: Any, *rows: tuple[int, int]) -> Any:
    return spark.createDataFrame(
        [("t", 0, offset, hashed) for offset, hashed in rows],
        f"topic string, partition int, offset long, {HASH} long",
    )


def test_each_kind_of_difference_has_its_sentence(spark: Any) -> None:
    [found] = compared(
        BOUNDS, side(spark, (0, 7), (1, 8)), side(spark, (1, 9), (2, 5), (2, 5)), {("t", 0): 1}
    )
    assert (found.empty, found.source.bad, found.table.doubled) == (0, 1, 1)
    assert [sentence.split(":")[0] for sentence in found.differences] == [
        "1 offsets landed more than once",
        "1 offsets missing in the table",
        "1 offsets extra in the table",
        "1 offsets different in the table",
    ]


def test_of_very_many_partitions_that_differ_the_first_are_explained(
    spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each partition that differed, and each with deleted offsets, cost several queries of its own."""
    monkeypatch.setattr("pipeline.compare.EXPLAINED_PARTITIONS", 1)
    bounds = [(("t", partition), 2, 2, 4) for partition in range(3)]
    kinds = f"topic string, partition int, offset long, {HASH} long"
    source = spark.createDataFrame([("t", partition, 2, 7) for partition in (0, 1, 2)], kinds)
    table = spark.createDataFrame([("t", 0, 1, 9), ("t", 2, 1, 9), ("t", 2, 2, 7)], kinds)
    first, second, third = compared(bounds, source, table, {})
    assert first.differences == ("1 offsets missing in the table: 2",)
    assert second.differences == ("1 rows in the source and 0 in the table differ",)
    assert third.equal, third


def test_ten_thousand_partitions_with_deleted_offsets_are_one_comparison(spark: Any) -> None:
    bounds = [(("t", partition), 1, 1, 2) for partition in range(10_000)]
    found = compared(bounds, side(spark, (1, 7)), side(spark, (0, 3), (1, 7)), {})
    assert all(each.equal for each in found)
    assert found[0].table.rows == 1
