"""The target of a job that writes to topics, as its driver sees it: topics, positions, the offset map.

Exactly once: what a batch writes to one partition, its part of the offset map and the position of the copy
are one transaction of the target (`pipeline.sinks.topic_writer`). The position is the truth; the job's own
ledger follows it, one batch behind at most. Group positions may expire on the target (Kafka: 7 days after a
group's last commit); the map keeps them, too, and has them set again.
"""

from __future__ import annotations

import time
from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pipeline.config import Job
from pipeline.errors import SetupError, TargetError
from pipeline.job_file import duration_ms
from pipeline.offset_map import MAP_TOPIC, MapRecord, decoded
from pipeline.positions import Positions
from pipeline.security import librdkafka_options
from pipeline.sinks.patience import when_ready
from pipeline.sinks.target_topics import check_configs, check_new_topics, check_timeout, check_topics
from pipeline.sinks.topic_writer import SECONDS, Place, position_reader, transactional_producer
from pipeline.sources.greeting import GREETING_SECONDS, HURRY_SECONDS, reachable

if TYPE_CHECKING:
    from concurrent.futures import Future

    from confluent_kafka.admin import AdminClient

NOT_COPIED = ("kawal.", "leader.replication.throttled", "follower.replication.throttled", "remote.")
"""Configs that are about the broker that holds a topic, by their first letters."""

QUIET = {"log_level": "0"}
"""What librdkafka has to say is said by its exceptions, too."""

MAP_SECONDS = 300.0
"""The time in which transactions that are open on a map must end before it can be read to its end."""


def made(topic: Future[None]) -> None:
    """Wait until a topic that was missing is there; another run of the job may just have created it.

    Raises: KafkaException.
    """
    from confluent_kafka import KafkaError, KafkaException

    try:
        topic.result(SECONDS)
    except KafkaException as error:
        if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise


