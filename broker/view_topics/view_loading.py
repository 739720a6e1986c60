"""Loading the SQL parser, which takes 0.1 s: not before there is a view, and never on the event loop.

A node that has views loads it when it starts, before it serves anybody; else the first CreateTopics that
makes a view waits for a thread to load it, and everybody else is served meanwhile.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import Any, Final, Protocol

from broker.config.kawal_topic_keys import QUARANTINE_KEY
from broker.loop.scheduler import Scheduler
from broker.loop.slices import Steps

MODULES: Final = ("views.statement", "views.plan", "views.filtering", "views.router", "views.unfit")


def load() -> None:
    """Import everything that making and reading a view takes."""
    for name in MODULES:
        import_module(name)


def load_in_thread(scheduler: Scheduler) -> Steps:
    """Have a thread import it, yielding until it is there."""
    if all(name in sys.modules for name in MODULES):
        return
    ended: list[BaseException | None] = []
    scheduler.offload(load, ended.append)
    while not ended:
        yield


class _Line(Protocol):
    name: str


class _Altered(Protocol):
    @property
    def configs(self) -> Sequence[_Line]:
        """The settings that are named."""


def makes_quarantine(altered: Iterable[_Altered]) -> bool:
    """Whether an alteration names a quarantine, which may have to be made: that takes the parser."""
    return any(line.name == QUARANTINE_KEY.name for one in altered for line in one.configs)


def after_loading(scheduler: Scheduler, handle: Callable[[], Any]) -> Steps:
    """What `handle` returns, once everything is imported."""
    yield from load_in_thread(scheduler)
    return handle()
