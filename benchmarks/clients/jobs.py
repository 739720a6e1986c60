"""What a load generator is told to do, as JSON on its command line, and what it answers: one JSON line."""

from __future__ import annotations

from dataclasses import dataclass

ClientKind = str
"""One of CLIENTS."""

CLIENTS = ("librdkafka", "confluent", "java")
"""librdkafka by its C interface, the same by the confluent-kafka package, or Kafka's own Java tools."""

Figures = dict[str, float]
"""What a load measured, by name; times in seconds unless the name says otherwise."""

READY = "ready"
"""The line of a load that waits for its start: a newline on its standard input."""


class LoadError(Exception):
    """A load did not do what it was told: records are missing, refused or late."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What every load needs to know."""

    host: str
    port: int
    topic: str
    partitions: int = 1
    record_bytes: int = 1_000
    acks: int = -1
    """-1 is 'all'."""

    @property
    def bootstrap(self) -> str:
        """HOST:PORT as clients take it."""
        return f"{self.host}:{self.port}"


WARM_UP_ROUNDS = 2
WARM_UP_BYTES = 5_000
"""What each partition gets per warm-up round: more than the 4,096 bytes between two of Kafka's index entries.
The second round thus makes Kafka touch its index files for the first time, which costs it milliseconds per
partition and would be measured as its speed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProduceJob(Job):
    """Produce as fast as the broker acknowledges, for `seconds` or until `records` are sent, then flush.

    Before the clock runs (and before the start line), every partition gets its warm-up rounds, with
    `first_touch` only one record: what a new topic costs is then measured too.

    Answers: records (acknowledged, timed), warm_records (acknowledged before the clock ran),
    unacknowledged, seconds (first record to last acknowledgement), started_at and ended_at (monotonic clock),
    client_cpu_seconds.
    """

    client: ClientKind = "librdkafka"
    seconds: float = 0.0
    """0: until `records`."""
    records: int = 0
    """0: until `seconds`."""
    linger_ms: int = 5
    batch_bytes: int = 128 * 1024
    """As producers are usually benchmarked; the Java default is 16 KiB, librdkafka's 1 MB."""
    flush_seconds: float = 15.0
    """What is not acknowledged this long after the last record was sent counts as not acknowledged."""
    wait_for_start: bool = False
    first_touch: bool = False

    @property
    def warm_up_round(self) -> int:
        """The number of records of one warm-up round: one per partition at least, to know the leaders."""
        if self.first_touch:
            return self.partitions
        return self.partitions * -(-WARM_UP_BYTES // self.record_bytes)

    @property
    def warm_up_records(self) -> int:
        """The number of records sent before the clock runs."""
        return self.warm_up_rounds * self.warm_up_round

    @property
    def warm_up_rounds(self) -> int:
        """How often every partition is written to, and waited for, before the clock runs."""
        return 1 if self.first_touch else WARM_UP_ROUNDS


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumeJob(Job):
    """Read all partitions from offset 0 by assignment until `records` came; check that these are all.

    Answers: records, seconds, started_at, ended_at, client_cpu_seconds.
    """

    client: ClientKind = "librdkafka"
    records: int
    limit_seconds: float = 60.0
    wait_for_start: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OneInFlightJob(Job):
    """Send one-record Produce requests on one connection, each after the answer to the one before.

    Answers: requests, p50_ms, p99_ms, p999_ms, max_ms.
    """

    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedRateJob(Job):
    """Send a batch every `tick_ms` whatever the answers do; latency counts from the intended time of sending.

    Answers: requests, p50_ms, p99_ms, p999_ms, max_ms, sent_mb_per_second.
    """

    seconds: float
    bytes_per_second: int
    tick_ms: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallRequestsJob(Job):
    """Keep `in_flight` one-record Produce requests open on each of `connections`.

    Answers: requests, seconds.
    """

    seconds: float
    connections: int
    in_flight: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PacedJob(Job):
    """Produce flights, 1 KB of JSON each, at `rate` records a second; it waits for its start.

    Answers: records, seconds (until the last was sent), end (the offset behind the last), p50_ms, p99_ms and
    max_ms from when a record was due to its acknowledgement, client_cpu_seconds.
    """

    rate: float
    seconds: float
    first: int = 0
    """The number of the first flight."""
    linger_ms: int = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class LateFlightsJob(Job):
    """Read a topic of `flights` flights, or a view of it, from its begin until the last late flight is known.

    Late is who has a delay of 99; wanted are `id` and `carrier`.  It waits for its start.

    Answers: matches, received_bytes (all that came over the sockets), seconds, started_at, ended_at,
    client_cpu_seconds.
    """

    flights: int
    group: str = "bench"
    limit_seconds: float = 120.0
