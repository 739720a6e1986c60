"""Three nodes with directories of their own, with stock clients, which need nothing new for them."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from kafka import KafkaConsumer, KafkaProducer
from kafka import TopicPartition as Place

from compat_tests.certificates import make_certificates
from compat_tests.confluent import make_producer, open_consumer, take
from compat_tests.groups import admin_of, committed_of, fill, group_consumer
from compat_tests.kawal_broker import KAWAL
from compat_tests.nodes import NodesCluster, as_broker, write_secret
from compat_tests.topics import create_topic
from compat_tests.waiting import eventually
from compat_tests.wire import raw_client
from compat_tests.worker_history import (
    PLAIN,
    TRANSACTIONS,
    PlainHistory,
    TransactionHistory,
    Writer,
    read_all,
)
from protocol.messages.kawal_follow import KawalFollowRequest
from protocol.messages.kawal_greet import KawalGreetRequest

pytestmark = pytest.mark.only_kawal(reason="about nodes of the gateway")

PARTITIONS = 6
SETTINGS = {"group.initial.rebalance.delay.ms": "0"}


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodesCluster]:
    """Start three nodes for the tests that kill none."""
    cluster = NodesCluster(tmp_path_factory.mktemp("nodes"), 3, **SETTINGS)
    cluster.start()
    yield cluster
    assert cluster.stop() == [0, 0, 0]


@pytest.fixture
def mortal(tmp_path: Path) -> Iterator[NodesCluster]:
    """Start three nodes for a test that kills some."""
    cluster = NodesCluster(tmp_path, 3, **SETTINGS)
    cluster.start()
    yield cluster
    cluster.kill()


def leaders(admin: AdminClient, topic: str) -> list[int]:
    """Return the ids of the leaders of a topic's partitions, -1 for none."""
    found = admin.list_topics(timeout=60).topics[topic].partitions
    return [found[index].leader for index in sorted(found)]


def test_a_topic_made_through_any_node_is_led_by_all_and_read_through_any(
    nodes: NodesCluster, topic: str
) -> None:
    for node in nodes.nodes:
        name = f"{topic}-{node.number}"
        create_topic(node, name, PARTITIONS)
        for other in nodes.nodes:
            admin = admin_of(other)
            eventually(lambda a=admin, n=name: n in a.list_topics(timeout=60).topics, waiting_for=name)  # type: ignore[misc]
            assert set(leaders(admin, name)) == set(nodes.ids)
        fill(node, name, PARTITIONS, 5)
        with open_consumer(nodes[2 - node.number]) as consumer:
            consumer.assign([TopicPartition(name, index, 0) for index in range(PARTITIONS)])
            found = {(each.partition(), each.value()) for each in take(consumer, 5 * PARTITIONS)}
        assert found == {(index, b"%d:%d" % (index, n)) for index in range(PARTITIONS) for n in range(5)}


def test_each_node_has_its_own_logs_and_no_file_of_another(nodes: NodesCluster) -> None:
    found = [
        sorted(path.name for path in (node.directory / "data/default").iterdir()) for node in nodes.nodes
    ]
    assert found == [["vnode-0", "vnode-3"], ["vnode-1", "vnode-4"], ["vnode-2", "vnode-5"]]


def test_kafka_python_writes_to_and_reads_from_all_nodes(nodes: NodesCluster, topic: str) -> None:
    create_topic(nodes[0], topic, PARTITIONS)
    producer = KafkaProducer(bootstrap_servers=nodes[2].bootstrap)
    for number in range(60):
        producer.send(topic, b"%d" % number, partition=number % PARTITIONS)
    producer.flush(60)
    producer.close()
    consumer = KafkaConsumer(bootstrap_servers=nodes[1].bootstrap, auto_offset_reset="earliest")
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
def test_groups_go_on_where_they_have_committed_whichever_node_coordinates_them(
    nodes: NodesCluster, topic: str, protocol: str
) -> None:
    create_topic(nodes[0], topic, PARTITIONS)
    fill(nodes[0], topic, PARTITIONS, 5)
    coordinators, admin = set(), admin_of(nodes[0])
    for number in range(12):
        group = f"{topic}-{number}"
        with group_consumer(nodes[number % 3], group, topic, group_protocol=protocol) as consumer:
            take(consumer, 5 * PARTITIONS)
            consumer.commit(asynchronous=False)
        described = admin.describe_consumer_groups([group])[group].result(60)
        coordinators.add(described.coordinator.id)
        assert committed_of(nodes[(number + 1) % 3], group) == dict.fromkeys(range(PARTITIONS), 5)
        if len(coordinators) == 3:
            break
    assert coordinators == set(nodes.ids)


