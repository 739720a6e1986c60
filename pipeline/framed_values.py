"""Values framed for a schema registry, as JSON, in Spark's workers; each asks for a schema once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

from registry.client import Client
from registry.errors import NotOfSchema, SchemaProblem
from registry.framing import frame_problem, payload, schema_id
from registry.schemas import Decode, load


class FramedValues:
    """A reader of framed values."""

    def __init__(self, ask: Callable[[str], Any]) -> None:
        """`ask` returns the JSON at a path of the registry."""
        self._ask = ask
        self._known: dict[int, Decode | str] = {}

    def read(self, values: Iterable[bytes | None]) -> tuple[list[bytes | None], dict[int, str]]:
        """Return the JSON of each value, and by its place why one has none.  Raises: Unreachable."""
        found: list[bytes | None] = []
        problems: dict[int, str] = {}
        for at, value in enumerate(values):
            try:
                found.append(None if value is None else self._read_one(value))
            except NotOfSchema as error:
                problems[at] = str(error)
                found.append(b"")
        return found, problems

    def _read_one(self, value: bytes) -> bytes:
        identity = schema_id(value)
        if identity is None:
            raise NotOfSchema(frame_problem(value))
        decode = self._known.get(identity)
        if decode is None:
            decode = self._known[identity] = self._look_up(identity)
        if isinstance(decode, str):
            raise NotOfSchema(decode)
        try:
            return decode(payload(value))
        except NotOfSchema as error:
            raise NotOfSchema(f"not of schema {identity}: {error}") from error

    def _look_up(self, identity: int) -> Decode | str:
        try:
            return load(identity, self._ask) or f"the schema registry has no schema {identity}"
        except SchemaProblem as error:
            return f"schema {identity} cannot be read: {error}"


@lru_cache(maxsize=8)
def framed_values(url: str) -> FramedValues:
    """Return the reader of this process for the registry at an address."""
    return FramedValues(Client(url).ask)
