"""The fixture of the simulations."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """Silence the reports of broken disks: these tests cause a thousand of them."""
    logger = logging.getLogger("kawal")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    yield
    logger.setLevel(before)