def test_transactions_span_the_partitions_of_all_nodes(nodes: NodesCluster, topic: str) -> None:
    create_topic(nodes[0], topic, PARTITIONS)
    for number in range(6):
        producer = make_producer(nodes[number % 3], transactional_id=f"{topic}-{number}")
        producer.init_transactions(60)
        for commits in (False, True):
            producer.begin_transaction()
            for index in range(PARTITIONS):
                producer.produce(topic, b"%d" % commits, partition=index)
            (producer.commit_transaction if commits else producer.abort_transaction)(60)
    values = [(place[0], value) for place, value in read_all(as_broker(nodes), topic, PARTITIONS)]
    assert sorted(values) == [(index, 1) for index in range(PARTITIONS) for _ in range(6)]


def test_clients_cannot_use_the_apis_of_nodes(nodes: NodesCluster) -> None:
    with raw_client(nodes[0]) as raw:
        assert raw.call(KawalFollowRequest(), 0).error_code == 31
    with raw_client(nodes[0]) as raw:
        greeting = KawalGreetRequest(number=1, to=0, count=3, nonce=bytes(32))
        first = raw.call(greeting, 0)
        assert (first.error_code, len(first.nonce), bytes(first.proof)) == (0, 32, b"")
        # What was sent back proves nothing.
        greeting.proof = bytes(first.nonce)
        refused = raw.call(greeting, 0)
        assert (refused.error_code, refused.cluster_id, bytes(refused.proof)) == (31, "", b"")
        assert raw.is_closed_by_peer()
    output = nodes[0].process.output()
    assert output.count("it wants to be a node of this cluster, and has another secret") == 1


