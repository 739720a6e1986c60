"""Gateways of two and three workers with stock clients, which need nothing new for them."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import OFFSET_INVALID, ConsumerGroupState, KafkaException, TopicPartition
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)
from kafka import KafkaConsumer, KafkaProducer
from kafka import TopicPartition as Place

from compat_tests.confluent import make_producer, open_consumer, take
from compat_tests.groups import committed_of, fill, group_consumer, poll_until, wait_for_shares
from compat_tests.kawal_broker import KAWAL
from compat_tests.topics import create_topic, delete_topic, grow_topic
from compat_tests.views import make_view
from compat_tests.waiting import eventually
from compat_tests.worker_history import (
    PLAIN,
    TRANSACTIONS,
    PlainHistory,
    TransactionHistory,
    Writer,
    read_all,
)
from compat_tests.workers import WorkersBroker

pytestmark = pytest.mark.only_kawal(reason="Apache Kafka has no workers")

PARTITIONS = 6
SETTINGS = {
    "group.initial.rebalance.delay.ms": "0",
    "group.consumer.min.heartbeat.interval.ms": "200",
    "group.consumer.heartbeat.interval.ms": "200",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}


@pytest.fixture(scope="module", params=[2, 3], ids=["2 workers", "3 workers"])
def workers(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[WorkersBroker]:
    """Start a gateway for the tests that kill nothing."""
    broker = WorkersBroker(tmp_path_factory.mktemp("workers"), request.param, **SETTINGS)
    broker.start()
    yield broker
    assert broker.stop()[0] == 0
    assert "ended with" not in broker.process.output()


@pytest.fixture
def mortal(tmp_path: Path) -> Iterator[WorkersBroker]:
    """Start a gateway for the test that kills its workers."""
    broker = WorkersBroker(tmp_path, 3, **SETTINGS)
    broker.start()
    yield broker
    broker.kill()


def names_of(broker: WorkersBroker, topic: str) -> list[str]:
    """Return a name for each worker."""
    return [f"{topic}-{number}" for number in range(broker.workers)]


def leaders(admin: Any, topic: str) -> list[int]:
    """Return the ids of the leaders of a topic's partitions; none, if it is not known."""
    topics = admin.list_topics(timeout=60).topics
    found = topics[topic].partitions if topic in topics else {}
    return [found[index].leader for index in sorted(found)]


def values_of(broker: WorkersBroker, topic: str, count: int) -> dict[int, list[bytes]]:
    """Read so many records from the beginning of each partition; return their values."""
    found: dict[int, list[bytes]] = {index: [] for index in range(PARTITIONS)}
    with open_consumer(broker) as consumer:
        consumer.assign([TopicPartition(topic, index, 0) for index in range(PARTITIONS)])
        for record in take(consumer, count * PARTITIONS):
            found[record.partition()].append(record.value())
    return found


def eventually_at_all(broker: WorkersBroker, holds: Callable[..., bool], *subjects: Any) -> None:
    """Wait until something holds at each worker, asked by an admin client that was told of it alone."""
    for seen in broker.each():
        admin = seen.admin()
        eventually(lambda admin=admin: holds(admin, *subjects), waiting_for="it to hold")  # type: ignore[misc]


def test_a_topic_made_through_any_worker_is_known_to_all_and_led_by_all(
    workers: WorkersBroker, topic: str
) -> None:
    for seen, name in zip(workers.each(), names_of(workers, topic), strict=True):
        create_topic(seen, name, PARTITIONS)
        eventually_at_all(workers, lambda admin, name: len(leaders(admin, name)) == PARTITIONS, name)
        found = {tuple(leaders(each.admin(), name)) for each in workers.each()}
        assert len(found) == 1
        assert set(found.pop()) == set(workers.ids)


def test_records_of_each_partition_are_read_by_clients_that_were_told_of_any_worker(
    workers: WorkersBroker, topic: str
) -> None:
    create_topic(workers, topic, PARTITIONS)
    for seen in workers.each():
        fill(seen, topic, PARTITIONS, 20)
    for seen in workers.each():
        found = values_of(seen, topic, 20 * workers.workers)
        for index in range(PARTITIONS):
            assert found[index] == [b"%d:%d" % (index, number) for number in range(20)] * workers.workers


