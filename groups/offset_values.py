"""The check of stored offsets: whether the value of a record can be read."""

from __future__ import annotations

import struct
from typing import Final

from groups.offsets import read_committed
from protocol.errors import ProtocolError

_TEXT_AT: Final = {b"\0\0": 12, b"\0\1": 12, b"\0\2": 12, b"\0\3": 16}
"""The position of the metadata's text in a value, by its first bytes: the version."""

_AFTER_TEXT: Final = {b"\0\0": 8, b"\0\1": 16, b"\0\2": 8, b"\0\3": 8}
"""The number of bytes after that text: one time or two."""


def unreadable(value: bytes) -> str | None:
    """Return why the value of a record cannot be read, None if it can.

    What the usual versions hold is checked by hand, in a fraction of the codec's time: a start looks at a
    million of them.
    """
    text_at = _TEXT_AT.get(value[:2])
    if text_at is not None and len(value) >= text_at:
        text_end = text_at + int.from_bytes(value[text_at - 2 : text_at], "big", signed=True)
        after = len(value) - text_end
        if text_at <= text_end and after == _AFTER_TEXT[value[:2]] and value[text_at:text_end].isascii():
            return None
    try:
        read_committed(value)
    except (struct.error, ProtocolError) as error:
        return str(error)
    return None
