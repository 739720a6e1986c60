"""One scenario with every client library at once: each has its own topics, groups and thread."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final

from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from compat_tests.broker import Broker
from compat_tests.confluent import make_producer
from compat_tests.groups import committed_of
from compat_tests.libraries import LIBRARIES, Settings
from compat_tests.members import Member
from compat_tests.topics import create_topic
from compat_tests.waiting import eventually
from compat_tests.wire import raw_client
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

GROUP_RESOURCE: Final = 32
"""The type of the configured resource: a group (KIP-848)."""

_number = itertools.count(1)


class Lab:
    """The lab of a scenario: the broker, and consumers of one library."""

    def __init__(self, broker: Broker, library: str, name: str) -> None:
        self.broker = broker
        self.library = library
        self.name = f"{name}-{library}-{next(_number)}"
        self._producer: Any = None

    def topic(self, partitions: int = 1, suffix: str = "") -> str:
        """Create a topic of this scenario's own."""
        return create_topic(self.broker, self.name + suffix, partitions)

    def member(
        self, *topics: str, group: str = "", library: str = "", commits: bool = False, **settings: Any
    ) -> Member:
        """Return a consumer in a group of this scenario's own (with `group` added to its name)."""
        make = LIBRARIES[library or self.library]
        return Member(
            partial(make, self.broker, self.name + group, topics, Settings(**settings)), commits=commits
        )

    def produce(self, topic: str, values: Sequence[bytes], partitions: int = 1) -> None:
        """Produce values to the partitions by turns."""
        if self._producer is None:
            # It must not create the topic again when a test has deleted it.
            self._producer = make_producer(self.broker, allow_auto_create_topics=False, linger_ms=0)
        producer = self._producer
        for number, value in enumerate(values):
            producer.produce(topic, value, partition=number % partitions)
        assert producer.flush(60) == 0

    def committed(self, group: str = "") -> dict[int, int]:
        """Return what a group has committed, by partition of its one topic."""
        return committed_of(self.broker, self.name + group)

    def set_group(self, key: str, value: str) -> None:
        """Set a config of the group, which need not exist."""
        config = AlterableConfig(name=key, config_operation=0, value=value)
        group = AlterConfigsResource(resource_type=GROUP_RESOURCE, resource_name=self.name, configs=[config])
        request = IncrementalAlterConfigsRequest(resources=[group], validate_only=False)
        with raw_client(self.broker) as client:
            (answer,) = client.call(request, 1).responses
        assert answer.error_code == 0, answer

    def cut(self, topic: str, partition: int, before: int) -> None:
        """Delete the records of a partition before an offset."""
        admin = AdminClient({"bootstrap.servers": self.broker.bootstrap, "log_level": 2})
        place = TopicPartition(topic, partition, before)
        admin.delete_records([place])[place].result(60)


def values(prefix: str, count: int) -> list[bytes]:
    """Return different values, in order."""
    return [f"{prefix}{number:04}".encode() for number in range(count)]


def got(*members: Member) -> list[bytes]:
    """Return all that members have got, sorted."""
    return sorted(value for member in members for value in member.values())


def wait_for(condition: Callable[[], object], what: str, *members: Member) -> None:
    """Wait until it holds; a failure shows how many records and which partitions the members have."""
    eventually(
        condition,
        waiting_for=what,
        last=lambda: [(len(member.records), sorted(member.held())) for member in members],
    )


def wait_for_values(wanted: Sequence[bytes], *members: Member) -> None:
    """Wait until the members have got these values together, each once."""
    wait_for(lambda: len(got(*members)) >= len(wanted), f"{len(wanted)} records", *members)
    assert got(*members) == sorted(wanted)


def with_every_library(
    broker: Broker, name: str, check: Callable[[Lab], None], libraries: Sequence[str] = tuple(LIBRARIES)
) -> None:
    """Run a scenario with all libraries at once; every failure says which library it was."""
    labs = [Lab(broker, library, name) for library in libraries]
    with ThreadPoolExecutor(len(labs)) as pool:
        running = [pool.submit(check, lab) for lab in labs]
    problems = []
    for lab, run in zip(labs, running, strict=True):
        error = run.exception()
        if error is not None:
            error.add_note(f"with {lab.library}")
            problems.append(error)
    if problems:
        raise BaseExceptionGroup(f"{len(problems)} of {len(labs)} libraries", problems)
