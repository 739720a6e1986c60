"""Dead letters on two workers have what a consumer has said, whichever worker has taken its answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import AcknowledgeType, TopicPartition

from compat_tests.confluent import make_producer, open_consumer, take
from compat_tests.groups import fill
from compat_tests.test_share_groups import configure, earliest, poll, share_consumer
from compat_tests.topics import create_topic
from compat_tests.workers import WorkersBroker

pytestmark = pytest.mark.only_kawal(reason="Apache Kafka has neither workers nor answers")

PARTITIONS = 4


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkersBroker]:
    """Start a gateway of two workers."""
    broker = WorkersBroker(tmp_path_factory.mktemp("answers"), 2)
    broker.start()
    yield broker
    assert broker.stop()[0] == 0
    assert "are not in its dead letters" not in broker.process.output()


def answer(producer: Any, topic: str, message: Any) -> None:
    """Tell why a record was not processed: once in a partition of its worker, once in one of the other's."""
    index, offset = message.partition(), message.offset()
    about = {"topic": message.topic(), "partition": index, "offset": offset, "code": f"{index}:{offset}"}
    headers = [(f"kawal-{name}", str(value).encode()) for name, value in about.items()]
    producer.produce(topic, b"", partition=(index + offset) % PARTITIONS, headers=headers)
    assert producer.flush(60) == 0


def test_each_letter_has_the_answer_about_its_record(workers: WorkersBroker, topic: str) -> None:
    letters, answers = f"dlq.{topic}", f"{topic}-answers"
    create_topic(workers, topic, PARTITIONS)
    create_topic(workers, letters, PARTITIONS, {"errors.deadletterqueue.group.enable": "true"})
    create_topic(workers, answers, PARTITIONS)
    earliest(workers, topic)
    configure(workers, topic, errors_deadletterqueue_topic_name=letters, kawal_share_answers_topic=answers)
    fill(workers, topic, PARTITIONS, 2)
    producer = make_producer(workers)
    rejected = 0
    with share_consumer(workers, topic, topic, explicit=True) as consumer:
        while rejected < 2 * PARTITIONS:
            for message in poll(consumer, 1):
                answer(producer, answers, message)
                consumer.acknowledge(message, AcknowledgeType.REJECT)
                rejected += 1
            consumer.commit_sync()
        with open_consumer(workers) as reader:
            reader.assign([TopicPartition(letters, index, 0) for index in range(PARTITIONS)])
            found = [dict(letter.headers()) for letter in take(reader, 2 * PARTITIONS)]
    told = sorted((letter["kawal-code"] or b"").decode() for letter in found)
    assert told == [f"{index}:{offset}" for index in range(PARTITIONS) for offset in range(2)]
