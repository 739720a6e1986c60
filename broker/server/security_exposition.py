"""The Prometheus families of logins, TLS handshakes and delegation tokens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from broker.loop.security_stats import FAILED, OK, SecurityStats


def login_families(counts: SecurityStats) -> Iterator[Metric]:
    """Yield the logins and handshakes; both are empty until the first one."""
    logins = CounterMetricFamily(
        "kawal_logins",
        "Logins by SASL, by listener, mechanism and outcome.",
        labels=["listener", "mechanism", "outcome"],
    )
    for labels, count in sorted(counts.logins.items()):
        logins.add_metric(labels, count)
    yield logins
    handshakes = CounterMetricFamily(
        "kawal_tls_handshakes", "TLS handshakes, by listener and outcome.", labels=["listener", "outcome"]
    )
    for pair, count in sorted(counts.handshakes.items()):
        handshakes.add_metric(pair, count)
    yield handshakes


def token_families(tokens: Mapping[str, int], logins: SecurityStats) -> Iterator[Metric]:
    """Yield the families of a server that has delegation tokens."""
    if not tokens:
        return
    yield GaugeMetricFamily(
        "kawal_delegation_tokens", "Delegation tokens that there are.", value=tokens["present"]
    )
    changes = CounterMetricFamily(
        "kawal_delegation_token_changes",
        "Delegation tokens issued, renewed, removed by clients, and removed because they had expired.",
        labels=["change"],
    )
    for change in ("issued", "renewed", "removed", "expired"):
        changes.add_metric([change], tokens[change])
    yield changes
    used = CounterMetricFamily(
        "kawal_delegation_token_logins", "Logins with delegation tokens, by outcome.", labels=["outcome"]
    )
    for outcome in (OK, FAILED):
        used.add_metric([outcome], logins.token_logins[outcome])
    yield used
