"""The words and the JSON of a run."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from typing import Any

import pytest

from pipeline.ledger import Totals
from pipeline.progress import Progress, Summary
from pipeline.report import JsonReport, TextReport, progress_line, size, summary_lines
from tests.pipeline.made import entry

PROGRESS = Progress(
    job="land-t",
    batches=3,
    rows=180_000,
    bad=2,
    late=7,
    rows_per_second=31_234.5,
    bytes_per_second=10_500_000.0,
    lag=156_776,
    worst=("t", 1, 81_234),
    seconds_left=5.2,
    seconds_behind=12.0,
    away_since_ms=None,
)


def summary(**run: int) -> Summary:
    counts: dict[str, Any] = {"batches": 2, "offsets": 12, "rows": 10, "bad": 2, "files": 4, **run}
    return Summary(
        job="land-t",
        outcome="done",
        run=Totals(**counts, size_bytes=5_400_000, payload_bytes=114_000_000),
        total=Totals(rows=336_776),
        elapsed_seconds=2.0,
        table="/lake/t",
        quarantine="/lake/t_bad",
    )


def json_events(*, of: str, value: Any) -> list[dict[str, Any]]:
    out = io.StringIO()
    getattr(JsonReport(out), of)(value)
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_a_progress_line_says_rows_rate_lag_bad_and_time_left() -> None:
    assert progress_line(PROGRESS) == (
        "land-t  3 batches | 180,000 rows | 31,234 rows/s 10.5 MB/s | "
        "lag 156,776 (most: t-1 81,234; 12 s behind) | late 7 bad 2 | about 5 s left"
    )


def test_a_broker_that_is_away_is_said_with_the_time_of_its_last_answer() -> None:
    away = replace(PROGRESS, away_since_ms=1_356_998_405_000, seconds_left=None)
    assert progress_line(away).endswith(" | BROKER AWAY since 00:00:05 UTC")


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(59.4, "about 59 s left"), (125.0, "about 2 min 5 s left"), (9_000.0, "about 2.5 h left")],
)
def test_the_time_left_is_said_in_fitting_units(seconds: float, words: str) -> None:
    fields = {name: getattr(PROGRESS, name) for name in PROGRESS.__slots__}
    assert progress_line(Progress(**{**fields, "seconds_left": seconds})).endswith(words)


def test_the_summary_says_what_landed_how_fast_and_where() -> None:
    assert summary_lines(summary()) == [
        "land-t: done",
        "  rows     10 landed, 336,776 in the table",
        "  bad      2, in /lake/t_bad",
        "  bytes    114.0 MB of records in 5.4 MB of Parquet",
        "  batches  2 with 4 files",
        "  elapsed  2.0 s, 5 rows/s",
        "  table    /lake/t",
    ]


def test_the_summary_tells_of_offsets_without_a_record() -> None:
    assert (
        "  empty    3 offsets without a record (transaction markers, deleted records, what a view leaves out)"
        in summary_lines(summary(offsets=15))
    )


def test_people_get_progress_on_standard_error_and_the_summary_on_standard_output() -> None:
    out, err = io.StringIO(), io.StringIO()
    report = TextReport(out, err)
    report.note("starting")
    report.batch(entry(0, 0, 5))
    report.progress(PROGRESS)
    report.summary(summary())
    assert err.getvalue() == f"starting\n{progress_line(PROGRESS)}\n"
    assert out.getvalue().startswith("land-t: done\n")


def test_programs_get_one_json_object_per_event() -> None:
    assert json_events(of="note", value="hello") == [{"event": "note", "text": "hello"}]
    [progress] = json_events(of="progress", value=PROGRESS)
    assert (progress["event"], progress["rows"], progress["worst"]) == ("progress", 180_000, ["t", 1, 81_234])
    [ended] = json_events(of="summary", value=summary())
    assert (ended["outcome"], ended["rows"], ended["total"]["rows"]) == ("done", 10, 336_776)
    [batch] = json_events(of="batch", value=entry(4, 20, 25))
    assert (batch["batch"], batch["rows"]) == (4, 5)
    assert batch["ranges"] == [{"topic": "t", "partition": 0, "from": 20, "until": 25}]


def test_programs_get_errors_with_the_exit_code() -> None:
    out = io.StringIO()
    JsonReport(out).error("no broker answers", 1)
    assert json.loads(out.getvalue()) == {"event": "error", "text": "no broker answers", "exit_code": 1}


@pytest.mark.parametrize(
    ("size_bytes", "words"),
    [(0, "0 B"), (999, "999 B"), (1_000, "1.0 kB"), (5_400_000, "5.4 MB"), (7e15, "7000.0 TB")],
)
def test_sizes_are_short(size_bytes: float, words: str) -> None:
    assert size(size_bytes) == words


def test_the_summary_of_a_copy_tells_of_topics_and_not_of_files() -> None:
    totals = Totals(batches=2, offsets=12, rows=10, payload_bytes=4_000)
    summary = Summary(
        job="copy",
        outcome="done",
        run=totals,
        total=totals.plus(totals),
        elapsed_seconds=2.0,
        table="/state",
        quarantine="/state_bad",
        target="flights on west:9092",
    )
    assert summary_lines(summary) == [
        "copy: done",
        "  records  10 copied, 20 in all",
        "  bytes    4.0 kB",
        "  empty    2 offsets without a record (transaction markers, deleted records, what a "
        "view leaves out)",
        "  batches  2",
        "  elapsed  2.0 s, 5 records/s",
        "  target   flights on west:9092",
    ]
