"""The frame that clients of a Confluent-compatible schema registry put around values.

    0x00  id:int32  payload

Source: Confluent's documentation of the wire format.
"""

from __future__ import annotations

import struct
from typing import Final

FRAME: Final = struct.Struct(">bi")
_MAGIC: Final = 0


def schema_id(data: bytes) -> int | None:
    """Return the id of the schema that a framed value names; None: the value has no frame."""
    if len(data) < FRAME.size:
        return None
    magic, identity = FRAME.unpack_from(data)
    return identity if magic == _MAGIC and identity >= 0 else None


def payload(data: bytes) -> bytes:
    """Return a framed value without its frame."""
    return data[FRAME.size :]


def frame_problem(data: bytes) -> str:
    """Return what is wrong with the frame of a value that has none."""
    if len(data) < FRAME.size:
        return f"a framed value has at least {FRAME.size} bytes, and this one has {len(data)}"
    if data[0] != _MAGIC:
        return f"a framed value begins with the byte 0, and this one with {data[0]}"
    return f"the schema id {FRAME.unpack_from(data)[1]} is negative"
