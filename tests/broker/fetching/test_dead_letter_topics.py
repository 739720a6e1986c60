"""Topics for dead letters: names, and topics that cannot be made or kept."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from broker.catalogue.topic import Topic
from broker.config.config import Config
from broker.fetching.dead_letter_topics import DeadLetterTopics, check_name
from broker.fetching.letters_elsewhere import Unwritable
from tests.broker.gateway import Gateway
from tests.broker.kit import create
from wal.memory_faults import Fault


def making(**settings: Any) -> Gateway:
    """Return a server that makes topics for dead letters."""
    return Gateway(errors_deadletterqueue_auto_create_topics_enable=True, **settings)


def found(gateway: Gateway, name: str) -> Topic:
    """Let the steps run to their end, with the disk work that they wait for."""
    steps = DeadLetterTopics(gateway.broker, gateway.broker).topic(name, "jobs")
    try:
        while True:
            resumed: list[bool] = []
            waits = next(steps)
            assert waits is not None
            waits.start(partial(resumed.append, True))
            gateway.settle()
            assert resumed
    except StopIteration as end:
        made: Topic = end.value
        return made


def test_a_prefix_is_demanded_and_an_empty_one_allows_all() -> None:
    check_name("dlq.x", Config())
    check_name("x", Gateway(errors_deadletterqueue_topic_name_prefix="").config)
    with pytest.raises(Unwritable, match=r"'x' does not begin with 'dlq\."):
        check_name("x", Config())


def test_a_topic_is_made_with_the_servers_number_of_partitions() -> None:
    gateway = making(num_partitions=3)
    topic = found(gateway, "dlq.new")
    assert (topic.name, topic.partition_count) == ("dlq.new", 3)
    assert found(gateway, "dlq.new") is topic


def test_a_name_that_collides_with_another_topics_is_told() -> None:
    gateway = making()
    create(gateway.client(), "dlq_a")
    with pytest.raises(Unwritable, match="collides with existing topic: dlq_a"):
        found(gateway, "dlq.a")


def test_a_topic_that_could_not_be_stored_is_told() -> None:
    gateway = making()
    gateway.disk.faults.append(lambda call: Fault(5) if call.kind == "sync" else None)
    with pytest.raises(Unwritable, match=r"'dlq.a' (could not be stored|cannot be created)"):
        found(gateway, "dlq.a")


def test_a_view_takes_no_letters() -> None:
    gateway = Gateway()
    create(gateway.client(), "jobs")
    create(gateway.client(), "dlq.view", kawal_sql="SELECT * FROM jobs")
    with pytest.raises(Unwritable, match="is a view"):
        found(gateway, "dlq.view")
