"""Requests that name a group again and again: what is small is answered each time, as Kafka does.

An answer has the group as often as it is named: one of 30 MB named 20,000 times would be an answer of 600 GB.
"""

from __future__ import annotations

from typing import Final

from groups.errors import InvalidRequest

REPEATED_BYTES_MAX: Final = 1 << 20
"""The bytes that one answer may repeat."""


class Repeats:
    """The groups that a request has named so far."""

    __slots__ = ("_left_bytes", "_seen")

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._left_bytes = REPEATED_BYTES_MAX

    def check(self, group_id: str, size_bytes: int) -> None:
        """Check that the answer may have the group, which adds this many bytes, once more.

        Raises: InvalidRequest.
        """
        if group_id not in self._seen:
            self._seen.add(group_id)
            return
        self._left_bytes -= size_bytes
        if self._left_bytes < 0:
            raise InvalidRequest(f"Group {group_id} is named again, and is too large to be answered twice.")
