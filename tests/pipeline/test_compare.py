"""The comparison of two sides by sums that no order changes."""

from __future__ import annotations

from typing import Any

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
