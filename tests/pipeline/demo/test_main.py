"""The demo's course: the moment of the driver's kill, and the refusals before it begins."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from pipeline.demo import main
from pipeline.demo.main import Landing
from pipeline.demo.plot import Curve
from pipeline.demo.stage import Stage
from pipeline.errors import DONE, FAILED, SetupError


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Stage:
    monkeypatch.setattr(time, "monotonic", lambda: 62.25)
    monkeypatch.setattr(time, "sleep", lambda _seconds: None)
    return Stage(60.0)


def batch(rows: int) -> dict[str, Any]:
    return {"event": "batch", "job": "land-flights", "batch": 0, "rows": rows}


def test_the_driver_is_killed_after_the_batch_that_reaches_half(stage: Stage) -> None:
    landing = Landing(stage, kill_at_rows=100)
    assert [landing(batch(60)), landing({"event": "note", "text": "hello"}), landing(batch(60))] == [
        False,
        False,
        True,
    ]


def test_a_driver_that_is_not_to_be_killed_never_is(stage: Stage) -> None:
    landing = Landing(stage)
    assert not any(landing(batch(10**6)) for _ in range(3))


def test_batches_become_points_of_the_curve(stage: Stage) -> None:
    curve = Curve(100)
    landing = Landing(stage, curve=curve)
    landing(batch(60))
    landing(batch(30))
    assert (curve.seconds, curve.rows, curve.lag) == ([2.25, 2.25], [60, 90], [40, 10])


def test_a_picture_without_matplotlib_is_refused_before_anything_starts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(main, "can_plot", lambda: False)
    with pytest.raises(SetupError, match=r"pip install 'kawal\[demo\]'"):
        main.run_demo(picture=Path("demo.png"))


def test_events_are_shown_with_the_seconds_since_the_start(
    stage: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    landing = Landing(stage)
    landing({"event": "error", "text": "no broker"})
    landing(
        {
            "event": "progress",
            "job": "j",
            "batches": 1,
            "rows": 5,
            "bad": 0,
            "late": 0,
            "rows_per_second": 2.0,
            "bytes_per_second": 0.0,
            "seconds_behind": None,
            "away_since_ms": None,
            "lag": 4,
            "worst": ["t", 0, 4],
            "seconds_left": 2.0,
        }
    )
    landing({"event": "summary", "job": "j", "outcome": "done", "total": {"rows": 1234}})
    assert capsys.readouterr().out.splitlines() == [
        "[  2.2 s] land     no broker",
        "[  2.2 s] land     j  1 batches | 5 rows | 2 rows/s | lag 4 (most: t-0 4) | late 0 bad 0 | about 2 "
        "s left",
        "[  2.2 s] land     j done: 1,234 rows in the table",
    ]


def test_the_verdict_is_the_exit_code(stage: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    assert main._verdict(stage, []) == DONE
    assert "verdict  EXACT: every flight" in capsys.readouterr().out
    assert main._verdict(stage, ["carrier UA: flights is 1 in the table, 2 in the CSV"]) == FAILED
    assert "NOT EXACT: 1 difference" in capsys.readouterr().out


def test_a_folder_that_is_not_empty_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine").touch()
    with (
        pytest.raises(SetupError, match="is not empty; give the demo an empty folder"),
        main._folder(tmp_path),
    ):
        pass


def test_topics_that_are_there_already_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(main, "existing_topics", lambda _bootstrap: {"flights", "orders"})
    with (
        pytest.raises(SetupError, match="the topic 'flights' already exists on b:1"),
        main._own_topics("b:1", has_views=True),
    ):
        pass
