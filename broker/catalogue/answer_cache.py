"""Encoded answers about everything that exists, shared by all clients until something changes.

Describing 100,000 partitions takes a hundred milliseconds of processor, and many clients ask for them again
and again.  Requests that come while the answer is being made wait for it.  An answer is never older than the
request: it is used only if nothing had changed, when the request came, since the making began.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable
from typing import Any, Final

from broker.catalogue.topics import Catalogue
from broker.loop.answers import EncodedAnswer
from broker.loop.slices import Offload, Until, WaitingSteps, in_thread
from protocol.wire import encode

CACHE_BYTES_MAX: Final = 32 << 20
"""The size of the answers that are kept, or one answer if it is larger: 32 MiB hold a million partitions."""


class _Making:
    """An answer that is being made."""

    __slots__ = ("answer", "changes", "waiting")

    def __init__(self, changes: int) -> None:
        self.changes = changes
        self.answer: EncodedAnswer | None = None
        self.waiting: list[Callable[[], None]] = []


class AnswerCache:
    """The encoded answers, by what was asked for and by whom, as far as that makes a difference."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._changes = -1
        self._made: dict[Hashable, EncodedAnswer] = {}
        self._making: dict[Hashable, _Making] = {}

    def answer(
        self, key: Hashable, make: Callable[[], WaitingSteps], version: int, offload: Offload
    ) -> Generator[Until | None, None, EncodedAnswer]:
        """Return the encoded answer for a key; the steps of `make` return it as a message, if it is missing.

        What the message shows may depend on the key and the catalogue only.
        """
        arrived = self._catalogue.changes
        while True:
            known = self._made.get(key) if self._changes >= arrived else None
            if known is not None:
                return known
            making = self._making.get(key)
            if making is None or making.changes < arrived:
                return (yield from self._make(key, make, version, offload))
            yield Until(making.waiting.append)
            if making.answer is not None:
                return making.answer

    def _make(
        self, key: Hashable, make: Callable[[], WaitingSteps], version: int, offload: Offload
    ) -> Generator[Until | None, None, EncodedAnswer]:
        making = self._making[key] = _Making(self._catalogue.changes)
        try:
            message: Any = yield from make()
            answer = EncodedAnswer((yield from in_thread(offload, lambda: encode(message, version))))
            if self._catalogue.changes == making.changes:
                self._keep(key, answer)
            making.answer = answer
        finally:
            # The client may have left: then one that waits makes it.
            if self._making.get(key) is making:
                del self._making[key]
            for resume in making.waiting:
                resume()
        return answer

    def _keep(self, key: Hashable, answer: EncodedAnswer) -> None:
        if self._changes != self._catalogue.changes:
            self._changes = self._catalogue.changes
            self._made.clear()
        self._made[key] = answer
        size_bytes = sum(kept.size_bytes for kept in self._made.values())
        while size_bytes > CACHE_BYTES_MAX and len(self._made) > 1:
            size_bytes -= self._made.pop(next(iter(self._made))).size_bytes
