"""The families of logins, handshakes and delegation tokens."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client.core import Metric

from broker.loop.security_stats import FAILED, OK, SecurityStats
from broker.server.security_exposition import login_families, token_families


def rows(families: Iterable[Metric]) -> list[tuple[str, tuple[str, ...], float]]:
    return [
        (sample.name, tuple(sample.labels.values()), sample.value)
        for family in families
        for sample in family.samples
    ]


def test_logins_and_handshakes_are_told_by_listener_and_outcome() -> None:
    counts = SecurityStats()
    counts.login("IN", "PLAIN", FAILED, by_token=False)
    counts.handshakes["TLS", OK] = 3
    assert rows(login_families(counts)) == [
        ("kawal_logins_total", ("IN", "PLAIN", "failed"), 1),
        ("kawal_tls_handshakes_total", ("TLS", "ok"), 3),
    ]


def test_tokens_are_told_with_what_became_of_them() -> None:
    counts = SecurityStats()
    counts.token_logins[FAILED] = 7
    tokens = {"present": 2, "issued": 5, "renewed": 1, "removed": 2, "expired": 1}
    assert rows(token_families(tokens, counts)) == [
        ("kawal_delegation_tokens", (), 2),
        ("kawal_delegation_token_changes_total", ("issued",), 5),
        ("kawal_delegation_token_changes_total", ("renewed",), 1),
        ("kawal_delegation_token_changes_total", ("removed",), 2),
        ("kawal_delegation_token_changes_total", ("expired",), 1),
        ("kawal_delegation_token_logins_total", ("ok",), 0),
        ("kawal_delegation_token_logins_total", ("failed",), 7),
    ]


def test_a_server_without_tokens_has_no_metrics_of_them() -> None:
    assert rows(token_families({}, SecurityStats())) == []
