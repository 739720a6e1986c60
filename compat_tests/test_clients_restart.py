"""Every client family goes on over restarts: nothing acknowledged is lost, nothing idempotent is doubled.

All programs work at once on one broker, which is killed and stopped under them; the tests judge each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from confluent_kafka import TopicPartition

from compat_tests.broker import Broker
from compat_tests.clients.program import Program
from compat_tests.clients.registry import COMMANDS, NOT_IDEMPOTENT
from compat_tests.confluent import make_producer, open_consumer, produce, read
from compat_tests.topics import create_topic

SENT = 3_000
FIRST, SECOND = 1_000, 200
"""The records there before a reader meets the restart, and those written after it."""

Answer = Callable[[], Any]

pytestmark = pytest.mark.timeout(240, method="signal")


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Program]]:
    """Start a program of every client."""
    logs = tmp_path_factory.mktemp("programs")
    started = {name: Program(name, command, logs / name) for name, command in COMMANDS.items()}
    for program in started.values():
        program.begin("version")
    for program in started.values():
        program.answer()
    yield started
    for program in started.values():
        program.close()


def answers(programs: dict[str, Program]) -> dict[str, Answer]:
    """Wait for every program; return a function for each that returns its answer or raises its error."""
    found: dict[str, Answer] = {}
    for name, program in programs.items():
        try:
            found[name] = partial(_return, program.answer())
        except Exception as error:  # noqa: BLE001  each test raises what its own program answered
            found[name] = partial(_raise, error)
    return found


def _return(answer: Any) -> Any:
    return answer


def _raise(error: Exception) -> Any:
    raise error


@pytest.fixture(scope="module")
def sent(group_broker: Broker, programs: dict[str, Program]) -> dict[str, Answer]:
    """Return what each program reported of its numbers, with the broker killed and then stopped meanwhile."""
    for name, program in programs.items():
        create_topic(group_broker, f"numbers-{name}")
        program.begin(
            "produce_numbers",
            bootstrap=group_broker.bootstrap,
            topic=f"numbers-{name}",
            count=SENT,
            idempotent=name not in NOT_IDEMPOTENT,
        )
    for goal, end in ((200, group_broker.kill), (1_000, group_broker.stop)):
        for program in programs.values():
            program.wait_for_progress(goal)
        end()
        group_broker.restart()
    return answers(programs)


def read_over_a_restart(
    broker: Broker, programs: dict[str, Program], operation: str, **fields: Any
) -> dict[str, Answer]:
    """Let each program read FIRST records, kill the broker, write SECOND more, and return the answers."""
    producer = make_producer(broker)
    for name, program in programs.items():
        topic = create_topic(broker, f"{operation}-{name}")
        produce(producer, topic, [b"%d" % i for i in range(FIRST)])
        named = {"group": topic} if operation == "consume_group" else {}
        program.begin(
            operation, bootstrap=broker.bootstrap, topic=topic, count=FIRST + SECOND, **fields, **named
        )
    for program in programs.values():
        program.wait_for_progress(FIRST)
    broker.kill()
    broker.restart()
    for name in programs:
        produce(producer, f"{operation}-{name}", [b"%d" % i for i in range(FIRST, FIRST + SECOND)])
    return answers(programs)


@pytest.fixture(scope="module")
def assigned(group_broker: Broker, programs: dict[str, Program]) -> dict[str, Answer]:
    """Return what each program read by assignment."""
    return read_over_a_restart(group_broker, programs, "consume", partition=0, offset=0)


@pytest.fixture(scope="module")
def grouped(group_broker: Broker, programs: dict[str, Program]) -> dict[str, Answer]:
    """Return what each program read in a group."""
    return read_over_a_restart(group_broker, programs, "consume_group")


def all_numbers(broker: Broker, topic: str) -> list[int]:
    with open_consumer(broker) as consumer:
        _, high = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=60)
        return [int(message.value()) for message in read(consumer, topic, high)]


@pytest.mark.parametrize("client", list(COMMANDS))
@pytest.mark.operation("produce over two restarts")
def test_acknowledged_numbers_are_there_and_idempotent_ones_once(
    group_broker: Broker, sent: dict[str, Answer], client: str
) -> None:
    told = sent[client]()
    assert told["failed"] == 0, told
    assert sorted(told["acked"]) == list(range(SENT))
    stored = all_numbers(group_broker, f"numbers-{client}")
    if client in NOT_IDEMPOTENT:
        assert set(stored) == set(range(SENT))
    else:
        assert stored == list(range(SENT))


@pytest.mark.parametrize("client", list(COMMANDS))
@pytest.mark.operation("consume over a restart")
def test_a_reader_goes_on_where_it_was(assigned: dict[str, Answer], client: str) -> None:
    records = assigned[client]()["records"]
    assert [int(record["value"]) for record in records] == list(range(FIRST + SECOND))


@pytest.mark.parametrize("client", list(COMMANDS))
@pytest.mark.operation("consume in a group over a restart")
def test_a_group_misses_nothing(grouped: dict[str, Answer], client: str) -> None:
    records = grouped[client]()["records"]
    assert sorted(int(record["value"]) for record in records) == list(range(FIRST + SECOND))
