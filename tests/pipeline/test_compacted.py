"""Tests of what compaction may take from either side of a comparison, and what it may not."""

from __future__ import annotations

from typing import Any

from pipeline.compacted import HAS_VALUE, KEY, compacted_topics, must_be_there, still_there
from pipeline.security import SecuritySection


def side(spark: Any, *rows: tuple[str, int, int, bool]) -> Any:
    made = [(topic, 0, offset, key, has_value) for topic, offset, key, has_value in rows]
    return spark.createDataFrame(
        made, f"topic string, partition int, offset long, {KEY} long, {HAS_VALUE} boolean"
    )


def offsets(frame: Any) -> list[tuple[str, int]]:
    return sorted((row.topic, row.offset) for row in frame.collect())


def test_rows_whose_record_is_gone_stay_only_where_nothing_is_compacted(spark: Any) -> None:
    copy = side(spark, ("c", 0, 1, True), ("c", 1, 1, True), ("p", 0, 1, True), ("c", 1, 1, True))
    source = side(spark, ("c", 1, 1, True))
    assert offsets(still_there(copy, source, {"c"})) == [("c", 1), ("c", 1), ("p", 0)]
    assert offsets(still_there(copy, source, set())) == offsets(copy)


def test_the_last_record_of_a_key_must_be_there_unless_it_has_no_value(spark: Any) -> None:
    source = side(
        spark,
        ("c", 0, 1, True),
        ("c", 1, 1, True),
        ("c", 2, 2, True),
        ("c", 3, 2, False),
        ("p", 0, 1, True),
        ("p", 1, 1, True),
    )
    copy = side(spark, ("c", 2, 2, True))
    wanted = [("c", 1), ("c", 2), ("p", 0), ("p", 1)]
    assert offsets(must_be_there(source, copy, {"c"})) == wanted
    assert offsets(must_be_there(source, copy, ())) == offsets(source)


def test_without_topics_no_broker_is_asked() -> None:
    assert compacted_topics("nowhere:1", SecuritySection(), []) == set()
