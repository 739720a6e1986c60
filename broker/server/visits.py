"""The reactor's visits to trio, whose tasks serve timers, signals and HTTP, while there is work."""

from __future__ import annotations

from typing import Final

from broker.loop.turns import Turns

VISIT_NS: Final = 5_000_000
"""The time between two visits to trio while there is work; a turn that takes long comes on top."""

VISIT_BESIDE_PAGES_NS: Final = 1_000_000
"""The same while a page is made, which takes several visits: a health check should not wait for each."""

PASSES_BESIDE_PAGES: Final = 8
"""The passes over trio's tasks in such a visit, 0.05 ms each: a page takes about eight, from its connection's
beginning to its answer, and beside long work there is a turn of some milliseconds between two visits."""


def visit_ns(turns: Turns) -> int:
    """Return the time between two visits."""
    return VISIT_BESIDE_PAGES_NS if _page_is_made(turns) else VISIT_NS


def passes(turns: Turns) -> int:
    """Return the passes over trio's tasks in a visit."""
    return PASSES_BESIDE_PAGES if _page_is_made(turns) else 1


def _page_is_made(turns: Turns) -> bool:
    return turns.clock_ns() < turns.page_until_ns
