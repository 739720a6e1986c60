"""Work that takes too long for the event loop, such as dividing 100,000 partitions."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Final

WEIGHT_MAX: Final = 1_000
"""The weight of an assignment that is made at once, in 5 ms at most."""

MEMBER_WEIGHT: Final = 4
"""The weight of a member in it: its wish, and the record of its target."""

Work = Callable[[], object]
WorkDone = Callable[[Exception | None], None]
Offload = Callable[[Work, WorkDone], None]
"""Runs its first argument in a thread and then the second, with the error, where the coordinator runs."""

Background = Callable[[Generator[None, None, None]], None]
"""Takes steps of about 1 ms each, and runs them one after the other where the coordinator runs."""


def at_once(steps: Generator[None, None, None]) -> None:
    """Run all steps now."""
    for _ in steps:
        pass


def run_here(work: Work, done: WorkDone) -> None:
    """Do the work at once, without a thread."""
    try:
        work()
    except Exception as error:  # noqa: BLE001  (as in a thread)
        done(error)
    else:
        done(None)
