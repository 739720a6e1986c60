"""Verdicts on the bytes of extents: compared with their CRCs, or still to be compared."""

from __future__ import annotations

from collections.abc import Sequence

UNCHECKED, GOOD, BAD = range(3)


class Verdicts:
    """The verdicts on a segment's extents, as long as its index is in memory."""

    __slots__ = ("checked",)

    base: Sequence[int]
    """The extents, one item each."""
    checked: bytearray | None
    """For each of the first extents, whether its bytes are those written, as far as was found since the index
    was loaded: UNCHECKED, GOOD or BAD. Extents after them, and all with None, were written or read whole by
    this process."""

    def is_unchecked(self, row: int) -> bool:
        """Return whether an extent's bytes must be compared with their CRCs before they are used."""
        checked = self.checked
        return checked is not None and row < len(checked) and checked[row] != GOOD

    def is_bad(self, row: int) -> bool:
        """Return whether an extent's bytes were found not to be those written, or not to be readable."""
        checked = self.checked
        return checked is not None and row < len(checked) and checked[row] == BAD

    def mark(self, row: int, verdict: int) -> None:
        """Remember the outcome of a comparison, GOOD or BAD; also from a thread."""
        checked = self.checked
        if checked is None or row >= len(checked):
            if verdict == GOOD:
                return
            more = len(self.base) - (len(checked) if checked is not None else 0)
            checked = self.checked = (checked or bytearray()) + bytes((GOOD,)) * more
        checked[row] = verdict

    def trust_nothing(self) -> None:
        """Let the bytes of all extents so far be compared with their CRCs before they are handed out."""
        self.checked = bytearray(len(self.base))
