"""The sizes of what is measured: the full run and the quick one."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.clients.jobs import ClientKind

MB = 1_000_000
GIB = 1 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Sizes of all measurements of a run."""

    client: ClientKind
    """The client that produces and consumes; latency and small requests always come from raw sockets."""
    warm_up_seconds: float
    """The writing time of one warm-up step."""
    warm_up_steps: int
    """The most steps before anything counts."""
    produce_seconds: float
    produce_bytes: int
    """A produce measurement ends after this time or this much, whichever is first."""
    consume_bytes: int
    consume_records: int
    """A consume measurement reads this much or this many, whichever is less."""
    cold_bytes: int
    fan_out_bytes: int
    latency_seconds: float
    small_seconds: float
    idle_seconds: float
    """The time a started server is left alone before its memory is read."""
    restart_bytes: int = GIB


def full(client: ClientKind) -> Scale:
    """Return the sizes for the published figures."""
    return Scale(
        client=client,
        warm_up_seconds=1.5,
        warm_up_steps=5,
        produce_seconds=2.0,
        produce_bytes=600 * MB,
        consume_bytes=600 * MB,
        consume_records=2_500_000,
        cold_bytes=600 * MB,
        fan_out_bytes=100 * MB,
        latency_seconds=2.0,
        small_seconds=2.0,
        idle_seconds=2.0,
    )


def quick(client: ClientKind) -> Scale:
    """Return sizes that show the order of magnitude in a few minutes."""
    return Scale(
        client=client,
        warm_up_seconds=1.5,
        warm_up_steps=2,
        produce_seconds=1.2,
        produce_bytes=400 * MB,
        consume_bytes=300 * MB,
        consume_records=1_500_000,
        cold_bytes=300 * MB,
        fan_out_bytes=50 * MB,
        latency_seconds=1.5,
        small_seconds=1.0,
        idle_seconds=1.0,
    )
