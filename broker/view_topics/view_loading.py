"""Loading the SQL parser, which takes 0.1 s: only once there is a view, and never on the event loop.

A node that has views loads it when it starts, before it serves clients. Otherwise the first CreateTopics that
makes a view waits for a thread to load it, while other requests are served.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Final, Protocol

from broker.config.kawal_topic_keys import QUARANTINE_KEY
from broker.loop.scheduler import Scheduler
from broker.loop.slices import WaitingSteps, in_thread

MODULES: Final = ("views.statement", "views.plan", "views.filtering", "views.router", "views.unfit")


def load() -> None:
    """Import everything that is needed to make and read a view."""
    for name in MODULES:
        import_module(name)


def load_in_thread(scheduler: Scheduler) -> WaitingSteps:
    """Have a thread import it, yielding until that is done."""
    if all(name in sys.modules for name in MODULES):
        return
    yield from in_thread(scheduler.offload, load)


class _Line(Protocol):
    name: str


class _Altered(Protocol):
    @property
    def configs(self) -> Sequence[_Line]:
        """The settings that are named."""


def makes_quarantine(altered: Iterable[_Altered]) -> bool:
    """Whether an alteration names a quarantine; if it has to be made, the parser is needed."""
    return any(line.name == QUARANTINE_KEY.name for resource in altered for line in resource.configs)
