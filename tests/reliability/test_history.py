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
