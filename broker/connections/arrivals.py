"""The rate at which clients connect: of all together, of a listener, and of addresses that have a quota.

    max.connection.creation.rate    above it, clients wait in the kernel's queue; a listener may have its own
    connection_creation_rate        (a quota of an address) above it, a client is let in and closed after a
                                    while, so that it cannot come again at once

Source: KIP-612; Kafka 4.3's ConnectionQuotas.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from broker.security.addresses import spellings
from broker.security.quota_rates import Rate, Windows
from broker.security.quotas import CONNECTION_RATE, IP, Entity

HOSTS_MAX: Final = 10_000
"""The addresses whose rates are kept, those that came last."""

DELAYED_MAX: Final = 1_000
"""The most connections that wait to be closed; any more are closed at once."""

DELAY_MS_MAX: Final = 1_000
"""The longest that one waits."""


class Arrivals:
    """The clients that have connected of late."""

    def __init__(self, windows: Windows) -> None:
        self._windows = windows
        self._all = Rate(windows)
        self._listeners: dict[str, Rate] = {}
        self._hosts: OrderedDict[str, Rate] = OrderedDict()

    def pause_ms(self, rate_max: int, now_ms: int) -> int:
        """Return how long no client should be accepted, 0 if the next one may come."""
        return self._all.wait_ms(rate_max, now_ms)

    def listener_pause_ms(self, listener: str, rate_max: int, now_ms: int) -> int:
        """Return how long this listener should accept no client, 0 if the next one may come."""
        rate = self._listeners.get(listener)
        return 0 if rate is None else rate.wait_ms(rate_max, now_ms)

    def accepted(self, now_ms: int) -> None:
        """Count a client."""
        self._all.count(1, now_ms)

    def accepted_at(self, listener: str, now_ms: int) -> None:
        """Count a client of a listener with a limit of its own."""
        rate = self._listeners.get(listener)
        if rate is None:
            rate = self._listeners[listener] = Rate(self._windows)
        rate.count(1, now_ms)

    def host_wait_ms(self, host: str, values: dict[Entity, dict[str, float]], now_ms: int) -> int:
        """Count a client of an address that may have a quota; return how long it has to wait, 0: it may stay.

        A client that has to wait is not counted.
        """
        for name in (*spellings(host), None):
            entity = ((IP, name),)
            quota = values.get(entity, {}).get(CONNECTION_RATE)
            if quota is not None:
                return self._wait_ms(host, quota, now_ms)
        return 0

    def _wait_ms(self, host: str, quota: float, now_ms: int) -> int:
        rate = self._hosts.setdefault(host, Rate(self._windows))
        self._hosts.move_to_end(host)
        if len(self._hosts) > HOSTS_MAX:
            self._hosts.popitem(last=False)
        rate.count(1, now_ms)
        wait_ms = rate.wait_ms(quota, now_ms)
        if wait_ms:
            rate.count(-1, now_ms)
        return min(wait_ms, DELAY_MS_MAX)
