"""A history survives its file."""

from __future__ import annotations

from pathlib import Path

from reliability.history import History, read_history


def test_a_history_is_read_as_it_was_written(tmp_path: Path) -> None:
    history = History(tmp_path / "history.jsonl")
    history.add("w", "send", "invoke", key="plain-0", value="k|w:0")
    history.add("r", "poll", "ok", records=(("plain-0", 0, "k|w:0"),))
    history.close()

    assert list(read_history(tmp_path / "history.jsonl")) == history.ops


def test_a_history_counts_what_was_acknowledged_and_how_far_readers_came() -> None:
    history = History()
    history.add("w", "send", "invoke", key="plain-0", value="k|w:0")
    history.add("w", "send", "ok", key="plain-0", value="k|w:0", offset=7)
    history.add("w", "send", "ok", key="plain-0", value="k|w:1", offset=6)
    history.add("w", "send", "fail", key="plain-0", value="k|w:2")
    history.add("r", "poll", "ok", records=(("plain-0", 4, "a"), ("plain-1", 2, "b")))
    history.add("r", "poll", "ok", records=(("plain-0", 3, "c"),))

    assert history.acknowledged == 2
    assert history.newest == {"plain-0": 7}
    assert history.reached == {("r", "plain-0"): 4, ("r", "plain-1"): 2}
