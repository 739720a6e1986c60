"""Loading the SQL parser, which takes 0.1 s: only once there is a view, and never on the event loop.

A node that has views has a thread load it as soon as it serves clients; otherwise the first CreateTopics that
makes a view does. Requests that need it meanwhile wait for that thread, while others are served.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterable, Sequence
from importlib import import_module
from typing import Final, Protocol

from broker.config.kawal_topic_keys import QUARANTINE_KEY
from broker.loop.loop import Loop
from broker.loop.scheduler import Scheduler
from broker.loop.slices import Pace, WaitingSteps, in_thread

MODULES: Final = (
    "views.statement",
    "views.plan",
    "views.filtering",
    "views.router",
    "views.unfit",
    "views.tag_history",
    "broker.view_topics.database_view",
    "broker.view_topics.inherited_tags",
    "broker.view_topics.query_view",
    "broker.view_topics.route_index",
    "broker.view_topics.stable_meta_view",
    "broker.view_topics.unfit_view",
    "broker.view_topics.view_window",
)

LINES_PER_STEP: Final = 200
"""The settings of a request that are looked at between two looks at the time."""


def load() -> None:
    """Import everything that is needed to make and read a view."""
    for name in MODULES:
        import_module(name)


def is_loaded() -> bool:
    """Whether that was done."""
    return all(name in sys.modules for name in MODULES)


def load_in_thread(scheduler: Scheduler) -> WaitingSteps:
    """Have a thread import it, yielding until that is done."""
    if is_loaded():
        return
    yield from in_thread(scheduler.offload, load)


def load_soon(loop: Loop) -> None:
    """Have a thread import it as soon as clients are answered."""
    loop.timers.add(
        loop.clock.turn_ms, lambda _now_ms: loop.scheduler.add_work(load_in_thread(loop.scheduler))
    )


class _Line(Protocol):
    name: str


class _Altered(Protocol):
    @property
    def configs(self) -> Sequence[_Line]:
        """The settings that are named."""


def makes_quarantine(altered: Iterable[_Altered]) -> Generator[None, None, bool]:
    """Return whether an alteration names a quarantine; if it has to be made, the parser is needed."""
    pace = Pace(LINES_PER_STEP)
    for resource in altered:
        for line in resource.configs:
            if line.name == QUARANTINE_KEY.name:
                return True
            if pace.due():
                yield
        if pace.due():
            yield
    return False
