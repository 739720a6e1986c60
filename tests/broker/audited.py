"""A gateway with an authorizer and an audit log whose events a test can look at."""

from __future__ import annotations

import json
from typing import Any

from broker.security.audit_trail import AuditTrail, Batch, Done
from broker.server.audit_file import line_of
from broker.server.audit_setup import make_trail
from tests.broker.guarded import Guarded

Event = dict[str, Any]


class Audited(Guarded):
    """A gateway; `failing` is why nothing can be written, `events` are those that were."""

    def __init__(self, **settings: Any) -> None:
        self.failing: str | None = None
        self.events: list[Event] = []
        super().__init__(**{"kawal_audit_file": "/audit.log"} | settings)
        self.trail: AuditTrail = make_trail(self.broker, self.config, self._write)

    def _write(self, batch: Batch, done: Done) -> None:
        if self.failing is None:
            batch.lines = list(map(line_of, batch.events))
            self.events += map(json.loads, batch.lines)
        done(self.failing)

    def of(self, principal: str, host: str = "10.0.0.9") -> Any:
        """Return a connection of this principal, which came to the listener INSIDE."""
        client = super().of(principal, host)
        client.connection.listener = "INSIDE"
        return client

    def named(self, event: str) -> list[Event]:
        """Return the events of a name."""
        return [found for found in self.events if found["event"] == event]

    def last(self, event: str) -> Event:
        """Return the last event of a name."""
        return self.named(event)[-1]
