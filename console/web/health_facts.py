"""The health of a broker: what it is, how long it takes to answer, and the brokers of its cluster."""

from __future__ import annotations

from typing import NamedTuple

from console.admin import describe_cluster
from console.health import ask_health
from console.wire import NotKawal, ask
from protocol.messages.kawal_databases import DatabaseAction, KawalDatabasesRequest


class BrokerHealth(NamedTuple):
    """A broker that answers."""

    apis: int
    milliseconds: float
    kawal: bool
    cluster: str
    brokers: list[tuple[int, str]]
    """The brokers of its cluster, each with its address."""


def health_of(bootstrap: str) -> BrokerHealth:
    """Ask a broker for its APIs, and for its cluster.  Raises: CommandError when it does not answer."""
    health = ask_health(bootstrap)
    cluster = describe_cluster(bootstrap)
    brokers = [
        (broker.broker_id, f"{f'[{broker.host}]' if ':' in broker.host else broker.host}:{broker.port}")
        for broker in cluster.brokers
    ]
    return BrokerHealth(
        health.apis, round(health.milliseconds, 1), _is_kawal(bootstrap), cluster.cluster_id, sorted(brokers)
    )


def _is_kawal(bootstrap: str) -> bool:
    """Whether a broker knows a request of ours, whatever it answers.  Raises: CommandError."""
    try:
        ask(bootstrap, KawalDatabasesRequest(action=DatabaseAction.DESCRIBE, databases=[]))
    except NotKawal:
        return False
    return True
