"""The source and sink of the reference codec, in place of byte streams."""

from __future__ import annotations

from protocol.primitives import Buffer, too_many, too_short


class Source:
    """The input being parsed: bytes, the position, and how many elements the message may still hold."""

    __slots__ = ("data", "elements_left", "elements_max", "position")

    def __init__(self, data: memoryview, position: int, elements_max: int) -> None:
        self.data = data
        self.position = position
        self.elements_left = self.elements_max = elements_max

    @property
    def left(self) -> int:
        """The number of bytes not yet read."""
        return len(self.data) - self.position

    def read(self, size_bytes: int) -> memoryview:
        """Return the next bytes; called by construct."""
        start = self.position
        self.position += size_bytes
        return self.data[start : self.position]

    def require(self, size_bytes: int, field: str) -> None:
        """Refuse the input if fewer than `size_bytes` bytes are left."""
        if size_bytes > self.left:
            raise too_short(self.position, field, size_bytes, self.left)

    def count_elements(self, count: int, field: str) -> None:
        """Take `count` elements from those that the message may still hold."""
        self.elements_left -= count
        if self.elements_left < 0:
            raise too_many(self.position, field, self.elements_max)


class Sink:
    """The output being built: buffers, the last of which grows."""

    __slots__ = ("buffers", "out")

    def __init__(self) -> None:
        self.out = bytearray()
        self.buffers: list[Buffer] = [self.out]

    def write(self, data: bytes) -> int:
        """Append bytes; called by construct."""
        self.out += data
        return len(data)
