"""Puts one load on a gateway.

    python -m compat_tests.overload.loads NAME PORT HTTP_PORT SECONDS FACTOR SEED PORTS

It makes what the load needs, prints `ready`, waits for a line, prints `going` when the load is there, and at
its end a line of figures.
"""

from __future__ import annotations

import json
import os
import sys
from random import Random

from compat_tests.overload import (
    crowds,
    crowds_http,
    faults,
    growing,
    lookups,
    members,
    removals,
    sights,
    strangers,
    views,
    weights,
    wide,
)
from compat_tests.overload.load import LOADS, Load, Target

__all__ = ["LOADS", "Load"]

PARTS = (
    *(crowds, crowds_http, faults, weights, wide, growing, members, lookups, strangers, views),
    *(removals, sights),
)
"""The files that register loads."""


def main() -> None:
    """Do the load named on the command line."""
    name, port, http_port, seconds, factor, seed, ports = sys.argv[1:]
    # The gateway and the good clients share the machine with this process, which stands for other machines.
    os.nice(19)
    target = Target(
        int(port), int(http_port), float(seconds), float(factor), Random(int(seed)), json.loads(ports)
    )
    load = LOADS[name]
    if load.prepare is not None:
        load.prepare(target)
    print("ready", flush=True)
    sys.stdin.readline()
    print(load.run(target), flush=True)
    # Thousands of connections end at once with the process: nothing is waited for.
    os._exit(0)


if __name__ == "__main__":
    main()
