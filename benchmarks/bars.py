"""The bars: how fast, how frugal and how quick to start the gateway is meant to be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from benchmarks.servers import TITLES, ServerKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A limit for one figure of the gateway: a ratio to a peer's figure, or absolute without a peer."""

    case: str
    metric: str
    sense: Literal["≥", "≤"]
    limit: float
    peer: ServerKind | None

    def met_by(self, value: float) -> bool:
        """Compare a measured value with the limit."""
        return value >= self.limit if self.sense == "≥" else value <= self.limit

    @property
    def text(self) -> str:
        """The bar as a table shows it."""
        return f"{self.sense} {self.limit:g}" + (f"x {TITLES[self.peer]}" if self.peer else "")


def _faster(case: str, limit: float, peer: ServerKind = "kafka", metric: str = "mb_per_s") -> Bar:
    return Bar(case=case, metric=metric, sense="≥", limit=limit, peer=peer)


def _at_most(case: str, metric: str, limit: float, peer: ServerKind | None = None) -> Bar:
    return Bar(case=case, metric=metric, sense="≤", limit=limit, peer=peer)


# Where the gateway syncs before it acknowledges and the peer "kafka" does not, the peer has the easier task.
BARS: tuple[Bar, ...] = (
    *(_faster(f"produce-{size}-1p-all", 1.5) for size in ("1k", "10k")),
    *(_faster(f"produce-{size}-100p-all", 3.0) for size in ("1k", "10k")),
    *(
        _at_most(f"produce-{size}-{partitions}p-all", "cpu_s_per_gb", 0.5, "kafka")
        for size in ("1k", "10k")
        for partitions in (1, 100)
    ),
    _faster("produce-1k-100p-all", 10.0, "kafka-fsync"),
    _faster("produce-new-100p", 3.0),
    _faster("produce-new-100p", 10.0, "kafka-fsync"),
    _faster("produce-1k-1000p-all", 20.0, "kafka-fsync"),
    *(_faster(f"produce-100b-1p-{acks}", 1.0) for acks in ("1", "all")),
    *(_faster(f"consume-{size}-{partitions}p", 1.0) for size in ("1k", "10k") for partitions in (1, 100)),
    *(
        _at_most(f"consume-{size}-{partitions}p", "cpu_s_per_gb", 1.2, "kafka")
        for size in ("1k", "10k")
        for partitions in (1, 100)
    ),
    *(_at_most("latency-all", metric, 1.0, "kafka-fsync") for metric in ("p50_ms", "p99_ms")),
    _faster("small-records-8x5", 1.0, metric="requests_per_s"),
    _at_most("small-records-8x5", "p99_ms", 1.0, "kafka-fsync"),
    _at_most("cold-start", "first_answer_s", 0.30),
    _at_most("cold-start", "first_ack_s", 0.45),
    _at_most("memory-idle", "rss_mb", 45),
    _at_most("memory-10k", "rss_mb", 80),
    _at_most("restart-100k", "rss_mb", 500),
    _at_most("restart-1g", "first_answer_s", 1.0),
    _at_most("restart-100k", "first_ack_s", 5.0),
)
