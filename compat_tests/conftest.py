"""Fixtures of the compat tests: the broker they run against, and what may differ between the two."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest

from compat_tests.broker import Broker, Kind, chosen_kind
from compat_tests.clients.matrix import OPTION, MatrixPlugin
from compat_tests.clients.program import Program
from compat_tests.clients.registry import COMMANDS
from compat_tests.kafka_broker import KafkaBroker
from compat_tests.kawal_broker import KawalBroker
from compat_tests.second_attempt import OPTION as SECOND_ATTEMPT
from compat_tests.second_attempt import SecondAttemptPlugin
from compat_tests.topics import create_topic
from compat_tests.wire import RawClient, raw_client

StartBroker = Callable[..., Broker]
MakeTopic = Callable[..., str]

TEST_TIMEOUT_SECONDS = 240

EVERY_LOGIN = "--every-login"
SPARK_STRESS = "--spark-stress-seconds"

_brokers: list[Broker] = []
_serial_number = count(1)


MANY = "--many"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of this folder."""
    parser.addoption(OPTION, action="store_true", help="write what the client programs could do")
    parser.addoption(SECOND_ATTEMPT, action="store_true", help="try a few failed tests again, alone")
    parser.addoption(EVERY_LOGIN, action="store_true", help="try every mechanism on every protocol")
    parser.addoption(MANY, type=int, default=2_000, help="topics and groups that the console lists")
    parser.addoption(SPARK_STRESS, type=float, default=3.0, help="how long topics come and go under Spark")


def pytest_configure(config: pytest.Config) -> None:
    """Register the marks of this folder and the plugin that judges the client programs."""
    config.pluginmanager.register(MatrixPlugin(write=config.getoption(OPTION)), "client-matrix")
    if config.getoption(SECOND_ATTEMPT):
        config.pluginmanager.register(SecondAttemptPlugin(), "second-attempt")
    config.addinivalue_line("markers", "operation(row): a cell of the matrix client x operation")
    config.addinivalue_line(
        "markers",
        "differs(reason): the gateway knowingly differs from Apache Kafka; both answers are asserted",
    )
    config.addinivalue_line("markers", f"at_length: one of many; run with {EVERY_LOGIN}")
    config.addinivalue_line(
        "markers", "only_kawal(reason): about the gateway itself; not run against Apache Kafka"
    )
    # kafka-python 3.0.12 closes a client in the middle of a connect or handshake without closing its socket:
    # kafka/net/manager.py, `_build_transport`, lets go of it on GeneratorExit.
    config.addinivalue_line(
        "filterwarnings",
        "ignore:Exception ignored in. <socket.socket:pytest.PytestUnraisableExceptionWarning",
    )


def pytest_report_header() -> str:
    """Name the broker under test."""
    return f"broker under test: {chosen_kind()} (KAWAL_COMPAT_BROKER)"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect what is not asked for; give every test a deadline that lets fixtures clean up."""
    here = Path(__file__).parent
    ours = [item for item in items if here in item.path.parents]
    for item in ours:
        if item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(TEST_TIMEOUT_SECONDS, method="signal"))
    left_out = {"only_kawal"} if chosen_kind() == "kafka" else set()
    if not config.getoption(EVERY_LOGIN):
        left_out.add("at_length")
    deselected = {item for item in ours if left_out & {mark.name for mark in item.iter_markers()}}
    config.hook.pytest_deselected(items=list(deselected))
    items[:] = [item for item in items if item not in deselected]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Iterator[None]:
    """Show the end of every broker's output with a failure."""
    report: pytest.TestReport = yield  # type: ignore[assignment]
    if report.failed:
        started = (broker for broker in _brokers if broker.was_started)
        report.sections.extend(
            (f"{broker.kind} on {broker.bootstrap}", broker.process.tail()) for broker in started
        )
    return report  # type: ignore[return-value]


@pytest.fixture(scope="session")
def broker_kind() -> Kind:
    """Return the kind of broker under test."""
    return chosen_kind()


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory, broker_kind: Kind) -> Iterator[Broker]:
    """Start one broker with default settings, shared by all tests that do not stop it."""
    shared = _make(broker_kind, tmp_path_factory.mktemp("broker"), {})
    shared.start()
    yield shared
    _brokers.remove(shared)
    shared.stop()


@pytest.fixture
def start_broker(tmp_path: Path, broker_kind: Kind) -> Iterator[StartBroker]:
    """Yield a function that starts a broker for this test; `num_partitions="1"` and the like set configs."""
    own: list[Broker] = []

    def start(**settings: str) -> Broker:
        kafka_settings = {key.replace("_", "."): value for key, value in settings.items()}
        own.append(_make(broker_kind, tmp_path / f"broker-{len(own)}", kafka_settings))
        own[-1].start()
        return own[-1]

    yield start
    for broker in own:
        _brokers.remove(broker)
        broker.kill()


@contextmanager
def running_broker(kind: Kind, directory: Path, settings: dict[str, str]) -> Iterator[Broker]:
    """Start a broker for the length of a block, of several tests perhaps."""
    started = _make(kind, directory, settings)
    started.start()
    try:
        yield started
    finally:
        _brokers.remove(started)
        started.kill()


@pytest.fixture(scope="module")
def group_broker(tmp_path_factory: pytest.TempPathFactory, broker_kind: Kind) -> Iterator[Broker]:
    """Start one broker for the tests of groups, on which rebalances begin at once."""
    settings = {
        "group.initial.rebalance.delay.ms": "0",
        "group.consumer.min.heartbeat.interval.ms": "200",
        "group.consumer.min.session.timeout.ms": "6000",
        "group.consumer.heartbeat.interval.ms": "200",
        "group.consumer.migration.policy": "bidirectional",
    }
    if broker_kind == "kawal":
        settings["kawal.rebalance.interval.ms"] = "0"
    started = _make(broker_kind, tmp_path_factory.mktemp("groups"), settings)
    started.start()
    yield started
    _brokers.remove(started)
    started.stop()


@pytest.fixture(scope="module")
def program(client: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    """Start the program of the client that the test is parametrized with."""
    started = Program(client, COMMANDS[client], tmp_path_factory.mktemp("program") / "log")
    yield started
    started.close()


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """Return a topic name of this test's own; the topic does not exist yet."""
    return f"{re.sub(r'[^a-zA-Z0-9]+', '-', request.node.name).strip('-')[:80]}-{next(_serial_number)}"


@pytest.fixture
def make_topic(broker: Broker, topic: str) -> MakeTopic:
    """Return a function that creates this test's topic; `retention_ms="1"` and the like set configs."""

    def make(partitions: int = 1, **configs: str) -> str:
        create_topic(
            broker, topic, partitions, {key.replace("_", "."): value for key, value in configs.items()}
        )
        return topic

    return make


def _make(kind: Kind, directory: Path, settings: dict[str, str]) -> Broker:
    made = KawalBroker(directory, settings) if kind == "kawal" else KafkaBroker(directory, settings)
    _brokers.append(made)
    return made


@pytest.fixture
def raw(broker: Broker) -> Iterator[RawClient]:
    """Open a connection to the shared broker on which a test sends what it likes."""
    with raw_client(broker) as client:
        yield client
