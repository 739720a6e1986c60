"""A broker beside a schema registry, and values framed for it."""

from __future__ import annotations

import struct
from random import Random
from typing import Any

from broker.core import Broker
from broker.start import open_broker
from broker.storage.schemas import Lookups
from registry.errors import Unreachable
from tests.broker.gateway import Gateway

PAGES: dict[str, Any] = {
    **{f"schemas/ids/{number}": {"schemaType": "JSON", "schema": "{}"} for number in range(1, 100)},
    "schemas/ids/100": {"schema": '"string"'},
}


class WithRegistry(Gateway):
    """A broker with a registry of pages."""

    def __init__(self, **settings: Any) -> None:
        self.asked: list[str] = []
        self.away = False
        self.pages = dict(PAGES)
        super().__init__(kawal_schema_registry_url="http://registry:8081", **settings)

    def ask(self, path: str) -> Any:
        self.asked.append(path)
        if self.away:
            raise Unreachable("nothing answers")
        return self.pages.get(path)

    def _open(self) -> Broker:
        return open_broker(
            self.disk,
            self.config,
            random=Random(self.now_ms),
            now_ms=self.now_ms,
            wall_ms=self.now_ms,
            lookups=Lookups(lambda _: self.ask),
        )


def framed(identity: int, payload: bytes = b"{}") -> bytes:
    return struct.pack(">bi", 0, identity) + payload
