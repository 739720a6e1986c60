"""The broker's view of the job's topics: partitions, earliest and latest offsets, offsets by time.

kafka-python asks for it from the driver: once before a job starts, so that a wrong address or topic is known
within a second and not after Spark's own retries, and every few seconds for the lag.
"""

from __future__ import annotations

import difflib
import logging
from collections.abc import Iterator
from contextlib import contextmanager

from kafka import KafkaConsumer, OffsetAndMetadata, TopicPartition
from kafka.errors import KafkaError

from pipeline.config import SourceSection
from pipeline.errors import SourceError
from pipeline.job_file import start_timestamp_ms
from pipeline.positions import Positions, offset_of
from pipeline.security import SecuritySection, kafka_python_options, tls_context
from pipeline.sources.greeting import GREETING_SECONDS, HURRY_SECONDS, reachable
from pipeline.sources.kafka import EARLIEST, LATEST

DEADLINE_MS = 5_000
"""The time a broker may take to answer: one that is just starting needs less. Spark itself waits minutes."""


class Topics:
    """The topics of one job on its broker.  Every method raises SourceError when no broker answers."""

    def __init__(self, consumer: KafkaConsumer, source: SourceSection) -> None:
        self._consumer = consumer
        self._source = source
        self._partitions: list[TopicPartition] = []
        self.refresh()

    def refresh(self) -> None:
        """Read the partitions again.  Raises: SourceError naming a topic that does not exist."""
        with self._asking():
            known = self._consumer.topics()
            for topic in self._source.topics:
                if topic not in known:
                    raise SourceError(_unknown_topic(topic, self._source.bootstrap, known))
            self._partitions = [
                TopicPartition(topic, partition)
                for topic in self._source.topics
                for partition in sorted(self._consumer.partitions_for_topic(topic) or ())
            ]

    def ids(self) -> dict[str, str]:
        """Return the ids of the topics as the broker knows them now; "" from one that gives none.

        A topic that is being deleted may be missing.
        """
        with self._asking():
            self._consumer.topics()  # asks the broker; what it caches may be of a topic that is no more
            cluster = self._consumer._cluster
            return {topic: str(cluster.topic_id(topic) or "") for topic in self._source.topics}

    def partitions(self) -> dict[str, int]:
        """Return the number of partitions of each topic."""
        return {
            topic: sum(place.topic == topic for place in self._partitions) for topic in self._source.topics
        }

    def earliest(self) -> Positions:
        """Return the first offset of every partition."""
        with self._asking():
            return _positions(self._consumer.beginning_offsets(self._partitions))

    def latest(self) -> Positions:
        """Return the end of every partition, as far as the job's isolation level lets it read."""
        with self._asking():
            return _positions(self._consumer.end_offsets(self._partitions))

    def starting_offsets(self, landed: Positions) -> Positions:
        """Return where a job without checkpoint begins: where its table ends, else where `source.start` says.

        EARLIEST and LATEST stay as they are, for Spark to look up when it reads: the log may move until then.
        A partition added after the table was begun is read from its first record.
        """
        names = {"earliest": EARLIEST, "latest": LATEST}
        word = names.get(self._source.start)
        start = (
            self._at_time()
            if word is None
            else {(place.topic, place.partition): word for place in self._partitions}
        )
        positions: Positions = {}
        for place in self._partitions:
            known = offset_of(landed, place.topic, str(place.partition))
            begin = EARLIEST if landed.get(place.topic) else start[place.topic, place.partition]
            positions.setdefault(place.topic, {})[str(place.partition)] = begin if known is None else known
        return positions

    def resolved(self, start: Positions) -> Positions:
        """Return `start` with the current offsets in place of EARLIEST and LATEST."""
        ends = {EARLIEST: self.earliest(), LATEST: self.latest()}
        return {
            topic: {
                partition: ends[begin][topic][partition] if begin in ends else begin
                for partition, begin in partitions.items()
            }
            for topic, partitions in start.items()
        }

    def commit(self, positions: Positions) -> None:
        """Commit next offsets to the group of `open_topics`, so that Kafka's tools show the job's lag."""
        offsets = {
            TopicPartition(topic, int(partition)): OffsetAndMetadata(offset, "", -1)
            for topic, partitions in positions.items()
            for partition, offset in partitions.items()
            if topic in self._source.topics
        }
        if offsets:
            with self._asking():
                self._consumer.commit(offsets)

    def _at_time(self) -> dict[tuple[str, int], int]:
        timestamp_ms = start_timestamp_ms(self._source.start)
        assert timestamp_ms is not None, self._source.start
        with self._asking():
            found = self._consumer.offsets_for_times(dict.fromkeys(self._partitions, timestamp_ms))
        return {(place.topic, place.partition): at.offset if at else LATEST for place, at in found.items()}

    @contextmanager
    def _asking(self) -> Iterator[None]:
        try:
            yield
        except KafkaError as error:
            raise SourceError(f"{self._source.bootstrap} does not answer: {error}") from error


