"""The first line on the pipe between a gateway and the console that it starts: JSON of `HandOver`.

The pipe stays open as long as the gateway runs.  The gateway writes it in broker/server/console_host.py.
"""

from __future__ import annotations

import os
from typing import Final

import msgspec

from console.errors import CommandError

LINE_BYTES_MAX: Final = 64 << 10


class HandOver(msgspec.Struct, forbid_unknown_fields=True):
    """The way to the gateway, and the operator's choices."""

    listening: int
    """The descriptor of the listening socket."""
    bootstrap: str
    protocol: str = "PLAINTEXT"
    mechanism: str = ""
    ca: str | None = None
    """A file with the certificate of the gateway's listener."""
    metrics: str = ""
    """HOST:PORT of the gateway's metrics, if they are open to programs of this machine."""
    read_only: bool = False
    hosts: tuple[str, ...] = ()
    masks: tuple[str, ...] = ()
    json_lines: bool = False
    level: str = "info"


def read_hand_over(descriptor: int) -> HandOver:
    """Return the hand-over on a pipe.  Raises: CommandError."""
    line = bytearray()
    while not line.endswith(b"\n") and len(line) < LINE_BYTES_MAX:
        part = os.read(descriptor, 1)
        if not part:
            break
        line += part
    try:
        return msgspec.json.decode(bytes(line), type=HandOver)
    except msgspec.MsgspecError as error:
        raise CommandError(f"the gateway's hand-over cannot be read: {error}") from error