def run_node(nodes: NodesCluster, directory: Path, number: int, **changed: str) -> str:
    """Start a node that is to end at once, with other settings; return what it says."""
    settings = nodes.settings() | {name.replace("_", "."): text for name, text in changed.items()}
    command = [KAWAL, "serve", "--listen", "127.0.0.1:0", "--data", str(directory), "--node", str(number)]
    for name, text in {"kawal.console.listeners": "none", "kawal.http.listen": "none", **settings}.items():
        command += ["--set", f"{name}={text}"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 1, ended.stderr
    return ended.stderr


def test_a_node_that_does_not_belong_is_refused_with_a_sentence(nodes: NodesCluster, tmp_path: Path) -> None:
    other = write_secret(tmp_path / "other", "fedcba9876543210")
    said = run_node(nodes, tmp_path / "a", 1, kawal_cluster_secret_file=str(other))
    assert "has another secret than this one (kawal.cluster.secret.file)" in said
    said = run_node(nodes, tmp_path / "b", 1, kawal_cluster_nodes=f"{nodes.addresses},127.0.0.1:1")
    assert "knows of another number of nodes than 4" in said
    swapped = ",".join([nodes[1].bootstrap, nodes[0].bootstrap, nodes[2].bootstrap])
    said = run_node(nodes, tmp_path / "c", 2, kawal_cluster_nodes=swapped)
    assert f"the node at {nodes[1].bootstrap} is not node 0" in said
    assert not (tmp_path / "a" / "kawal.json").exists()


def test_a_directory_of_another_node_or_cluster_is_refused(nodes: NodesCluster, tmp_path: Path) -> None:
    cluster = NodesCluster(tmp_path / "other", 2)
    cluster.start()
    assert cluster.stop() == [0, 0]
    one = cluster[1].directory / "data"
    assert "is the directory of node 1 of 2 nodes, and it would be that of node 1 of 3" in run_node(
        nodes, one, 1
    )
    pair = f"{nodes[0].bootstrap},{cluster[1].bootstrap}"
    secret = str(cluster.secret)
    said = run_node(nodes, one, 0, kawal_cluster_nodes=pair, kawal_cluster_secret_file=secret)
    assert "this is the directory of node 1, and this is node 0" in said


@pytest.mark.parametrize("number", [1, 0])
def test_no_record_and_no_transaction_is_lost_doubled_or_halved_by_the_death_of_a_node(
    mortal: NodesCluster, number: int
) -> None:
    for name in (PLAIN, TRANSACTIONS):
        create_topic(mortal[0], name, PARTITIONS)
    broker = as_broker(mortal)
    plain, transactions = PlainHistory(broker, PARTITIONS), TransactionHistory(broker, "writer", PARTITIONS)
    writers = [Writer(plain.write), Writer(transactions.write)]

    def goes_on() -> None:
        before = len(plain.acknowledged), len(transactions.committed)

        def more() -> bool:
            return len(plain.acknowledged) > before[0] + 100 and len(transactions.committed) > before[1] + 3

        eventually(more, waiting_for="writes")

    for _ in range(2):
        goes_on()
        mortal[number].kill()
        mortal[number].restart()
    goes_on()
    for writer in writers:
        writer.stop()
    plain.finish()
    plain.check(read_all(broker, PLAIN, PARTITIONS))
    transactions.check(read_all(broker, TRANSACTIONS, PARTITIONS))
    assert mortal.stop() == [0, 0, 0]


def test_a_node_that_is_away_is_not_shown_and_its_partitions_have_no_leader_until_it_is_back(
    mortal: NodesCluster,
) -> None:
    create_topic(mortal[0], "t", PARTITIONS)
    admin: Any = admin_of(mortal[0])
    before = leaders(admin, "t")
    mortal[1].kill()

    def is_away() -> bool:
        metadata = admin.list_topics(timeout=60)
        return set(metadata.brokers) == {1, 3} and -1 in leaders(admin, "t")

    eventually(is_away, waiting_for="node 1 to be away")
    assert [leader for leader in leaders(admin, "t") if leader != -1] == [x for x in before if x != 2]
    mortal[1].restart()
    eventually(lambda: leaders(admin, "t") == before, waiting_for="node 1 to be back")


def test_the_others_serve_while_the_controller_is_away(mortal: NodesCluster) -> None:
    create_topic(mortal[0], "t", PARTITIONS)
    mortal[0].kill()
    producer = make_producer(mortal[1])
    led = [index for index, leader in enumerate(leaders(admin_of(mortal[1]), "t")) if leader != 1]
    for index in led:
        producer.produce("t", b"x", partition=index)
    assert producer.flush(60) == 0
    with open_consumer(mortal[2]) as consumer:
        consumer.assign([TopicPartition("t", index, 0) for index in led])
        assert len(take(consumer, len(led))) == len(led)
    mortal[0].restart()
    create_topic(mortal[2], "later", 1)


def test_nodes_reach_each_other_over_tls_on_a_listener_with_logins(tmp_path: Path) -> None:
    certificates = make_certificates(tmp_path / "certificates")
    secure = {
        "extra.listeners": "SECURE",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SECURE:SASL_SSL",
        "sasl.enabled.mechanisms": "SCRAM-SHA-512",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(certificates.server),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(certificates.authority),
        "ssl.client.auth": "required",
        "inter.broker.listener.name": "SECURE",
        **SETTINGS,
    }
    cluster = NodesCluster(tmp_path / "nodes", 2, **secure)
    ports = cluster.secure_ports("SECURE")
    assert len(set(ports)) == 2
    cluster.start()
    try:
        for node in cluster.nodes:
            create_topic(node, f"t-{node.number}", 4)
            fill(node, f"t-{node.number}", 4, 3)
            assert set(leaders(admin_of(node), f"t-{node.number}")) == {1, 2}
        assert cluster.stop() == [0, 0]
    finally:
        cluster.kill()
