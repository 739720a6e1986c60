"""A log at one moment, as the event loop sees it, for a thread that copies the log."""

from __future__ import annotations

from typing import NamedTuple


class LogView(NamedTuple):
    """The durable end of a log, and its segments."""

    durable_sequence: int
    """The first frame that is not durable yet."""
    next_version: int
    """The first version that readers cannot see yet."""
    bases: tuple[int, ...]
    """The base versions of the segments, oldest first; the last one may still grow."""
