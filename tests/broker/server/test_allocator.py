"""Large blocks are mapped by themselves where the allocator can be told to; nothing fails where it cannot."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import pytest

from broker.server.allocator import KEPT_BYTES, MAPPED_BYTES, map_large_blocks


class Library:
    """A C library with these functions."""

    def __init__(self, **functions: Callable[..., int]) -> None:
        self.__dict__.update(functions)


def test_the_thresholds_are_set_as_glibc_numbers_them(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, ...]] = []

    def mallopt(*given: int) -> int:
        asked.append(given)
        return 1

    monkeypatch.setattr(ctypes, "CDLL", lambda _name: Library(mallopt=mallopt))
    assert map_large_blocks()
    assert asked == [(-3, MAPPED_BYTES), (-1, KEPT_BYTES)]


@pytest.mark.parametrize("library", [Library(), Library(mallopt=lambda *_: 0)])
def test_an_allocator_that_refuses_or_has_no_such_call_is_left_alone(
    monkeypatch: pytest.MonkeyPatch, library: Library
) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda _name: library)
    assert not map_large_blocks()
