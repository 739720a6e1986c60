"""Handlers and what they need, which is imported with them: never on the event loop at a first request."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Final

from broker.handlers import APIS

HANDLERS: Final = Path(__file__).parents[3] / "broker" / "handlers"

USES: Final = {
    r"broker\.groups\b": "broker.coordinators.groups",
    r"(broker|coordinators)\.transactions\b(?! import)": "broker.coordinators.transactions",
    r"coordinators\.shares\b(?! import)": "broker.coordinators.shares",
    r"coordinators\.shares\b": "groups.share.service",
    r"coordinators\.share_states\b": "broker.config.kafka_keys",
    r"\.share_queues\b(?! import)": "broker.fetching.share_queues",
}
"""What a handler says to reach a part of the broker that is made at its first use, and the part's module."""

FORKS: Final = """
import os, sys
import broker.core, broker.handlers
from importlib import import_module
for line in sys.stdin:
    name, *wanted = line.split()
    child = os.fork()
    if not child:
        import_module("broker.handlers." + name)
        late = [module for module in wanted if module not in sys.modules]
        if late:
            print(name, *late, flush=True)
        os._exit(0)
    os.waitpid(child, 0)
"""


def uses() -> dict[str, list[str]]:
    """Return the modules that each handler needs by its text."""
    found = {}
    for api in APIS.values():
        text = (HANDLERS / f"{api.name}.py").read_text()
        if wanted := [module for pattern, module in USES.items() if re.search(pattern, text)]:
            found[api.name] = wanted
    return found


def late(wanted: dict[str, list[str]]) -> list[str]:
    """Return the handlers whose import leaves something out, with what that is."""
    lines = "".join(f"{name} {' '.join(modules)}\n" for name, modules in wanted.items())
    done = subprocess.run(
        [sys.executable, "-c", FORKS], input=lines, capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


def test_a_handler_imports_the_coordinators_it_uses() -> None:
    wanted = uses()
    assert {"list_groups", "join_group", "share_fetch", "describe_transactions"} <= wanted.keys()
    assert late(wanted) == []


def test_a_handler_that_leaves_a_coordinator_out_is_found() -> None:
    assert late({"api_versions": ["broker.coordinators.groups"]}) == [
        "api_versions broker.coordinators.groups"
    ]
