"""An answer as it goes onto the wire: int32 size, header, body; record payloads stay buffers of their own."""

from __future__ import annotations

import logging
import struct
from typing import Any, Final

from broker.connections.message_weight import message_weight
from broker.loop.answers import EncodedAnswer, RawAnswer
from broker.loop.call import Call
from broker.loop.stats import Cause
from protocol.headers import encode_response_header
from protocol.schema import declaration
from protocol.wire import encode

logger = logging.getLogger("kawal.broker")

IN_MEMORY: Final = frozenset({bytes, bytearray, memoryview})
"""The types of parts that take memory; other parts are file ranges."""

COPIED_BYTES_MAX: Final = 256 << 10
"""A larger body is sent after its header as it is: copying 40 MB takes 25 ms, in which no thread can run."""

WIDE_ANSWER_BYTES: Final = 512 << 10
"""Answers that take more as objects, with 1,000 elements and more, are encoded in a thread."""

SLOW_ANSWER_BYTES: Final = 64 << 10
"""The same for messages whose codecs are not generated, and take ten times as long."""

_SIZE: Final = struct.Struct(">i")


def part_size_bytes(part: Any) -> int:
    """Return the number of bytes that one outgoing part puts on the wire."""
    return len(part) if type(part) in IN_MEMORY else int(part.size_bytes)


def is_wide(response: object) -> bool:
    """Whether it takes long to encode a response, or a request."""
    if isinstance(response, EncodedAnswer):
        return False
    weight_bytes = message_weight(response, 0, WIDE_ANSWER_BYTES)
    if weight_bytes <= SLOW_ANSWER_BYTES:
        return False
    return weight_bytes > WIDE_ANSWER_BYTES or not declaration(type(response)).hot


def cannot_be_written(call: Call[Any], error: Exception) -> None:
    """Log our own bug and close the client's connection; the others are not affected."""
    logger.error(
        "connection %d closed: the answer to api=%d v%d cannot be written",
        call.connection.identity,
        call.api_key,
        call.version,
        exc_info=error,
    )
    call.connection.close("internal error", Cause.BUG)


def encode_answer(call: Call[Any], response: object) -> list[Any]:
    """Return the buffers of one response.  Raises: Unencodable."""
    if type(response) is RawAnswer:
        return [_SIZE.pack(response.size_bytes), *response.parts]
    header = encode_response_header(call.api_key, call.version, call.correlation_id)
    if isinstance(response, EncodedAnswer):
        return [_SIZE.pack(len(header) + response.size_bytes) + header, *response.parts]
    parts: list[Any] = encode(response, call.version)
    size = len(header) + sum(map(part_size_bytes, parts))
    if parts and isinstance(parts[0], bytes | bytearray) and len(parts[0]) <= COPIED_BYTES_MAX:
        parts[0] = b"".join((_SIZE.pack(size), header, parts[0]))
    else:
        parts.insert(0, _SIZE.pack(size) + header)
    return parts
