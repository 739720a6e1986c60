"""The garbage collector's pauses, kept to a few milliseconds whatever the server holds.

A full collection walks every object: a second for a million of them, in which no client is answered.  It
would find nothing, because the server's objects are freed by their reference counts: no request, connection,
group or topic leaves cycles behind (tests/broker/server/test_collector.py).  Cycles that libraries make are
garbage within moments.  So only young objects are collected; those that outlive two collections are exempt
from then on (`gc.freeze`, which costs the same for any number).

    new objects --YOUNG--> looked at --ROUNDS times YOUNG--> looked at once more, the rest are exempt

Objects are counted as made less freed.  Work that frees as many as it makes, such as new timers for 10,000
members in place of the old ones, would leave 70,000 that were never looked at to a single collection, of
35 ms.  So each long piece of work is followed by one of what it has left.
"""

from __future__ import annotations

import gc
from typing import Any, Final

YOUNG: Final = 500
"""Objects made, less those freed, between two collections.  With 2,500, threads that work out a group of
20,000 topics kept the loop waiting for 15 ms at a time, and for twice as long in all.
"""

ROUNDS: Final = 2
"""Collections of new objects before those left are looked at once more.  With 8, and 2,500 new objects, the
pauses took 3 to 9 ms, and no less time in all: each object is looked at twice."""


def calm_collector() -> None:
    """Exempt all present objects from collection, and later ones once they have proved to be long-lived.

    What a start leaves behind is exempt, too: 500 objects, fewer than it would take time to find.
    """
    gc.freeze()
    gc.set_threshold(YOUNG, ROUNDS)
    gc.enable()
    if _exempt_survivors not in gc.callbacks:
        gc.callbacks.append(_exempt_survivors)


def collect_what_is_left() -> None:
    """Collect what a long piece of work has made and not freed, whatever it has freed besides."""
    gc.collect(1 if gc.get_count()[1] > ROUNDS else 0)


def _exempt_survivors(phase: str, info: dict[str, Any]) -> None:
    if phase == "stop" and info["generation"]:
        gc.freeze()
