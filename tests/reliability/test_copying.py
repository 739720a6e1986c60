"""The judgement of the rig that copies, without servers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from reliability.copying import Copying, _difference


def test_a_difference_tells_what_is_missing_doubled_and_out_of_order() -> None:
    assert "missing [9]" in _difference(0, [0, 9], [0])
    assert "1 doubled, in order: True" in _difference(0, [0, 9], [0, 0, 9])
    assert "0 doubled, in order: False" in _difference(0, [0, 9], [9, 0])


def test_copiers_that_have_ended_are_started_again() -> None:
    copying: Any = Copying.__new__(Copying)
    started: list[str] = []
    copying.restarts, copying._start = 0, started.append
    copying._processes = {"a": SimpleNamespace(exit_code=75), "b": SimpleNamespace(exit_code=None)}
    copying._supervise()
    assert (started, copying.restarts) == (["a"], 1)
