"""The families of single listeners."""

from broker.loop.listener_stats import ListenerStats
from broker.server.listener_exposition import listener_families
from broker.snapshot import Snapshot
from tests.broker.gateway import Gateway


def test_connections_are_told_by_listener() -> None:
    gateway = Gateway()
    gateway.broker.stats.listeners["SSL"] = ListenerStats(open=2, opened=5, refused=3, rests=1)
    gateway.broker.stats.certificates_until_s["SSL"] = 99
    found = {
        sample.name: (sample.labels, sample.value)
        for family in listener_families(Snapshot.take(gateway.broker))
        for sample in family.samples
    }
    assert found == {
        "kawal_listener_connections": ({"listener": "SSL"}, 2),
        "kawal_listener_connections_opened_total": ({"listener": "SSL"}, 5),
        "kawal_listener_connections_refused_total": ({"listener": "SSL"}, 3),
        "kawal_listener_rests_total": ({"listener": "SSL"}, 1),
        "kawal_tls_certificate_expiry_timestamp_seconds": ({"listener": "SSL"}, 99),
    }
