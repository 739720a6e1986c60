"""What views count while they work, one set of numbers for each view."""

from __future__ import annotations


class ViewCounters:
    """Counts of one view since the start of the server."""

    __slots__ = ("matched", "scanned", "shown", "unfit")

    def __init__(self) -> None:
        # Records looked at, those among them that the view shows, and those that did not fit its columns.
        self.scanned = 0
        self.matched = 0
        self.unfit = 0
        # Batches that were handed out, each time they were: above what was looked at, several read the same.
        self.shown = 0
