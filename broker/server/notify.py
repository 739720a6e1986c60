"""Reporting the server's state to systemd: a service of Type=notify has started once it says so.

Its watchdog ends and restarts a service that gives no sign of life for a while (WatchdogSec=).

Source: sd_notify(3): datagrams of KEY=VALUE lines to the socket in NOTIFY_SOCKET, whose name begins with `@`
if it is an abstract one.
"""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Callable, Mapping
from typing import Final

from broker.loop.timers import Timers

logger = logging.getLogger("kawal.server")

VARIABLE: Final = "NOTIFY_SOCKET"

READY: Final = "READY=1"
STOPPING: Final = "STOPPING=1"
ALIVE: Final = "WATCHDOG=1"

WAIT_SECONDS: Final = 5.0
"""The longest wait for a supervisor that takes nothing: systemd of a starting machine is busy."""


def tell_supervisor(
    state: str, environment: Mapping[str, str], *, wait_seconds: float = WAIT_SECONDS
) -> None:
    """Send a state if the environment asks for it; a supervisor that does not listen is not an error."""
    address = environment.get(VARIABLE, "")
    if not address.startswith(("/", "@")):
        return
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sock:
            sock.settimeout(wait_seconds)
            sock.connect(address.replace("@", "\0", 1) if address.startswith("@") else address)
            sock.sendall(state.encode())
    except OSError as error:
        logger.warning("cannot tell systemd %s over %s: %s", state, address, error.strerror or error)


def watchdog_ms(environment: Mapping[str, str]) -> int | None:
    """Return the time in which a sign of life is expected, None when none is.

    Source: sd_watchdog_enabled(3): WATCHDOG_USEC, and WATCHDOG_PID if it is meant for one process.
    """
    text, process = environment.get("WATCHDOG_USEC", ""), environment.get("WATCHDOG_PID", "")
    if not text.isdecimal() or process not in ("", str(os.getpid())):
        return None
    return int(text) // 1000 or None


def show_life(timers: Timers, now_ms: int, environment: Mapping[str, str]) -> None:
    """Send signs of life from the event loop's timers, twice in the time in which one is expected.

    They come only while the loop takes its turns; sending one does not wait.
    """
    interval_ms = life_interval_ms(environment)
    if interval_ms is not None:
        repeat(lambda: tell_supervisor(ALIVE, environment, wait_seconds=0), timers, now_ms, interval_ms)


def life_interval_ms(environment: Mapping[str, str]) -> int | None:
    """Return the time between two signs of life, None when none is expected."""
    expected_ms = watchdog_ms(environment)
    return None if expected_ms is None else max(expected_ms // 2, 1)


def repeat(sign: Callable[[], None], timers: Timers, now_ms: int, interval_ms: int) -> None:
    """Give a sign of life now and in every interval, by the event loop's timers."""

    def give(now_ms: int) -> None:
        timers.add(now_ms + interval_ms, give)
        sign()

    give(now_ms)
