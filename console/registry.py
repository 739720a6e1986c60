"""Values framed by clients of a Confluent-compatible schema registry, shown as JSON.

What is not framed and what the registry does not know stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from console.errors import CommandError, UsageError
from registry.client import Client, address_problem
from registry.errors import NotOfSchema, SchemaProblem, Unreachable
from registry.framing import payload, schema_id
from registry.schemas import Decode, load


class Registry:
    """A schema registry; each schema is asked for once."""

    def __init__(self, url: str, ask: Callable[[str], Any] | None = None) -> None:
        """Take the registry's address.  Raises: UsageError."""
        problem = address_problem(url)
        if problem is not None:
            raise UsageError(f"--registry {url!r} {problem}")
        client = Client(url)
        self._url = client.url
        self._ask = ask or client.ask
        self._known: dict[int, Decode | None] = {}

    def decoded(self, data: bytes | None) -> bytes | None:
        """Return the JSON of a framed value, and anything else as it is.  Raises: CommandError."""
        identity = None if data is None else schema_id(data)
        if data is None or identity is None:
            return data
        try:
            if identity not in self._known:
                self._known[identity] = load(identity, self._ask)
            decode = self._known[identity]
            return data if decode is None else decode(payload(data))
        except Unreachable as error:
            raise CommandError(str(error)) from error
        except SchemaProblem as error:
            raise CommandError(f"schema {identity} of {self._url} cannot be read: {error}") from error
        except NotOfSchema as error:
            raise CommandError(
                f"a value with schema {identity} of {self._url} is not of it: {error}"
            ) from error