class Target:
    """The topics that one job writes."""

    def __init__(self, job: Job, settings: Mapping[str, str], *, in_a_hurry: bool = False) -> None:
        require_client()
        seconds = HURRY_SECONDS if in_a_hurry else GREETING_SECONDS
        reachable(
            job.target_bootstrap, security=job.target_security, strictly=in_a_hurry, within_seconds=seconds
        )
        self._greeting_seconds = seconds
        self.job = job
        self.settings = dict(settings)
        self.group = f"kawal-{job.job.kind}-{job.name}"
        self.topics = {topic: job.target_topic(topic) for topic in job.source.topics}
        self.transaction_timeout_ms = duration_ms(job.target.transaction_timeout)
        self._configs = {
            name: str(value).lower() if isinstance(value, bool) else str(value)
            for name, value in job.target.configs.items()
        }
        for target in self.topics.values():
            check_configs(target, self._configs)

    def check_settings(self) -> None:
        """Let the client look at its settings, without a connection.  Raises: TargetError."""
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import AdminClient

        try:
            AdminClient(self.settings)
        except KafkaException as error:
            raise TargetError(f"target.options cannot be used: {error.args[0].str()}") from error

    def check_topics(self, known: Container[str]) -> None:
        """Refuse those of the `known` topics that cannot hold a copy.  Raises: TargetError."""
        check_topics(
            self.settings,
            [target for target in self.topics.values() if target in known],
            within_seconds=self._greeting_seconds,
        )

    def check_new(self, known: Container[str]) -> None:
        """Refuse topics that the broker would not create, and a timeout that it does not allow; create none.

        Raises: TargetError.
        """
        with self._admin() as admin:
            missing = [target for target in self.topics.values() if target not in known]
            seconds = self._greeting_seconds
            check_new_topics(
                admin, missing, self.job.target.replication_factor, self._configs, within_seconds=seconds
            )
            check_timeout(admin, self.transaction_timeout_ms, within_seconds=seconds)

    def prepare(self, partitions: Mapping[str, int], configs: Mapping[str, Mapping[str, str]]) -> list[str]:
        """Create the topics that are missing, and partitions; return a sentence for each thing done.

        `partitions` and `configs` are the source's.  Raises: TargetError.
        """
        with self._admin() as admin:
            known = admin.list_topics(timeout=SECONDS).topics
            self.check_topics(known)
            done = []
            if MAP_TOPIC not in known:
                self._create(admin, MAP_TOPIC, 1, {"cleanup.policy": "compact"})
            for topic, target in self.topics.items():
                wanted = partitions[topic]
                has = len(known[target].partitions) if target in known else 0
                if not has:
                    self._create(admin, target, wanted, {**copied_configs(configs[topic]), **self._configs})
                    done.append(f"created the topic {target!r} with {wanted} partitions")
                elif has < wanted:
                    self._grow(admin, target, wanted)
                    done.append(f"the topic {target!r} has {wanted} partitions now, as {topic!r}")
            return done

    def _create(self, admin: AdminClient, name: str, partitions: int, configs: Mapping[str, str]) -> None:
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import NewTopic

        new = NewTopic(
            name,
            num_partitions=partitions,
            replication_factor=self.job.target.replication_factor,
            config=dict(configs),
        )
        try:
            made(admin.create_topics([new])[name])
        except KafkaException as error:
            raise TargetError(
                f"the topic {name!r} was not created on {self.job.target_bootstrap}: {error.args[0].str()}; "
                "create it there, and run the job again"
            ) from error

    def _grow(self, admin: AdminClient, name: str, partitions: int) -> None:
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import NewPartitions

        try:
            admin.create_partitions([NewPartitions(name, partitions)])[name].result(SECONDS)
        except KafkaException as error:
            raise TargetError(f"the topic {name!r} was not given {partitions} partitions: {error}") from error

    def ids(self) -> dict[str, str]:
        """Return the ids of the target topics that exist, by their names."""
        from confluent_kafka import KafkaException, TopicCollection

        found = {}
        with self._admin() as admin:
            for name, asked in admin.describe_topics(TopicCollection(list(self.topics.values()))).items():
                try:
                    found[name] = str(asked.result(SECONDS).topic_id)
                except KafkaException:
                    continue  # it does not exist
        return found

    def positions(self, partitions: Mapping[str, int]) -> dict[Place, int]:
        """Return where the copy of each partition ends, by source topic; none where nothing was copied."""
        from confluent_kafka import TopicPartition

        places = {
            TopicPartition(self.topics[topic], partition): (topic, partition)
            for topic, count in partitions.items()
            for partition in range(count)
        }
        reader = position_reader(self.settings, self.group)
        try:
            with self._asking():
                found = when_ready(lambda: reader.committed(list(places), SECONDS), within_seconds=SECONDS)
        finally:
            reader.close()
        by_name = {(place.topic, place.partition): at for place, at in places.items()}
        return {by_name[held.topic, held.partition]: held.offset for held in found if held.offset >= 0}

    def commit(self, positions: Mapping[Place, int]) -> None:
        """Commit positions of partitions of which a batch had no record, or which have expired."""
        from confluent_kafka import TopicPartition

        if not positions:
            return
        offsets = [
            TopicPartition(self.topics[topic], partition, offset)
            for (topic, partition), offset in positions.items()
        ]
        reader = position_reader(self.settings, self.group)
        try:
            with self._asking():
                producer = transactional_producer(
                    self.settings, f"{self.group}-positions", self.transaction_timeout_ms
                )
                producer.begin_transaction()
                producer.send_offsets_to_transaction(offsets, reader.consumer_group_metadata(), SECONDS)
                producer.commit_transaction(SECONDS)
        finally:
            reader.close()

    @contextmanager
    def _admin(self) -> Iterator[AdminClient]:
        from confluent_kafka.admin import AdminClient

        with self._asking():
            yield AdminClient(self.settings)

    @contextmanager
    def _asking(self) -> Iterator[None]:
        from confluent_kafka import KafkaException

        try:
            yield
        except KafkaException as error:
            raise TargetError(
                f"the target {self.job.target_bootstrap} refused: {error.args[0].str()}"
            ) from error


def cluster_id(settings: Mapping[str, str]) -> str:
    """Return the id of a broker's cluster."""
    from confluent_kafka.admin import AdminClient

    return str(AdminClient(dict(settings)).list_topics(timeout=SECONDS).cluster_id)


