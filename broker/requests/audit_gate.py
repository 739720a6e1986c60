"""The gate of an audited server: requests that change what no record of the catalogue tells are watched.

It stands before the gate that enforces access rules, so that a request is seen as it was sent.
"""

from __future__ import annotations

from typing import Any

from broker.loop.call import Call, CallConnection
from broker.requests.gate import WriteGate


class AuditGate:
    """A gate before another one."""

    def __init__(self, gate: WriteGate) -> None:
        self._gate = gate

    def lets_write(self, connection: CallConnection, topic: str) -> bool:
        """Ask the other gate: a Produce that passes is not watched."""
        return self._gate.lets_write(connection, topic)

    def admit(self, call: Call[Any], now_ms: int) -> object | None:
        """Watch the request, then let the other gate decide.

        A request that cannot be told, and must be, is refused with POLICY_VIOLATION.
        """
        audit = call.connection.stats.audit
        # Held requests come again: what there is before the change is looked at once more.
        refused = None if audit is None else audit.begin(call)
        return self._gate.admit(call, now_ms) if refused is None else refused