def test_kafka_python_writes_to_and_reads_from_all_workers(workers: WorkersBroker, topic: str) -> None:
    create_topic(workers, topic, PARTITIONS)
    last = workers.each()[-1].bootstrap
    producer = KafkaProducer(bootstrap_servers=last)
    for number in range(60):
        producer.send(topic, b"%d" % number, partition=number % PARTITIONS)
    producer.flush(60)
    producer.close()
    consumer = KafkaConsumer(bootstrap_servers=last, auto_offset_reset="earliest")
    consumer.assign([Place(topic, index) for index in range(PARTITIONS)])
    found: list[int] = []

    def has_all() -> bool:
        for records in consumer.poll(timeout_ms=1_000).values():
            found.extend(int(record.value) for record in records)
        return len(found) >= 60

    eventually(has_all, waiting_for="the records")
    consumer.close()
    assert sorted(found) == list(range(60))


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_group_on_any_worker_shares_the_partitions_of_all_and_goes_on_where_it_has_committed(
    workers: WorkersBroker, topic: str, protocol: str
) -> None:
    create_topic(workers, topic, PARTITIONS)
    fill(workers, topic, PARTITIONS, 5)
    groups = groups_on_all(workers, f"{topic}-{protocol}")
    # The first worker is the controller, and does all that a single one does.
    for number, group in list(enumerate(groups))[1:]:
        settings = {"group_protocol": protocol}
        with group_consumer(workers.at(number), group, topic, **settings) as one:
            with group_consumer(workers, group, topic, **settings) as two:
                wait_for_shares(one, two, sizes=[3, 3])
                one.unsubscribe()
            one.subscribe([topic])
            found: list[Any] = []

            def all_read(one: Any = one, found: list[Any] = found) -> bool:
                message = one.poll(0.02)
                if message is not None and not message.error():
                    found.append(message)
                return len({(each.partition(), each.offset()) for each in found}) == 5 * PARTITIONS

            eventually(all_read, waiting_for="all records")
            one.commit(asynchronous=False)
        assert committed_of(workers, group) == dict.fromkeys(range(PARTITIONS), 5)
        description = workers.admin().describe_consumer_groups([group])[group].result(60)
        assert description.coordinator.id == workers.ids[number]


def groups_on_all(broker: WorkersBroker, prefix: str) -> list[str]:
    """Return a group's name for each worker, which coordinates it."""
    found: dict[int, str] = {}
    admin = broker.admin()
    for number in range(100):
        name = f"{prefix}-{number}"
        with open_consumer(broker, group_id=name) as consumer:
            consumer.committed([TopicPartition("unknown", 0)], 60)
        described = admin.describe_consumer_groups([name])[name].result(60)
        found.setdefault(described.coordinator.id, name)
        if len(found) == broker.workers:
            break
    return [found[node_id] for node_id in broker.ids]


def test_a_transaction_spans_the_partitions_of_all_workers_and_offsets_kept_by_any(
    workers: WorkersBroker, topic: str
) -> None:
    create_topic(workers, topic, PARTITIONS)
    fill(workers, topic, PARTITIONS, 1)
    copy = create_topic(workers, f"{topic}-copy", PARTITIONS)
    for group in groups_on_all(workers, topic):
        for number in range(2):
            producer = make_producer(workers, transactional_id=f"{group}-{number}")
            producer.init_transactions(60)
            with group_consumer(workers, group, topic) as consumer:
                poll_until(lambda c=consumer: len(c.assignment()) == PARTITIONS, consumer, what="all")  # type: ignore[misc]
                for commits in (False, True):
                    producer.begin_transaction()
                    for index in range(PARTITIONS):
                        producer.produce(copy, b"%d" % commits, partition=index)
                    places = [TopicPartition(topic, index, number + 1) for index in range(PARTITIONS)]
                    metadata = consumer.consumer_group_metadata()
                    producer.send_offsets_to_transaction(places, metadata, 60)
                    (producer.commit_transaction if commits else producer.abort_transaction)(60)
                    # The answer waits for the end of the transaction: this consumer reads what is committed.
                    expected = number + commits or OFFSET_INVALID
                    assert {place.offset for place in consumer.committed(places, 60)} == {expected}
    values = read_all(workers, copy, PARTITIONS)
    rounds = workers.workers * 2
    assert sorted((place[0], value) for place, value in values) == [
        (index, 1) for index in range(PARTITIONS) for _ in range(rounds)
    ]


def test_topics_are_configured_grown_and_deleted_through_any_worker(
    workers: WorkersBroker, topic: str
) -> None:
    names = names_of(workers, topic)
    for seen, name in zip(workers.each(), names, strict=True):
        create_topic(workers, name, 1)
        admin = seen.admin()
        entry = ConfigEntry("retention.ms", "1234567", incremental_operation=AlterConfigOpType.SET)
        change = ConfigResource(ResourceType.TOPIC, name, incremental_configs=[entry])
        admin.incremental_alter_configs([change])[change].result(60)
        asked = ConfigResource(ResourceType.TOPIC, name)
        eventually_at_all(workers, is_set, asked)
        grow_topic(seen, name, PARTITIONS)
        fill(seen, name, PARTITIONS, 1)
        assert values_of(seen, name, 1) == {index: [b"%d:0" % index] for index in range(PARTITIONS)}
    for seen, name in zip(workers.each(), names, strict=True):
        delete_topic(seen, name)
    eventually_at_all(workers, lambda admin: not set(names) & set(admin.list_topics(timeout=60).topics))


def is_set(admin: Any, asked: ConfigResource) -> bool:
    """Whether the change of the test above is in effect."""
    return bool(admin.describe_configs([asked])[asked].result(60)["retention.ms"].value == "1234567")


