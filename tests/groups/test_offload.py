"""Tests of groups/offload.py."""

from __future__ import annotations

from groups.offload import run_here


def test_work_is_done_before_its_end_is_told() -> None:
    seen: list[object] = []
    run_here(lambda: seen.append("work"), seen.append)
    assert seen == ["work", None]


def test_what_work_raises_is_told() -> None:
    seen: list[Exception | None] = []
    run_here(lambda: 1 // 0, seen.append)
    assert isinstance(seen[0], ZeroDivisionError)
