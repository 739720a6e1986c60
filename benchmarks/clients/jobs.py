"""The job of a load generator, as JSON on its command line, and its answer: one JSON line."""

from __future__ import annotations

from dataclasses import dataclass

ClientKind = str
"""One of CLIENTS."""

CLIENTS = ("native", "librdkafka", "confluent", "java")
"""A program of C over librdkafka; the library by its C interface from Python, or by the confluent-kafka
package; Kafka's own Java tools."""

Figures = dict[str, float]
"""The figures of a load, by name; times are in seconds unless the name says otherwise."""

READY = "ready"
"""The line of a load that waits for its start: a newline on its standard input."""


class LoadError(Exception):
    """A load did not do what it was told: records are missing, refused or late."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """The fields that every load needs."""

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
"""The bytes each partition gets per warm-up round: more than the 4,096 bytes between two of Kafka's index
entries. The second round thus makes Kafka touch its index files for the first time, which costs milliseconds
per partition and would be measured as Kafka's speed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProduceJob(Job):
    """The job of producing as fast as the broker acknowledges, for `seconds` or `records`, then flushing.

    Before the clock runs (and before the start line), every partition gets its warm-up rounds. With
    `first_touch` it gets only one record: the cost of a new topic is then measured too.

    Answers: records (acknowledged, timed), warm_records (acknowledged before the clock ran),
    unacknowledged, seconds (first record to last acknowledgement), started_at and ended_at (monotonic clock),
    client_cpu_seconds.
    """

    client: ClientKind = CLIENTS[0]
    seconds: float = 0.0
    """0: until `records`."""
    records: int = 0
    """0: until `seconds`."""
    linger_ms: int = 5
    batch_bytes: int = 128 * 1024
    """As producers are usually benchmarked; the Java default is 16 KiB, librdkafka's 1 MB."""
    flush_seconds: float = 15.0
    """A record not acknowledged this long after the last one was sent counts as unacknowledged."""
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
        """The number of times every partition is written to, and waited for, before the clock runs."""
        return 1 if self.first_touch else WARM_UP_ROUNDS


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumeJob(Job):
    """The job of reading all partitions from offset 0 by assignment until `records` have come, and no more.

    Answers: records, seconds, started_at, ended_at, client_cpu_seconds.
    """

    client: ClientKind = CLIENTS[0]
    records: int
    limit_seconds: float = 60.0
    wait_for_start: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OneInFlightJob(Job):
    """The job of sending one-record Produce requests on one connection, each after the last one's answer.

    Answers: requests, p50_ms, p99_ms, p999_ms, max_ms.
    """

    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedRateJob(Job):
    """The job of sending a batch every `tick_ms`, however late answers are; latency counts from the tick.

    Answers: requests, p50_ms, p99_ms, p999_ms, max_ms, sent_mb_per_second.
    """

    seconds: float
    bytes_per_second: int
    tick_ms: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallRequestsJob(Job):
    """The job of keeping `in_flight` one-record Produce requests open on each of `connections`.

    Answers: requests, seconds.
    """

    seconds: float
    connections: int
    in_flight: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallRecordsJob(Job):
    """The job of many producers of librdkafka, each with `in_flight` requests of one record.

    Before the clock runs every producer is connected.  Answers: requests, seconds, p50_ms and p99_ms from the
    call of the producer to its report, client_cpu_seconds.
    """

    seconds: float
    connections: int
    in_flight: int
    wait_for_start: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PacedJob(Job):
    """The job of producing flights, 1 KB of JSON each, at `rate` records a second; it waits for its start.

    Answers: records, seconds (until the last was sent), end (the offset after the last), p50_ms, p99_ms and
    max_ms from when a record was due to its acknowledgement, client_cpu_seconds.
    """

    rate: float
    seconds: float
    first: int = 0
    """The number of the first flight."""
    linger_ms: int = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class LateFlightsJob(Job):
    """The job of reading a topic of `flights` flights, or a view of it, until the last late flight is known.

    A flight with a delay of 99 is late; its `id` and `carrier` are wanted. The job waits for its start and
    reads from the beginning.

    Answers: matches, received_bytes (all that came over the sockets), seconds, started_at, ended_at,
    client_cpu_seconds.
    """

    flights: int
    group: str = "bench"
    limit_seconds: float = 120.0