def test_a_rule_made_through_any_worker_is_in_force_at_all(workers: WorkersBroker, topic: str) -> None:
    for seen, name in zip(workers.each(), names_of(workers, topic), strict=True):
        place = (ResourceType.TOPIC, name, ResourcePatternType.LITERAL)
        rule = AclBinding(*place, "User:alice", "*", AclOperation.READ, AclPermissionType.ALLOW)
        wanted = AclBindingFilter(*place, None, None, AclOperation.ANY, AclPermissionType.ANY)
        seen.admin().create_acls([rule])[rule].result(60)

        eventually_at_all(workers, rules_are, wanted, [rule])
        assert seen.admin().delete_acls([wanted])[wanted].result(60) == [rule]
        eventually_at_all(workers, rules_are, wanted, [])


def rules_are(admin: Any, wanted: AclBindingFilter, rules: list[AclBinding]) -> bool:
    """Whether these rules are shown."""
    return bool(admin.describe_acls(wanted).result(60) == rules)


def test_groups_of_all_workers_are_listed_described_and_deleted_through_any(
    workers: WorkersBroker, topic: str
) -> None:
    create_topic(workers, topic, PARTITIONS)
    for seen in workers.each():
        groups = groups_on_all(workers, topic)
        for group in groups:
            with open_consumer(workers, group_id=group) as consumer:
                consumer.commit(offsets=[TopicPartition(topic, 0, 7)], asynchronous=False)
        admin = seen.admin()
        listed = admin.list_consumer_groups(request_timeout=60).result()
        assert set(groups) <= {found.group_id for found in listed.valid}
        assert listed.errors == []
        for group, future in admin.describe_consumer_groups(groups).items():
            assert future.result(60).state == ConsumerGroupState.EMPTY, group
        for future in admin.delete_consumer_groups(groups).values():
            future.result(60)
        listed = admin.list_consumer_groups(request_timeout=60).result()
        assert not set(groups) & {found.group_id for found in listed.valid}


def test_a_view_is_read_through_the_leaders_of_its_source(workers: WorkersBroker, topic: str) -> None:
    create_topic(workers, topic, PARTITIONS, {"kawal.columns": "id bigint, delay int"})
    view = make_view(workers.each()[-1], f"{topic}-view", f"SELECT id FROM `{topic}` WHERE delay > 5")
    eventually_at_all(workers, lambda admin: view in admin.list_topics(timeout=60).topics)
    assert leaders(workers.admin(), view) == leaders(workers.admin(), topic)
    producer = make_producer(workers)
    for number in range(10):
        for index in range(PARTITIONS):
            producer.produce(topic, b'{"id":%d,"delay":%d}' % (number, number), partition=index)
    assert producer.flush(60) == 0
    for seen in workers.each():
        shown = [b'{"id":%d}' % number for number in range(6, 10)]
        assert values_of(seen, view, 4) == dict.fromkeys(range(PARTITIONS), shown)


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        (
            {"kawal.partition.autosplit.mode": "up", "kawal.partition.write.bytes.per.sec": "1000000"},
            "may be another node's",
        ),
        ({"kawal.queue.max.records": "10"}, "are not counted"),
    ],
    ids=["splits", "length"],
)
def test_a_topic_cannot_have_what_several_workers_do_not_have(
    workers: WorkersBroker, topic: str, settings: dict[str, str], why: str
) -> None:
    for seen in workers.each():
        new = NewTopic(topic, 1, 1, config=settings)
        with pytest.raises(KafkaException, match=f"a cluster of several nodes does not have it: .*{why}"):
            seen.admin().create_topics([new])[topic].result(60)


def test_a_server_with_several_workers_does_not_start_with_a_setting_that_they_cannot_have(
    tmp_path: Path,
) -> None:
    command = [KAWAL, "serve", "--workers", "2", "--listen", "127.0.0.1:0", "--data", str(tmp_path / "data")]
    ended = subprocess.run(
        [*command, "--set", "kawal.remote.store=s3://bucket/p", "--set", "kawal.remote.heartbeat.ms=1000"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode
    assert "kawal.remote.heartbeat.ms cannot be set with several workers" in ended.stderr


def test_no_record_and_no_transaction_is_lost_doubled_or_halved_by_the_death_of_any_worker(
    mortal: WorkersBroker,
) -> None:
    for name in (PLAIN, TRANSACTIONS):
        create_topic(mortal, name, PARTITIONS)
    plain, transactions = PlainHistory(mortal, PARTITIONS), TransactionHistory(mortal, "writer", PARTITIONS)
    writers = [Writer(plain.write), Writer(transactions.write)]
    for number, pid in enumerate(mortal.children()):
        before = len(plain.acknowledged), len(transactions.committed)
        mortal.kill_worker(pid, number)

        def goes_on(before: tuple[int, int] = before) -> bool:
            return len(plain.acknowledged) > before[0] + 100 and len(transactions.committed) > before[1] + 3

        eventually(goes_on, waiting_for=f"writes after the death of worker {number}")
    for writer in writers:
        writer.stop()
    plain.finish()
    plain.check(read_all(mortal, PLAIN, PARTITIONS))
    transactions.check(read_all(mortal, TRANSACTIONS, PARTITIONS))
    assert mortal.stop()[0] == 0
