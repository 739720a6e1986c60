"""Answers as a server sends them."""

from __future__ import annotations

import struct
from typing import Any

from protocol.api_keys import ApiKey
from protocol.headers import encode_response_header
from protocol.wire import encode, joined


def framed(answer: Any, api_key: ApiKey, correlation_id: int = 1) -> bytes:
    """Return an answer of version 0 with its header and its length."""
    frame = encode_response_header(api_key, 0, correlation_id) + joined(encode(answer, 0))
    return struct.pack(">i", len(frame)) + frame
