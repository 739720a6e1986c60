"""The gateway's own figures: syncs, long turns of its loop, clients that it did not let in.

They are read from its `/metrics` by the console on the same machine, and only for a page that shows them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException
from typing import Final, NamedTuple

from broker.config.endpoints import parse_endpoint

TIMEOUT_SECONDS: Final = 5.0
BYTES_MAX: Final = 16 << 20
"""More than the limits of the metrics allow."""
MOST: Final = 0.99
"""The share of syncs whose time is told."""

_SAMPLE: Final = re.compile(r"^(kawal_[a-z_]+)(?:\{([^}]*)\})? ([0-9.e+-]+)$", re.MULTILINE)
_BOUND: Final = re.compile(r'le="([^"]+)"')


class RemoteFigures(NamedTuple):
    """The copy of all logs in an object store."""

    lag_seconds: float | None
    """The age of the newest moment of which everything durable is in the store; None: not known."""
    segments_missing: int
    """Closed segments that are not there yet; with some, the copy cannot be restored."""
    failures: int
    stopped: bool
    """Whether nothing more is copied until the next start."""


class GatewayFigures(NamedTuple):
    """The counts of the gateway since its start."""

    syncs: int
    sync_mean_ms: float | None
    sync_most_ms: float | None
    """99 of 100 syncs took at most this long, as far as the classes of the metric tell."""
    long_turns: int
    """Turns of the event loop that were longer than they may be."""
    refused: int
    """Connections that limits have kept out."""
    not_let_in: int
    """Connections that did not get through TLS or a login in time, or were refused there."""
    internal_errors: int
    remote: RemoteFigures | None = None
    """None: the logs are not copied to an object store."""


def read_figures(address: str) -> GatewayFigures | None:
    """Return the figures at an address of metrics; None without one, or if it does not answer with such."""
    if not address:
        return None
    host, port = parse_endpoint(address)
    connection = HTTPConnection(host, port, timeout=TIMEOUT_SECONDS)
    try:
        connection.request("GET", "/metrics")
        answer = connection.getresponse()
        if answer.status != 200:
            return None
        return figures_in(answer.read(BYTES_MAX).decode(errors="replace"))
    except (OSError, HTTPException):
        return None
    finally:
        connection.close()


def figures_in(text: str) -> GatewayFigures:
    """Return the figures in the text of metrics; what is not there is 0."""
    sums: dict[str, float] = {}
    classes: list[tuple[float, float]] = []
    for name, labels, number in _SAMPLE.findall(text):
        if name == "kawal_sync_seconds_bucket":
            classes.append((float(_BOUND.findall(labels)[0].replace("+Inf", "inf")), float(number)))
        elif name == "kawal_connections_closed_total" and 'cause="setup"' not in labels:
            continue
        else:
            sums[name] = sums.get(name, 0.0) + float(number)
    syncs = int(sums.get("kawal_sync_seconds_count", 0))
    return GatewayFigures(
        syncs,
        round(1000 * sums["kawal_sync_seconds_sum"] / syncs, 2) if syncs else None,
        _most_ms(classes, syncs),
        int(sums.get("kawal_loop_turns_over_budget_total", 0)),
        int(sums.get("kawal_connections_refused_total", 0)),
        int(sums.get("kawal_connections_closed_total", 0)),
        int(sums.get("kawal_internal_errors_total", 0)),
        _remote(sums),
    )


def _remote(sums: Mapping[str, float]) -> RemoteFigures | None:
    if "kawal_remote_rounds_total" not in sums:
        return None
    return RemoteFigures(
        sums.get("kawal_remote_lag_seconds"),
        int(sums.get("kawal_remote_segments_missing", 0)),
        int(sums.get("kawal_remote_failures_total", 0)),
        bool(sums.get("kawal_remote_stopped", 0)),
    )


def _most_ms(classes: list[tuple[float, float]], syncs: int) -> float | None:
    """Return the bound of the first class by which most syncs had ended."""
    bound = next((bound for bound, count in sorted(classes) if syncs and count >= MOST * syncs), None)
    return None if bound is None or bound == float("inf") else round(1000 * bound, 2)
