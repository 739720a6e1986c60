"""Loading the SQL parser, which takes 0.1 s: not before there is a view, and never on the event loop.

A node that has views loads it when it starts, before it serves anybody; else the first CreateTopics that
makes a view waits for a thread to load it, and everybody else is served meanwhile.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Final

from broker.slices import Steps

if TYPE_CHECKING:
    from broker.core import Broker

MODULES: Final = ("views.statement", "views.plan", "views.filtering", "views.unfit")


def load() -> None:
    """Import everything that making and reading a view takes."""
    for name in MODULES:
        import_module(name)


def load_in_thread(broker: Broker) -> Steps:
    """Have a thread import it, yielding until it is there."""
    if all(name in sys.modules for name in MODULES):
        return
    ended: list[BaseException | None] = []
    broker.slices.offload(load, ended.append)
    while not ended:
        yield
