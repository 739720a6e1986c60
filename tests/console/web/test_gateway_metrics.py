"""The gateway's figures, out of the text of its metrics."""

from __future__ import annotations

import pytest

from broker.coordinators.group_snapshot import GroupSnapshot
from broker.coordinators.transaction_snapshot import TransactionSnapshot
from broker.server.exposition import render
from broker.server.remote_exposition import remote_families
from broker.snapshot import Snapshot
from console.web import gateway_metrics
from console.web.gateway_metrics import GatewayFigures, RemoteFigures, figures_in, read_figures
from tests.broker.gateway import Gateway
from tests.broker.kit import batch, create, send

TEXT = """\
# HELP kawal_sync_seconds …
kawal_sync_seconds_bucket{le="0.001"} 90.0
kawal_sync_seconds_bucket{le="0.004"} 99.0
kawal_sync_seconds_bucket{le="0.016"} 100.0
kawal_sync_seconds_bucket{le="+Inf"} 100.0
kawal_sync_seconds_count 100.0
kawal_sync_seconds_sum 0.25
kawal_loop_turns_over_budget_total{api="fetch"} 2.0
kawal_loop_turns_over_budget_total{api="produce"} 1.0
kawal_connections_refused_total 7.0
kawal_connections_closed_total{cause="setup"} 5.0
kawal_connections_closed_total{cause="idle"} 100.0
kawal_internal_errors_total{place="request"} 1.0
kawal_other 1e999
broken line
"""


def test_the_figures_are_added_up_and_the_share_of_syncs_is_told_by_its_class() -> None:
    assert figures_in(TEXT) == GatewayFigures(100, 2.5, 4.0, 3, 7, 5, 1)


REMOTE = """\
kawal_remote_rounds_total 12.0
kawal_remote_failures_total 3.0
kawal_remote_segments_missing 2.0
kawal_remote_stopped 0.0
kawal_remote_lag_seconds 4.5
"""


def test_the_copy_in_an_object_store_is_told_where_there_is_one() -> None:
    assert figures_in(TEXT).remote is None
    assert figures_in(TEXT + REMOTE).remote == RemoteFigures(4.5, 2, 3, False)
    stopped = REMOTE.replace("stopped 0.0", "stopped 1.0").replace("kawal_remote_lag_seconds 4.5\n", "")
    assert figures_in(stopped).remote == RemoteFigures(None, 2, 3, True)


def test_the_copy_s_figures_have_the_names_of_the_metrics() -> None:
    counts = {
        "uploaded_bytes": 1,
        "rounds": 2,
        "failures": 3,
        "segments_missing": 4,
        "past_cuts": 0,
        "stopped": 1,
        "lag_ms": 5,
        "only_segments": 6,
        "only_bytes": 7,
        "fetched_bytes": 8,
        "served_bytes": 9,
        "ahead_bytes": 2,
        "unread_bytes": 1,
        "read_failures": 10,
    }
    told = "\n".join(
        f"{sample.name} {sample.value}" for family in remote_families(counts) for sample in family.samples
    )
    assert figures_in(told).remote == RemoteFigures(0.005, 4, 3, True)


def test_without_a_sync_there_is_no_time_of_syncs() -> None:
    assert figures_in("") == GatewayFigures(0, None, None, 0, 0, 0, 0)
    assert figures_in('kawal_sync_seconds_bucket{le="+Inf"} 0.0\nkawal_sync_seconds_count 0.0\n').syncs == 0


def test_they_are_in_what_a_gateway_says() -> None:
    gateway = Gateway()
    create(gateway.client(), "t")
    send(gateway.client(), "t", batch(b"a"))
    snapshot = Snapshot.take(gateway.broker)
    snapshot.data_directory = "/"
    text, _ = render(snapshot, GroupSnapshot(held_partitions=0), TransactionSnapshot(), "")
    words = text.decode()
    for name in (
        "kawal_sync_seconds_count",
        "kawal_loop_turns_over_budget_total",
        "kawal_connections_refused",
    ):
        assert name in words
    assert 'kawal_connections_closed_total{cause="setup"}' in words
    assert "kawal_internal_errors_total" in words


class Silent:
    """A connection that is refused."""

    def __init__(self, host: str, port: int, timeout: float) -> None:
        self.where = host, port

    def request(self, *_: object) -> None:
        raise ConnectionRefusedError

    def close(self) -> None:
        self.where = "", 0


def test_an_address_that_does_not_answer_has_no_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateway_metrics, "HTTPConnection", Silent)
    assert read_figures("127.0.0.1:9644") is None
    assert read_figures("") is None