@contextmanager
def open_topics(
    source: SourceSection, *, group: str | None = None, in_a_hurry: bool = False
) -> Iterator[Topics]:
    """Connect to the job's broker and find its topics; `group` is the one to commit to.

    `in_a_hurry`: give an address that takes the connection and says nothing up within a second.
    Raises: SourceError.
    """
    with _connected(source, group=group, in_a_hurry=in_a_hurry) as consumer:
        yield Topics(consumer, source)


def existing_topics(
    bootstrap: str, security: SecuritySection | None = None, *, in_a_hurry: bool = False
) -> set[str]:
    """Return the names of the topics on a broker.  Raises: SourceError."""
    security = security or SecuritySection()
    source = SourceSection(bootstrap=bootstrap, topics=[], isolation="read_uncommitted", security=security)
    with _connected(source, in_a_hurry=in_a_hurry) as consumer:
        return set(consumer.topics())


@contextmanager
def _connected(
    source: SourceSection, *, group: str | None = None, in_a_hurry: bool = False
) -> Iterator[KafkaConsumer]:
    login = kafka_python_options(source.security)
    if in_a_hurry and source.security.encrypts:
        tls_context(source.security)  # says which file is of no use, though nothing may answer
    seconds = HURRY_SECONDS if in_a_hurry else GREETING_SECONDS
    addresses = reachable(
        source.bootstrap, security=source.security, strictly=in_a_hurry, within_seconds=seconds
    )
    # What it logs, such as a topic that was made again, is said by us with what to do.
    logging.getLogger("kafka").setLevel(logging.CRITICAL)
    try:
        consumer = KafkaConsumer(
            bootstrap_servers=addresses,
            client_id="kawal-pipe",
            group_id=group,
            enable_auto_commit=False,
            isolation_level=source.isolation,
            allow_auto_create_topics=False,
            bootstrap_timeout_ms=DEADLINE_MS,
            request_timeout_ms=DEADLINE_MS,
            **login,
        )
    except KafkaError as error:
        raise SourceError(f"no broker answers at {source.bootstrap}: {error}; is it running?") from error
    try:
        yield consumer
    finally:
        consumer.close(timeout_ms=1_000)


def _positions(offsets: dict[TopicPartition, int]) -> Positions:
    positions: Positions = {}
    for place, offset in offsets.items():
        positions.setdefault(place.topic, {})[str(place.partition)] = offset
    return positions


def _unknown_topic(topic: str, bootstrap: str, known: set[str]) -> str:
    close = difflib.get_close_matches(topic, known, n=1)
    own = sorted(name for name in known if not name.startswith("__"))
    hint = f"did you mean {close[0]!r}?" if close else f"its topics are {', '.join(own[:10]) or 'none'}"
    return f"there is no topic {topic!r} on {bootstrap}; {hint}"
