"""Freeing wide messages: in a thread, an array's part at a time.

The objects of a message that names 100,000 things take 10 to 30 ms to free, all in one go when the last
reference to it goes, and in that time no other thread runs.  Here they go in parts, between which the event
loop has its turn; nothing that others still refer to is changed.
"""

from __future__ import annotations

from typing import Any, Final

from broker.loop.call import Call
from broker.loop.slices import Offload
from protocol.schema import ArrayOf, declaration

FREED_BYTES_MIN: Final = 512 << 10
"""A request that takes more as objects, 1,000 elements or so, is freed in a thread."""


_arrays: dict[type[Any], tuple[str, ...]] = {}


def free(messages: list[Any]) -> None:
    """Free messages that the list has the last references to; it is empty then."""
    while messages:
        message = messages.pop()
        cls = message.__class__
        names = _arrays.get(cls)
        if names is None:
            names = _arrays[cls] = _arrays_of(cls)
        for name in names:
            messages.extend(getattr(message, name) or ())


def _arrays_of(cls: type[Any]) -> tuple[str, ...]:
    """Return the names of the arrays in a message or a part of it; what is no message has none."""
    if not hasattr(cls, "__wire__"):
        return ()
    return tuple(field.name for field in declaration(cls).fields if isinstance(field.kind, ArrayOf))


def free_in_thread(messages: list[Any], offload: Offload) -> None:
    """Have a thread free messages, if there are any, that the list has the last references to."""
    if messages:
        offload(lambda: free(messages), _ignore)


def free_request(call: Call[Any], offload: Offload) -> None:
    """Have a thread free the request of a call that is answered."""
    request, call.request = [call.request], None
    free_in_thread(request, offload)


def _ignore(_error: Exception | None) -> None:
    """Take no notice of the end."""
