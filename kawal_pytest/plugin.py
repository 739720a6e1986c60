"""The fixtures: brokers for one test, clients of three libraries for them, and their logs when it fails."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from typing import Any

import pytest

from kawal_pytest.clients import Aiokafka, ConfluentKafka, KafkaPython
from kawal_pytest.host import Host
from kawal_pytest.kawal_broker import Clock, KawalBroker, KawalError


class Kawal:
    """A maker of brokers for one test, which end with it."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self.brokers: list[KawalBroker] = []

    def broker(self, settings: Mapping[str, object] | None = None, /, **more: object) -> KawalBroker:
        """Start a broker; settings as {"num.partitions": 3} or as num_partitions=3.  Raises: KawalError."""
        made = self._host.broker(settings, **more)
        self.brokers.append(made)
        return made

    def close(self) -> None:
        """End all its brokers."""
        for broker in self.brokers:
            broker.close()
        self.brokers.clear()


_MADE = pytest.StashKey[Kawal]()


@pytest.fixture(scope="session")
def kawal_host() -> Iterator[Host]:
    """Provide the process that holds the brokers of this test run, or of this worker; for wider scopes."""
    with Host() as host:
        yield host


@pytest.fixture
def kawal(request: pytest.FixtureRequest, kawal_host: Host) -> Iterator[Kawal]:
    """Provide a maker of brokers for this test: `kawal.broker(num_partitions=3)`."""
    made = request.node.stash[_MADE] = Kawal(kawal_host)
    yield made
    made.close()


@pytest.fixture
def kawal_broker(kawal: Kawal) -> KawalBroker:
    """Provide a fresh broker for this test."""
    return kawal.broker()


@pytest.fixture
def kawal_clock(kawal_broker: KawalBroker) -> Clock:
    """Provide the clock of `kawal_broker`, stopped: time passes by `advance` alone."""
    kawal_broker.clock.stop()
    return kawal_broker.clock


@pytest.fixture
def kawal_kafka_python(kawal_broker: KawalBroker) -> Iterator[KafkaPython]:
    """Provide kafka-python's clients, connected to `kawal_broker` and closed when the test ends."""
    clients = KafkaPython(kawal_broker.bootstrap)
    yield clients
    clients.close()


@pytest.fixture
def kawal_confluent_kafka(kawal_broker: KawalBroker) -> Iterator[ConfluentKafka]:
    """Provide confluent-kafka's clients, connected to `kawal_broker` and closed when the test ends."""
    clients = ConfluentKafka(kawal_broker.bootstrap)
    yield clients
    clients.close()


@pytest.fixture
def kawal_aiokafka(kawal_broker: KawalBroker) -> Aiokafka:
    """Provide aiokafka's clients, to be started and stopped by `async with`, for `kawal_broker`."""
    return Aiokafka(kawal_broker.bootstrap)


@pytest.hookimpl(hookwrapper=True)  # and not wrapper=True, which pytest 7 does not know
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, None]:
    """Show what the brokers logged, if anything, with a test that fails."""
    outcome = yield
    report: pytest.TestReport = outcome.get_result()
    made = item.stash.get(_MADE, None)
    if report.failed and made is not None:
        for broker in made.brokers:
            try:
                log = broker.log
            except KawalError as error:
                log = str(error)
            if log:
                report.sections.append((f"log of {broker!r}", log))
