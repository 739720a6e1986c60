"""Reporting the server's state to systemd: a service of Type=notify has started once it says so.

Source: sd_notify(3): datagrams of KEY=VALUE lines to the socket in NOTIFY_SOCKET, whose name begins with `@`
if it is an abstract one.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Mapping
from typing import Final

logger = logging.getLogger("kawal.server")

VARIABLE: Final = "NOTIFY_SOCKET"

READY: Final = "READY=1"
STOPPING: Final = "STOPPING=1"


def tell_supervisor(state: str, environment: Mapping[str, str]) -> None:
    """Send a state if the environment asks for it; a supervisor that does not listen is not an error."""
    address = environment.get(VARIABLE, "")
    if not address.startswith(("/", "@")):
        return
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sock:
            sock.connect(address.replace("@", "\0", 1) if address.startswith("@") else address)
            sock.sendall(state.encode())
    except OSError as error:
        logger.warning("cannot tell systemd %s over %s: %s", state, address, error.strerror or error)
