"""The bytes a client receives of 1 KB records of which 1 % match: from the topic, and from a view."""

from __future__ import annotations

from benchmarks.clients import flights
from benchmarks.clients.idle_views import IdleConsumers
from benchmarks.views_wire.setting import TOPIC, Tell, create, fill, gateway

RECORDS, QUICK_RECORDS = 200_000, 60_000
VIEWS = {
    "late": "SELECT id, carrier FROM flights WHERE delay = 99",
    "whole": "SELECT * FROM flights WHERE delay = 99",
}


def measure(tell: Tell, *, quick: bool) -> None:
    """Count the bytes of all answers."""
    count = QUICK_RECORDS if quick else RECORDS
    with gateway() as broker:
        create(broker, TOPIC, kawal_columns=flights.COLUMNS)
        fill(broker, TOPIC, count)
        plain = IdleConsumers.bytes_of_topic(broker.port, TOPIC, count)
        tell(f"plain topic: {plain:,} bytes of answers, filtered by the client")
        for name, sql in VIEWS.items():
            create(broker, name, -1, kawal_sql=sql)
            sent = IdleConsumers.bytes_of_topic(broker.port, name, count)
            tell(f"view {name} ({sql}): {sent:,} bytes of answers, {plain / sent:.0f} times fewer")
