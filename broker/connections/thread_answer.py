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

    __slots__ = ("_call", "_response", "error_counts", "output")

    def __init__(self, call: Call[Any], response: object) -> None:
        self._call = call
        self._response = response
        self.output: list[Any] = []
        self.error_counts: Counter[int] = Counter()

    def encode(self) -> None:
        """Encode the response; free it and the request."""
        call, response = self._call, self._response
        self._response = None
        call.errors = errors_of(response)
        self.error_counts.update(call.errors or ())
        self.output += encode_answer(call, response)
        done = [response, call.request]
        del response
        call.request = None
        free(done)
