"""A Kafka broker for each test, in memory, ready in a few milliseconds and gone when the test ends.

With pytest, by the fixture `kawal_broker`:

    def test_orders_are_stored(kawal_broker):
        shop = Shop(kawal_broker.bootstrap)
        shop.order("tea")
        assert kawal_broker.values("orders") == [b"tea"]

Without pytest:

    with kawal_pytest.broker(num_partitions=3) as broker:
        ...

The fixtures are in kawal_pytest/plugin.py; docs/testing.md describes the rest.  The broker is a process of
its own, started by the command `kawal`; this package imports the standard library, and pytest only for the
fixtures.
"""

from __future__ import annotations

from kawal_pytest.host import Host, broker, find_command
from kawal_pytest.kawal_broker import Clock, Fault, KawalBroker, KawalError, Record

__all__ = [
    "Clock",
    "Fault",
    "Host",
    "KawalBroker",
    "KawalError",
    "Record",
    "broker",
    "find_command",
]
