"""A wide answer as a thread encodes it: its bytes, its errors counted, and the objects freed."""

from __future__ import annotations

from collections import Counter
from typing import Any

from broker.connections.answer_encoding import encode_answer
from broker.connections.freeing import free
from broker.connections.response_errors import errors_of
from broker.loop.call import Call


class ThreadAnswer:
    """The work of a thread on one answer."""

    __slots__ = ("_call", "_is_kept", "_response", "error_counts", "output")

    def __init__(self, call: Call[Any], response: object, *, is_kept: bool = False) -> None:
        """`is_kept`: others still need the response, and free it."""
        self._call = call
        self._response = response
        self._is_kept = is_kept
        self.output: list[Any] = []
        self.error_counts: Counter[int] = Counter()

    def encode(self) -> None:
        """Encode the response; free it, unless it is kept, and the request."""
        call, response = self._call, self._response
        call.errors = errors_of(response)
        self.error_counts.update(call.errors or ())
        self.output += encode_answer(call, response)
        del response
        self.free()

    def free(self) -> None:
        """Free the response, unless it is kept, and the request."""
        done = [self._call.request] if self._is_kept else [self._response, self._call.request]
        self._response = self._call.request = None
        free(done)
