"""The comparison of a copy with its source: by the map, in order, without what others wrote."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline import topic_audit
from pipeline.compare import Finding
from pipeline.copy_state import CopyState
from pipeline.errors import TargetError
from pipeline.offset_map import MapRecord, Origin, Run
from tests.pipeline.made import LAKE, job

COPY = job(LAKE, job={"name": "a", "kind": "replicate"}, target={"bootstrap": "b:1", "topic": "there"})
EAST = Origin("east", "t")
SCHEMA = (
    "key binary, value binary, topic string, partition int, offset long, timestamp timestamp, "
    "headers array<struct<key: string, value: binary>>"
)


def records(
    spark: Any, topic: str, values: dict[int, bytes | None], keys: dict[int, bytes] | None = None
) -> Any:
    from datetime import UTC, datetime

    at = datetime(2013, 1, 1, tzinfo=UTC)
    rows = [((keys or {}).get(offset), value, topic, 0, offset, at, None) for offset, value in values.items()]
    return spark.createDataFrame(rows, SCHEMA)


def audited(
    spark: Any,
    monkeypatch: pytest.MonkeyPatch,
    source: dict[int, bytes | None],
    target: dict[int, bytes | None],
    *,
    came: list[MapRecord] | None = None,
    earliest: int = 0,
    kept: int = 0,
    compacted: dict[str, set[str]] | None = None,
    keys: dict[int, bytes] | None = None,
) -> Finding:
    """Compare; `compacted` are topics by broker, `keys` those of the offsets of both sides."""
    brokers = compacted or {}
    monkeypatch.setattr(topic_audit, "compacted_topics", lambda at, *_: brokers.get(at, set()))

    def read_range(_spark: Any, _job: Any, start: Any, _end: Any) -> Any:
        return records(spark, "t", source, keys).where(f"offset >= {start['t']['0']}")

    monkeypatch.setattr(topic_audit, "read_range", read_range)
    monkeypatch.setattr(topic_audit, "_target", lambda *_: records(spark, "there", target, keys))
    copied = [
        MapRecord(
            job="a",
            topic="t",
            partition=0,
            target_topic="there",
            target_id="id",
            begin=0,
            until=6,
            origins=[EAST],
            runs=[Run(0, 10, 2), Run(4, 13, 2)],
        )
    ]
    state = CopyState(
        copied=copied, came=came or [], home={"t": Origin("west", "there")}, earliest={"there": {"0": kept}}
    )
    [finding] = topic_audit.audit_topics(spark, COPY, state, {"t": {"0": earliest}})
    return finding


SOURCE: dict[int, bytes | None] = {0: b"a", 1: b"b", 4: None, 5: b""}
TARGET: dict[int, bytes | None] = {10: b"a", 11: b"b", 12: b"another's", 13: None, 14: b""}


def test_a_copy_is_equal_whatever_offsets_it_has_whatever_others_wrote_and_without_what_came_home(
    spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    came = MapRecord(
        job="back",
        topic="there",
        partition=0,
        target_topic="t",
        target_id="x",
        begin=0,
        until=9,
        origins=[Origin("west", "there")],
        runs=[Run(0, 2, 1)],
    )
    found = audited(spark, monkeypatch, {**SOURCE, 2: b"came"}, TARGET, came=[came])
    assert found.equal, found.differences
    assert (found.begin, found.until, found.table.rows, found.empty) == (0, 6, 4, 2)


def test_another_value_order_or_number_is_named_by_the_offsets_of_the_source(
    spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    target: dict[int, bytes | None] = {10: b"b", 11: b"a", 13: b""}
    assert audited(spark, monkeypatch, SOURCE, target).differences == (
        "1 offsets missing in the table: 5",
        "3 offsets different in the table: 0, 1, 4",
    )


KEYS = {0: b"x", 1: b"y", 4: b"x", 5: b"z", 10: b"x", 11: b"y", 13: b"x", 14: b"z"}


def test_a_copy_that_is_compacted_may_lack_all_but_the_last_of_each_key(
    spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = {"b:1": {"there"}}
    source: dict[int, bytes | None] = {0: b"a", 1: b"b", 4: b"c", 5: None}
    lacks: dict[int, bytes | None] = {11: b"b", 13: b"c"}
    assert audited(spark, monkeypatch, source, lacks, compacted=there, keys=KEYS).equal
    assert not audited(spark, monkeypatch, source, lacks, keys=KEYS).equal
    lost: dict[int, bytes | None] = {10: b"a", 11: b"b"}
    found = audited(spark, monkeypatch, source, lost, compacted=there, keys=KEYS)
    assert found.differences == ("1 offsets missing in the table: 4",)


def test_a_source_that_was_compacted_since_lacks_what_its_copy_has(
    spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = {offset: value for offset, value in SOURCE.items() if offset != 1}
    found = audited(spark, monkeypatch, source, TARGET, compacted={COPY.source.bootstrap: {"t"}})
    assert (found.equal, found.removed) == (True, 1), found.differences


def test_what_either_side_has_deleted_since_is_not_compared(
    spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = {offset: value for offset, value in TARGET.items() if offset >= 14}
    found = audited(spark, monkeypatch, SOURCE, later, kept=14, earliest=4)
    assert (found.equal, found.begin, found.unseen) == (True, 5, 5), found


def test_a_job_that_has_copied_nothing_is_refused(spark: Any) -> None:
    with pytest.raises(TargetError, match="has copied nothing yet"):
        topic_audit.audit_topics(spark, COPY, CopyState(copied=[], came=[], home={}, earliest={}), {})