def source_configs(settings: Mapping[str, str], topics: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return the configs that were set for each topic of the source, not those it has by default."""
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient, ConfigResource, ConfigSource, ResourceType

    admin = AdminClient(dict(settings))
    resources = [ConfigResource(ResourceType.TOPIC, topic) for topic in topics]
    found = {}
    for resource, asked in admin.describe_configs(resources).items():
        try:
            entries = asked.result(SECONDS).values()
        except KafkaException as error:
            raise TargetError(f"the configs of {resource.name!r} cannot be read: {error}") from error
        own = ConfigSource.DYNAMIC_TOPIC_CONFIG.value
        found[resource.name] = {entry.name: entry.value for entry in entries if entry.source == own}
    return found


def copied_configs(configs: Mapping[str, str]) -> dict[str, str]:
    """Return the configs of a source topic that its copy is created with.

    The copy keeps the timestamps of its records, so it does not set them itself.
    """
    kept = {name: value for name, value in configs.items() if not name.startswith(NOT_COPIED)}
    kept.pop("message.timestamp.type", None)
    return kept


def read_map(settings: Mapping[str, str], *, begin: int = 0) -> tuple[list[MapRecord], int]:
    """Return the records of a broker's offset map from `begin` on, and the offset to continue at.

    All that is in the log when this is called is waited for: what an open transaction has written belongs to
    records that may have been read already.  Raises: TargetError when one stays open for minutes.
    """
    from confluent_kafka import Consumer, TopicPartition
    from confluent_kafka.admin import AdminClient

    if MAP_TOPIC not in AdminClient(dict(settings)).list_topics(timeout=SECONDS).topics:
        return [], 0
    place = TopicPartition(MAP_TOPIC, 0, begin)
    end = _written_end(settings)
    consumer = Consumer(
        {
            **settings,
            "group.id": "kawal-map-reader",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "enable.partition.eof": True,
        }
    )
    found: list[MapRecord] = []
    deadline = time.monotonic() + MAP_SECONDS
    try:
        consumer.assign([place])
        while True:
            message = consumer.poll(0.5)
            [at] = consumer.position([place])
            if message is not None and message.error() is None:
                found.append(decoded(message.value()))
            elif max(at.offset, message.offset() if message is not None else -1) >= end:
                return found, end
            if time.monotonic() > deadline:
                raise TargetError(
                    f"a transaction on {MAP_TOPIC!r} of {settings['bootstrap.servers']} has been open for "
                    f"{MAP_SECONDS:.0f} s; 'kawal transactions list' shows it. Run the job again when it has "
                    "ended"
                )
    finally:
        consumer.close()


def _written_end(settings: Mapping[str, str]) -> int:
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer({**settings, "group.id": "kawal-map-reader", "isolation.level": "read_uncommitted"})
    try:
        _, end = consumer.get_watermark_offsets(TopicPartition(MAP_TOPIC, 0), SECONDS)
    finally:
        consumer.close()
    return int(end)


def by_place(positions: Positions) -> dict[Place, int]:
    """Return positions by topic and partition."""
    return {
        (topic, int(partition)): offset
        for topic, partitions in positions.items()
        for partition, offset in partitions.items()
    }


def require_client() -> None:
    """Check that confluent-kafka is installed.  Raises: SetupError."""
    from importlib import util

    if util.find_spec("confluent_kafka") is None:
        raise SetupError(
            "confluent-kafka, which writes to topics, is not installed: pip install 'kawal[replicate]'"
        )


def source_client(job: Job) -> dict[str, str]:
    """Return librdkafka's settings for the job's source.  Raises: SetupError."""
    security = librdkafka_options(job.source.security)
    return {**QUIET, **security, "bootstrap.servers": job.source.bootstrap}


def target_client(job: Job) -> dict[str, str]:
    """Return librdkafka's settings for the job's target.  Raises: SetupError."""
    given = {name: _text(value) for name, value in job.target.options.items()}
    security = librdkafka_options(job.target_security)
    return {**QUIET, **security, **given, "bootstrap.servers": job.target_bootstrap}


def _text(value: str | int | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
