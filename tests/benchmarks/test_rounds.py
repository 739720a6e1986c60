"""The rounds of benchmarks: every part of every server in turns, and the figures of all of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.rounds import Figures, in_rounds, options_of


def test_parts_and_servers_take_turns_and_all_figures_are_kept(tmp_path: Path) -> None:
    made: list[tuple[str, str]] = []

    def measure(kind: str, part: str, quick: bool) -> Figures:
        assert not quick
        made.append((kind, part))
        return {f"{part}, s": float(len(made))}

    file = tmp_path / "figures"
    words = ["--rounds", "2", "--json", str(file)]
    options = options_of("x", None, words, parts=["a", "b"], servers=["kafka", "kawal"])
    found = in_rounds(options, measure)
    once = [("kafka", "a"), ("kawal", "a"), ("kafka", "b"), ("kawal", "b")]
    assert made == once * 2
    assert found["a, s"] == {"kafka": [1.0, 5.0], "kawal": [2.0, 6.0]}
    assert json.loads(file.read_text()) == found


def test_a_quick_run_is_one_round() -> None:
    options = options_of("x", None, ["--quick"], parts=["a"], servers=["kawal"])
    assert in_rounds(options, lambda *_: {"a": 1.0}) == {"a": {"kawal": [1.0]}}


def test_a_part_that_there_is_not_is_refused() -> None:
    with pytest.raises(SystemExit):
        options_of("x", None, ["--only", "c"], parts=["a"], servers=["kawal"])
