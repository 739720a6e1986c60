"""What can be wrong with bytes that claim to be Kafka protocol.

    ProtocolError
    ├── Malformed            the bytes do not follow the layout they claim
    └── FrameTooLarge        a frame announces a size nobody may send
"""

from __future__ import annotations


class ProtocolError(Exception):
    """The base of everything `protocol` raises on purpose."""


class Malformed(ProtocolError):
    """Bytes that do not follow their layout: `field`, at byte `position` of the input, has `problem`."""

    def __init__(self, position: int, field: str, problem: str) -> None:
        super().__init__(f"{field} at byte {position}: {problem}")
        self.position = position
        self.field = field
        self.problem = problem


class FrameTooLarge(ProtocolError):
    """A frame whose length prefix is not positive or is above what its connection may send."""

    def __init__(self, size_bytes: int, limit_bytes: int) -> None:
        super().__init__(
            f"frame of {size_bytes} bytes announced, allowed are 1 to {limit_bytes}; "
            "is the peer speaking Kafka, and without TLS where none is offered?"
        )
        self.size_bytes = size_bytes
        self.limit_bytes = limit_bytes
