"""Views over a topic that is compacted, truncated, grown, made again and restarted show what it has now.

Each is read through Fetch from any offset in any portions, by ListOffsets, by SELECT of `kawal sql`, and by
the plan that the pipeline runs in Spark's workers.
KAWAL_VIEW_MODEL_SEEDS says how many lives are tried, KAWAL_VIEW_MODEL_FIRST which is the first.
"""

from __future__ import annotations

import json
import os
from typing import Any

import pyarrow as pa
import pytest

from console import admin
from console.sql.select import select
from console.sql.session import Session
from pipeline.derivation import view_reader
from protocol.record_reader import Record
from tests.broker.kit import offset_of
from tests.broker.view_topics.view_model import (
    CHANGES_ALONE,
    HIDDEN,
    LATE_MS,
    TAGS_QUERY,
    VERSIONED,
    VIEWS,
    ViewModel,
    parsed,
    plain,
)
from tests.broker.views import origin

SEEDS = int(os.environ.get("KAWAL_VIEW_MODEL_SEEDS", "3"))
FIRST = int(os.environ.get("KAWAL_VIEW_MODEL_FIRST", "0"))
STEPS = 60
CHECKED = 12
"""The steps between two checks of all views."""


def check_view(model: ViewModel, name: str, index: int, truth: list[Any]) -> None:
    """Read a view from its start, and from anywhere, and compare it with its statement."""
    statement = VIEWS[name][1]
    wanted = [
        (record.offset, record.key, value) for record in truth if (value := statement(record)) is not HIDDEN
    ]
    start, end = (offset_of(model.client, name, which, index).offset for which in (-2, -1))
    for offset in (start, model.chance.randint(start, end)):
        found = []
        for record in model.read(name, index, offset):
            shown = parsed(record.value) if name in ("some", "recent") else record.value
            found.append((record.offset, record.key, shown))
        assert found == [item for item in wanted if item[0] >= offset], (name, index, offset)


def check_offsets(model: ViewModel, index: int) -> None:
    """Compare the ends and the times of views that have those of the topic."""
    for name in ("every", "other", "some", "keyed", "bad"):
        for asked in (-2, -1, LATE_MS, model.time_ms):
            ours, theirs = (offset_of(model.client, topic, asked, index) for topic in (name, "t"))
            assert (ours.error_code, ours.offset) == (theirs.error_code, theirs.offset), (name, index, asked)


def check_versioned(model: ViewModel, truths: dict[int, list[Any]]) -> None:
    """Compare views whose offsets are versions by the offsets in their headers."""
    wanted = {(index, plain(record)) for index, truth in truths.items() for record in truth}
    vnodes = model.gateway.broker.catalogue.databases["d"].vnode_count
    for name in VERSIONED:
        count = len(truths) if name == "changes" else vnodes
        found = []
        for index in range(count):
            start = offset_of(model.client, name, -2, index).offset
            for record in model.read(name, index, start):
                if ("kawal.kind", b"meta") in record.headers:
                    continue
                _, partition, offset = origin(record)
                found.append((int(partition), (int(offset), record.key, record.value)))
        assert len(found) == len(set(found)), f"{name} shows a record twice"
        if not model.is_compacted:
            assert set(found) == wanted, f"{name}: {set(found) ^ wanted}"
        elif name == "changes":
            assert set(found) <= wanted, f"{name}: {set(found) - wanted}"
        for index in truths:
            offsets = [place[0] for partition, place in found if partition == index]
            assert offsets == sorted(offsets), (name, index)


def check_tables(model: ViewModel, truths: dict[int, list[Any]]) -> None:
    """Compare what records tell of sub-tables with what the views show before them, and with a query."""
    tags = {
        (index, record.offset): record.value
        for index in truths
        for record in model.read(TAGS_QUERY, index, offset_of(model.client, TAGS_QUERY, -2, index).offset)
    }
    for name, alone in CHANGES_ALONE.items():
        for index in range(model.gateway.broker.find_topic(name).partition_count):
            start, end = (offset_of(model.client, name, which, index).offset for which in (-2, -1))
            shown = model.read(name, index, start)
            has_all = not model.is_compacted or name == "changes"
            wanted = told_by(shown, tags if has_all else None) if model.declares else []
            assert model.declares or not any("kawal.table" in dict(record.headers) for record in shown)
            middle = model.chance.randint(start, end)
            assert model.read(name, index, middle) == [item for item in shown if item.offset >= middle]
            changes = [record for record in model.read(alone, index, start) if record.key == b"t"]
            found = [
                (change.offset, change.value) for change in changes if b" table" in (change.value or b"")
            ]
            assert found == wanted, f"{alone}-{index}: {found} is not {wanted}"


