"""Leader epochs of a gateway of several workers, as clients of each of them see them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from compat_tests.topics import create_topic
from compat_tests.waiting import eventually
from compat_tests.wire import raw_client
from compat_tests.workers import WorkersBroker
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic

pytestmark = pytest.mark.only_kawal(reason="Apache Kafka has no workers")

PARTITIONS = 6


@pytest.fixture
def workers(tmp_path: Path) -> Iterator[WorkersBroker]:
    """Start a gateway of three workers."""
    broker = WorkersBroker(tmp_path, 3)
    broker.start()
    yield broker
    broker.kill()


def led(broker: WorkersBroker, number: int, topic: str) -> list[tuple[int, int]]:
    """Return the leader and the leader epoch of each partition, as a worker tells them."""
    with raw_client(broker.at(number)) as client:
        answer = client.call(MetadataRequest(topics=[MetadataRequestTopic(name=topic)]), 12)
    partitions = sorted(answer.topics[0].partitions, key=lambda each: each.partition_index)
    return [(each.leader_id, each.leader_epoch) for each in partitions]


def agreed(broker: WorkersBroker, topic: str) -> list[tuple[int, int]]:
    """Return what all workers tell alike, once they do and know all of it."""
    found: list[tuple[int, int]] = []

    def agree() -> bool:
        found[:] = led(broker, 0, topic)
        others = [led(broker, number, topic) for number in range(1, broker.workers)]
        return others == [found] * len(others) and len(found) == PARTITIONS and min(found)[1] > 0

    eventually(agree, waiting_for="the same epochs at all workers")
    return found


def test_all_workers_tell_the_epochs_of_all_also_of_one_that_has_started_again(
    workers: WorkersBroker,
) -> None:
    create_topic(workers, "t", PARTITIONS)
    before = agreed(workers, "t")
    assert {leader for leader, _ in before} == set(workers.ids)
    for number, pid in enumerate(workers.children()):
        killed = workers.ids[number]
        workers.kill_worker(pid, number)
        eventually(
            lambda killed=killed, before=before: all(  # type: ignore[misc]
                (epoch > was) == (leader == killed)
                for (leader, epoch), (_, was) in zip(agreed(workers, "t"), before, strict=True)
            ),
            waiting_for="the epoch of the new process",
        )
        before = agreed(workers, "t")
