"""What the reference codec parses from and builds into, in place of byte streams."""

from __future__ import annotations

from protocol.primitives import Buffer, too_many, too_short


class Source:
    """What is being parsed: bytes, the position in them, and how many elements the message may still hold."""

    __slots__ = ("data", "elements_left", "elements_max", "position")

    def __init__(self, data: memoryview, position: int, elements_max: int) -> None:
        self.data = data
        self.position = position
        self.elements_left = self.elements_max = elements_max

    @property
    def left(self) -> int:
        """Bytes that are not yet read."""
        return len(self.data) - self.position

    def read(self, size_bytes: int) -> memoryview:
        """Return the next bytes; what construct calls."""
        start = self.position
        self.position += size_bytes
        return self.data[start : self.position]

    def require(self, size_bytes: int, field: str) -> None:
        """Refuse the input if it ends before so many further bytes."""
        if size_bytes > self.left:
            raise too_short(self.position, field, size_bytes, self.left)

    def count_elements(self, count: int, field: str) -> None:
        """Take `count` from what the message may still hold."""
        self.elements_left -= count
        if self.elements_left < 0:
            raise too_many(self.position, field, self.elements_max)


class Sink:
    """What is being built: buffers, the last of which grows."""

    __slots__ = ("buffers", "out")

    def __init__(self) -> None:
        self.out = bytearray()
        self.buffers: list[Buffer] = [self.out]

    def write(self, data: bytes) -> int:
        """Append bytes; what construct calls."""
        self.out += data
        return len(data)
