"""The errors between bytes and messages.

    ProtocolError
    ├── Malformed            the bytes do not follow the layout they claim
    ├── RequestTooLarge      a request announces a size that may not be sent
    ├── UnsupportedVersion   no declaration of this API covers that version
    └── Unencodable          one of our messages cannot be written: our own bug
        └── UnsupportedField the version has no place for a value that was set

The first three are the peer's fault: answer it or close its connection. The last two are ours.
"""

from __future__ import annotations


class ProtocolError(Exception):
    """The base of every error that `protocol` raises on purpose."""


class Malformed(ProtocolError):
    """Bytes that do not follow their layout: `field`, at byte `position` of the input, has `problem`."""

    def __init__(self, position: int, field: str, problem: str) -> None:
        super().__init__(f"{field} at byte {position}: {problem}")
        self.position = position
        self.field = field
        self.problem = problem

    def without_frames(self) -> Malformed:
        """Return itself, to be kept: without the frames that it came through and what they refer to.

        Those of a codec have all that was opened until then, 16 MiB and more.
        """
        self.__context__ = self.__cause__ = None
        return self.with_traceback(None)


class TooManyElements(Malformed):
    """A message with more array elements and unknown tags than it may hold."""


class RequestTooLarge(ProtocolError):
    """A request whose length prefix is not positive or is above what its connection may send."""

    def __init__(self, size_bytes: int, limit_bytes: int) -> None:
        super().__init__(
            f"request of {size_bytes} bytes announced; 1 to {limit_bytes} are allowed. "
            "Is the peer speaking Kafka, and without TLS where none is offered?"
        )
        self.size_bytes = size_bytes
        self.limit_bytes = limit_bytes


class UnsupportedVersion(ProtocolError):
    """A version that this API's declaration does not cover; `api_key` is -1 when it is not a request's."""

    def __init__(self, api_key: int, version: int, name: str = "") -> None:
        super().__init__(f"{name or f'api key {api_key}'} has no version {version}")
        self.api_key = api_key
        self.version = version


class Unencodable(ProtocolError):
    """A value that its field cannot carry, such as null where a value is required, or a number too large."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}")
        self.field = field
        self.problem = problem


class UnsupportedField(Unencodable):
    """A value that was set, that may not be dropped, and that the version has no place for."""
