"""Reading an audit log: files in order, torn lines, filters, cells."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from console.audit_lines import Wanted, events_of, files_of, moment_of, row_of, since_of
from console.errors import CommandError, UsageError

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
LOGIN = {
    "time": "2026-11-23T10:00:00.000Z",
    "event": "login.failed",
    "claimed": "alice",
    "user": "User:ANONYMOUS",
}


def test_older_files_come_first(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    for name in ("audit.log", "audit.log.1", "audit.log.2", "audit.log.9"):
        (tmp_path / name).write_text(json.dumps({"event": name}) + "\n")
    found = list(events_of(files_of(str(path))))
    assert found == [{"event": "audit.log.2"}, {"event": "audit.log.1"}, {"event": "audit.log"}]
    path.unlink()
    assert [event and event["event"] for event in events_of(files_of(str(path)))] == [
        "audit.log.2",
        "audit.log.1",
    ]


def test_older_files_are_read_when_a_crash_has_left_one_number_out(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    for name in ("audit.log", "audit.log.2", "audit.log.3"):
        (tmp_path / name).write_text(json.dumps({"event": name}) + "\n")
    found = [event and event["event"] for event in events_of(files_of(str(path)))]
    assert found == ["audit.log.3", "audit.log.2", "audit.log"]


def test_the_events_of_several_workers_come_by_their_times(tmp_path: Path) -> None:
    def write(name: str, *minutes: int) -> None:
        times = (f"2026-11-23T10:{minute:02}:00.000Z" for minute in minutes)
        (tmp_path / name).write_text(
            "".join(json.dumps({"time": time, "event": name}) + "\n" for time in times)
        )

    write("audit.log.1", 1)
    write("audit.log", 5, 9)
    write("audit.log.worker-1", 2, 6)
    write("audit.log.worker-12.1", 4)
    write("audit.log.worker-x", 3)
    with (tmp_path / "audit.log.worker-1").open("a") as file:
        file.write("torn\n")
    found = [event and event["event"] for event in events_of(files_of(str(tmp_path / "audit.log")))]
    assert found == [
        "audit.log.1",
        "audit.log.worker-1",
        "audit.log.worker-12.1",
        "audit.log",
        "audit.log.worker-1",
        None,
        "audit.log",
    ]


def test_torn_lines_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    path.write_bytes(b'{"event"\n{"event": "e"}\n[1]\n\xff\n')
    assert list(events_of([[str(path)]])) == [None, {"event": "e"}, None, None]


def test_a_log_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"there is no audit log .*kawal\.audit\.file"):
        files_of(str(tmp_path / "none"))
    with pytest.raises(CommandError, match="cannot read"):
        list(events_of([[str(tmp_path)]]))


@pytest.mark.parametrize(
    ("text", "hour"),
    [("2h", 10), ("30m", 11), ("2026-11-23T08:00", 8), ("2026-11-23T08:00+02:00", 6), ("2026-11-23", 0)],
)
def test_times_and_durations(text: str, hour: int) -> None:
    assert since_of(text, NOW).hour == hour


def test_another_text_is_no_time() -> None:
    with pytest.raises(UsageError, match="neither a duration such as 2h nor a time"):
        since_of("yesterday", NOW)


@pytest.mark.parametrize(
    ("wanted", "has"),
    [
        (Wanted(), True),
        (Wanted(since=NOW), False),
        (Wanted(since=datetime(2026, 11, 23, 10, tzinfo=UTC)), True),
        (Wanted(user="alice"), True),
        (Wanted(user="User:alice"), False),
        (Wanted(event="login"), True),
        (Wanted(event="login.failed"), True),
        (Wanted(event="log"), False),
    ],
)
def test_filters(wanted: Wanted, has: bool) -> None:
    assert wanted.has(LOGIN) is has


def test_an_event_without_a_time_is_the_oldest() -> None:
    assert moment_of({}) == datetime.min.replace(tzinfo=UTC)


def test_the_cells_of_an_event() -> None:
    assert row_of(LOGIN)[3] == "(alice)"
    event = {
        "time": "t",
        "event": "configs.changed",
        "outcome": "ok",
        "user": "User:admin",
        "address": "10.0.0.7:5",
        "request": "INCREMENTAL_ALTER_CONFIGS v1",
        "resource": {"type": "topic", "name": "t"},
        "before": {},
        "after": {"retention.ms": "5"},
    }
    assert row_of(event) == (
        "t",
        "configs.changed",
        "ok",
        "User:admin",
        "10.0.0.7:5",
        'topic \'t\' request=INCREMENTAL_ALTER_CONFIGS v1 {} -> {"retention.ms": "5"}',
    )
