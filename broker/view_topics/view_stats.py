"""The counters of views, one set for each view."""

from __future__ import annotations


class ViewCounters:
    """Counts of one view since the start of the server."""

    __slots__ = ("matched", "scanned", "shown", "unfit")

    def __init__(self) -> None:
        # Records evaluated, those among them that the view shows, and those that did not fit its columns.
        self.scanned = 0
        self.matched = 0
        self.unfit = 0
        # Batches handed out, each time counted: more than were evaluated if several readers got the same one.
        self.shown = 0
