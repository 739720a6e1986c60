"""The types of rows are made once for the same columns, and do not stay for ever."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any
from weakref import ref

import msgspec
import pytest

from views import row_types
from views.row_types import TYPE_BYTES, row_type


@pytest.fixture
def exempt() -> Iterator[None]:
    """Exempt what there is from collection, as a server does."""
    gc.freeze()
    yield
    gc.unfreeze()


def made(number: int, kind: str = "int") -> Any:
    return row_type("Row", [("f0", int, msgspec.NODEFAULT)], {"f0": f"only here {number}"}, kind)


def test_the_same_columns_have_the_same_type_and_others_another() -> None:
    first = made(1)
    assert made(1) is first
    assert made(2) is not first
    assert made(1, "string") is not first
    assert msgspec.json.encode(first(3)) == b'{"only here 1":3}'


@pytest.mark.usefixtures("exempt")
def test_types_without_use_are_freed_after_many_new_ones_and_those_in_use_stay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(row_types, "COLLECTED_BYTES", 10 * TYPE_BYTES)
    monkeypatch.setattr(row_types._Made, "size_bytes", 0)
    used, unused = made(10), ref(made(11))
    gc.freeze()
    assert unused() is not None
    for number in range(20, 40):
        made(number)
    assert unused() is None
    assert made(10) is used
    assert gc.get_freeze_count()
