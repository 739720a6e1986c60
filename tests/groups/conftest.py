"""The fixture of the tests of groups."""

from __future__ import annotations

import pytest

from tests.groups.driver import Driver


@pytest.fixture
def driver() -> Driver:
    """Return a driver with a topic t of four partitions; files whose groups need more override it."""
    return Driver("t")
