"""A step of a sequence: one request, with placeholders for what only the broker under test can name.

A sequence is written before any broker has seen it, so it cannot know the id of a topic, of a producer or of
a fetch session. It uses the stand-ins made here; `runner.py` puts the real ones in their place before it
sends a request, and the stand-ins back into the answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

from compat_tests.batches import Batch
from protocol.api_keys import ApiKey
from protocol.schema import declaration

BASE_MS = 1_700_000_000_000
"""The time of the first record of every sequence (2023-11-14): only what is fixed can be recorded."""

FIRST_PRODUCER = 900_000_000_000
FIRST_SESSION = 800_000_000
STAND_INS = 10_000
"""The most producers and sessions of a sequence; numbers of these ranges occur nowhere else."""


def topic_id(name: str, generation: int = 1) -> UUID:
    """Return the stand-in for the id of the topic called `name`, the `generation`th of that name."""
    return uuid5(NAMESPACE_URL, f"{name}#{generation}")


def producer(number: int) -> int:
    """Return the stand-in for the id that the `number`th InitProducerId to succeed answered, from 0."""
    return FIRST_PRODUCER + number


def session(number: int) -> int:
    """Return the stand-in for the `number`th fetch session that the broker opened, from 0."""
    return FIRST_SESSION + number


def member(number: int) -> str:
    """Return the stand-in for the `number`th member id that the broker made up, from 0."""
    return f"<member {number}>"


@dataclass(frozen=True)
class Step:
    """One request in one version. Its `records` may be batches, which are encoded when they are sent."""

    request: Any
    version: int
    node: int = 0
    """The number of the node that gets it, of a cluster of several."""

    @property
    def api(self) -> ApiKey:
        """The API called."""
        api = declaration(type(self.request)).api
        assert api is not None
        return api

    def __str__(self) -> str:
        node = f" at node {self.node}" if self.node else ""
        return f"{self.api.name} v{self.version}{node} {brief(self.request)}"


def brief(value: Any) -> str:
    """Return a request or a part of it as text, without the fields that have their default."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(brief, value))}]"
    if isinstance(value, Batch):
        default = Batch()
        fields = [(name, item) for name, item in vars(value).items() if item != getattr(default, name)]
        return f"Batch({', '.join(f'{name}={item!r}' for name, item in fields)})"
    if not hasattr(type(value), "__wire__"):
        text = repr(value)
        return text if len(text) < 100 else f"{text[:40]}…({len(text)})"
    shown = [
        f"{field.name}={brief(found)}"
        for field in declaration(type(value)).fields
        if (found := getattr(value, field.name)) != field.default
    ]
    return f"{{{', '.join(shown)}}}"


Steps = Iterator[Step]