def rows(shown: list[Record]) -> list[Record]:
    return [record for record in shown if ("kawal.kind", b"meta") not in record.headers]


def told_by(shown: list[Record], tags: dict[tuple[int, int], bytes | None] | None) -> list[Any]:
    """Return the changes that the headers of records tell, after comparing them with the records before."""
    known: dict[tuple[int, bytes], Any] = {}
    changes = []
    for record in rows(shown):
        header = dict(record.headers).get("kawal.table")
        _, partition, offset = origin(record)
        fits = record.value is None or parsed(record.value) is not None
        assert (header is not None) == (record.key is not None and fits), record
        if header is None:
            continue
        told, key = json.loads(header), (int(partition), record.key or b"")
        assert told["table"] == key[1].decode()
        if record.value is None:
            expected, own = "drop table" if known.pop(key, None) is not None else None, None
        else:
            own = known.get(key)
            expected = "create table" if own is None else "alter table" if own != told["tags"] else None
            known[key] = told["tags"]
            if tags is not None:
                assert json.loads(tags[key[0], int(offset)] or b"") == told["tags"], (told, record)
        assert told.get("type") == expected, f"{record}: {expected}"
        if expected is not None:
            changes.append((record.offset, header))
    return changes


def check_select(model: ViewModel, truths: dict[int, list[Any]]) -> None:
    """Compare SELECT of `kawal sql` with the view of the same statement."""
    session = Session("h:1")
    rows = select(session, "SELECT v, s FROM t WHERE v > 2").as_tree()
    statement = VIEWS["some"][1]
    wanted = [
        value for truth in truths.values() for record in truth if (value := statement(record)) is not HIDDEN
    ]
    assert rows == wanted, json.dumps(rows)
    (counted,) = select(session, "SELECT COUNT(*) FROM t").rows
    assert counted == (sum(map(len, truths.values())),)


def check_pipeline(name: str, truth: list[Any]) -> None:
    """Compare what the pipeline makes of the records of a topic with the view of the same statement."""
    configs, statement = VIEWS[name]
    columns = {
        "key": pa.array([record.key for record in truth], pa.binary()),
        "value": pa.array([record.value for record in truth], pa.binary()),
        "offset": pa.array([record.offset for record in truth], pa.int64()),
        "timestamp": pa.array([record.timestamp_ms * 1_000 for record in truth], pa.timestamp("us", "UTC")),
    }
    reader = view_reader(configs["kawal_sql"], "v int, s string")
    [made] = reader(iter([pa.RecordBatch.from_pydict(columns)]))
    found = made.to_pydict()
    shown = [parsed(value) if name != "late" else value for value in found["value"]]
    wanted = [(record.offset, value) for record in truth if (value := statement(record)) is not HIDDEN]
    assert list(zip(found["offset"], shown, strict=True)) == wanted, name


@pytest.mark.parametrize("seed", range(FIRST, FIRST + SEEDS))
def test_views_show_what_their_statement_gives_of_the_topic_as_it_is_now(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = ViewModel(seed)
    monkeypatch.setattr(
        admin, "ask_server", lambda _bootstrap, request, version: model.client.call(request, version)
    )
    happened = []
    try:
        for number in range(STEPS):
            happened.append(model.step())
            if number % CHECKED == CHECKED - 1:
                truths = {index: model.truth(index) for index in model.written}
                for index, truth in truths.items():
                    for name in VIEWS:
                        check_view(model, name, index, truth)
                    for name in ("some", "late", "recent"):
                        check_pipeline(name, truth)
                    check_offsets(model, index)
                check_versioned(model, truths)
                check_tables(model, truths)
                check_select(model, truths)
    except AssertionError as error:
        raise AssertionError(f"seed {seed}, after {' '.join(happened)}: {error}") from error
