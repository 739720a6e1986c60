"""A Kafka broker for each test: pytest fixtures `kawal_broker` and `kawal`.

    def test_orders_are_stored(kawal_broker):
        shop = Shop(kawal_broker.bootstrap)
        shop.order("tea")
        assert kawal_broker.values("orders") == [b"tea"]

`kawal_broker` is a fresh broker in memory, ready in a few milliseconds and gone when the test ends.  `kawal`
makes more of them, with settings: `kawal.broker(num_partitions=3)`.  docs/testing.md describes the rest.

This package imports pytest (7 or later) and the standard library, and nothing of Kawal's.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from typing import Any

import pytest

from kawal_pytest.broker import Clock, Fault, KawalBroker, KawalError, Record
from kawal_pytest.host import Host, find_executable

__all__ = [
    "Clock",
    "Fault",
    "Host",
    "Kawal",
    "KawalBroker",
    "KawalError",
    "Record",
    "find_executable",
    "kawal",
    "kawal_broker",
    "kawal_host",
]


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


@pytest.hookimpl(hookwrapper=True)  # and not wrapper=True, which pytest 7 does not know
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, None]:
    """Show what the brokers logged with a test that fails."""
    outcome = yield
    report: pytest.TestReport = outcome.get_result()
    made = item.stash.get(_MADE, None)
    if report.failed and made is not None:
        for broker in made.brokers:
            try:
                report.sections.append((f"log of {broker!r}", broker.log))
            except KawalError as error:
                report.sections.append((f"log of {broker!r}", str(error)))
