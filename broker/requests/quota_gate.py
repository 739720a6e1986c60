"""The gate before that of access rules: requests are counted if there are quotas.

What counts them is imported with the first quota.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker.catalogue.quota_table import QuotaTable
from broker.config.config import Config
from broker.loop.call import Call, CallConnection
from broker.requests.gate import WriteGate

if TYPE_CHECKING:
    from broker.requests.throttling import Node, Throttling


class QuotaGate:
    """The gate of requests whose clients may have quotas."""

    def __init__(self, inner: WriteGate, table: QuotaTable, node: Node, config: Config) -> None:
        """`inner` is the gate behind it."""
        self._inner = inner
        self._table = table
        self._node = node
        self._config = config
        self._throttling: Throttling | None = None

    def lets_write(self, connection: CallConnection, topic: str) -> bool:
        """Whether a Produce of this client would pass, at once and uncounted, at this moment."""
        return not self._table.values and self._inner.lets_write(connection, topic)

    def admit(self, call: Call[Any], now_ms: int) -> object | None:
        """Have the call counted if there are quotas."""
        if self._table.values:
            (self._throttling or self._begin()).meet(call)
        return self._inner.admit(call, now_ms)

    def _begin(self) -> Throttling:
        from broker.requests.throttling import Throttling
        from broker.security.quota_rates import Windows

        config = self._config
        self._throttling = Throttling(
            self._table,
            self._node,
            Windows(config.quota_window_num, config.quota_window_size_seconds * 1_000),
            Windows(config.controller_quota_window_num, config.controller_quota_window_size_seconds * 1_000),
        )
        return self._throttling
