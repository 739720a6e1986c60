"""A log at one moment, as the event loop sees it, for a thread that copies the log."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from wal.remote_record import RemoteRecord

NONE: Mapping[int, RemoteRecord] = MappingProxyType({})


class LogView(NamedTuple):
    """The durable end of a log, and its segments."""

    durable_sequence: int
    """The first frame that is not durable yet."""
    next_version: int
    """The first version that readers cannot see yet."""
    bases: tuple[int, ...]
    """The base versions of the segments that are alive, oldest first; the last one may still grow."""
    remote: Mapping[int, RemoteRecord] = NONE
    """Those among them whose only copy is in the object store: no local file tells anything of them."""
