"""A standby takes the place of one of several nodes: clients go on, and nothing acknowledged is lost.

Records, transactions over the partitions of all nodes, and the progress of groups.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from compat_tests.broker import HOST, free_port
from compat_tests.groups import committed_of
from compat_tests.kawal_broker import KAWAL
from compat_tests.nodes import NodesCluster, as_broker
from compat_tests.object_store import KEYS, ObjectStore, object_store
from compat_tests.process import ServerProcess
from compat_tests.test_remote_copy import ROUNDS_WITHIN_SECONDS
from compat_tests.test_standby import Writer, end_of, read_all, settings_of
from compat_tests.topics import create_topic
from compat_tests.waiting import eventually
from compat_tests.worker_history import TRANSACTIONS, ProgressHistory, TransactionHistory
from compat_tests.worker_history import Writer as BusyWriter
from compat_tests.worker_history import read_all as read_committed

pytestmark = [
    pytest.mark.only_kawal(reason="Kafka keeps copies of its own, on other brokers"),
    pytest.mark.timeout(600),
]

PARTITIONS = 4
COUNT = 2
GROUPS = [f"progress-{number}" for number in range(4)]
"""Some are coordinated by each node."""
PATIENT = {"socket_timeout_ms": 5_000}
"""A server that is paused answers nothing, and closes nothing either."""
WAITING = 200
"""Records that may be acknowledged for a node after it was lost: they were before."""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectStore]:
    """Run one store for all tests."""
    with object_store(tmp_path_factory.mktemp("store") / "store") as found:
        yield found


@contextmanager
def standby_of(folder: Path, cluster: NodesCluster, number: int, port: int) -> Iterator[ServerProcess]:
    """Run a standby of a node, with the settings of all nodes, for a port of its own."""
    folder.mkdir()
    sets = [word for key, value in cluster.settings().items() for word in ("--set", f"{key}={value}")]
    flags = ["--node", str(number), "--data", str(folder / "data"), "--listen", f"{HOST}:{port}"]
    process = ServerProcess(
        [str(KAWAL), "standby", *flags, *sets],
        log_path=folder / "standby.log",
        environment={**KEYS},
    )
    try:
        yield process
    finally:
        process.kill()


class Takeovers:
    """A cluster under a producer, whose nodes lose their machines one after the other."""

    def __init__(self, folder: Path, store: ObjectStore, name: str, processes: ExitStack) -> None:
        self.folder = folder
        self.processes = processes
        self.ports = [free_port() for _ in range(COUNT)]
        self.cluster = NodesCluster(folder / "nodes", COUNT, **settings_of(store, name))
        processes.callback(self.cluster.kill)
        self.cluster.start()
        eventually(self.has_topic, waiting_for="a topic", within_seconds=ROUNDS_WITHIN_SECONDS)
        create_topic(as_broker(self.cluster), TRANSACTIONS, PARTITIONS)
        addresses = [self.cluster.bootstrap, *(f"{HOST}:{port}" for port in self.ports)]
        self.bootstrap = ",".join(addresses)
        self.writer = Writer(self.bootstrap)
        everywhere: Any = SimpleNamespace(bootstrap=self.bootstrap)
        self.transactions = TransactionHistory(
            everywhere, "writer", PARTITIONS, transaction_timeout_ms=300_000, **PATIENT
        )
        self.progress = [ProgressHistory(everywhere, name, "t", PARTITIONS, **PATIENT) for name in GROUPS]
        writes = [self.transactions.write, *(progress.write for progress in self.progress)]
        self._threads = [BusyWriter(write) for write in writes]
        self.everywhere = everywhere

    def has_topic(self) -> bool:
        """Create the topic, which waits for the store."""
        try:
            create_topic(as_broker(self.cluster), "t", PARTITIONS)
        except KafkaException:
            return False
        return True

    def leaders(self) -> dict[int, int]:
        """Return the number of the node that leads each partition, by the bootstrap address of all."""
        found = AdminClient({"bootstrap.servers": self.bootstrap}).list_topics("t", timeout=30).topics["t"]
        return {index: partition.leader - 1 for index, partition in found.partitions.items()}

    def lose(self, number: int, how: signal.Signals) -> float:
        """Start a standby of a node, and lose the node; return the seconds that its partitions waited."""
        led = {index for index, leader in self.leaders().items() if leader == number}
        assert led, f"node {number} leads nothing"
        standby = self.processes.enter_context(
            standby_of(self.folder / f"standby-{number}", self.cluster, number, self.ports[number])
        )
        eventually(lambda: "follows" in standby.tail(), waiting_for="the standby", within_seconds=60)
        self.writer.write(1_000)
        os.kill(self.cluster[number].process.pid, how)
        began = time.monotonic()
        self.writer.write(WAITING)  # what was on its way, and what the other node takes meanwhile
        before = len(self.writer.acknowledged)

        def goes_on() -> bool:
            self.writer.write(50)
            return any(partition in led for partition, _, _ in self.writer.acknowledged[before:])

        eventually(goes_on, waiting_for=f"records of node {number}", within_seconds=120)
        seconds = time.monotonic() - began
        self.others_go_on()
        if how is signal.SIGSTOP:
            os.kill(self.cluster[number].process.pid, signal.SIGCONT)
            assert "another" in end_of(self.cluster[number])
        return seconds

    def others_go_on(self) -> None:
        """Wait until transactions and groups have gone on, too."""
        transactions = len(self.transactions.committed)
        tried = [progress.tried for progress in self.progress]

        def go_on() -> bool:
            return len(self.transactions.committed) > transactions + 3 and all(
                progress.committed > before for progress, before in zip(self.progress, tried, strict=True)
            )

        eventually(go_on, waiting_for="transactions and groups", within_seconds=180, last=self._state)

    def _state(self) -> str:
        progress = [(history.committed, history.tried) for history in self.progress]
        failures = [thread.failure for thread in self._threads if thread.failure is not None]
        return f"{len(self.transactions.committed)} transactions, progress {progress}, failures {failures}"

    def finish(self) -> None:
        """Let all that was begun end."""
        self.writer.finish()
        for thread in self._threads:
            thread.stop()


@pytest.mark.parametrize(
    ("how", "order"), [(signal.SIGKILL, (1, 0)), (signal.SIGSTOP, (0, 1))], ids=["kill", "stop"]
)
def test_each_node_is_replaced_at_another_address_and_nothing_acknowledged_is_lost(
    how: signal.Signals, order: tuple[int, ...], store: ObjectStore, tmp_path: Path
) -> None:
    with ExitStack() as processes:
        world = Takeovers(tmp_path, store, f"nodes-{how.name.lower()}", processes)
        for number in order:
            seconds = world.lose(number, how)
            print(f"{how.name} of node {number}: its partitions took records again after {seconds:.1f} s")
        world.writer.write(500)
        world.finish()
        found = read_all(world.bootstrap, len(world.writer.acknowledged))
        assert sorted(found) == sorted(world.writer.acknowledged)
        assert len({value for _, _, value in found}) == len(found)
        world.transactions.check(read_committed(world.everywhere, TRANSACTIONS, PARTITIONS))
        for name, progress in zip(GROUPS, world.progress, strict=True):
            progress.check(committed_of(world.everywhere, name))
