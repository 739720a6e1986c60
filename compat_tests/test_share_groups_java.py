"""Share groups (KIP-932, KIP-1206, KIP-1222) with Kafka's own KafkaShareConsumer, driven by Shares.java."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from compat_tests.broker import Broker, Kind
from compat_tests.conftest import MakeTopic, running_broker
from compat_tests.java import java_command
from compat_tests.test_share_groups import configure

PROGRAM = str(Path(__file__).with_name("Shares.java"))
LOCK_MS = 8_000
"""Half of it is the time by which a busy machine may be late."""


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory, broker_kind: Kind) -> Iterator[Broker]:
    """Start a broker whose groups may have short locks."""
    settings = {"group.share.min.record.lock.duration.ms": "1000"}
    with running_broker(broker_kind, tmp_path_factory.mktemp("shares"), settings) as started:
        yield started


@pytest.fixture
def group(broker: Broker, make_topic: MakeTopic) -> str:
    """Return the name of an empty topic, and of the group that reads it."""
    topic = make_topic()
    configure(
        broker,
        topic,
        share_auto_offset_reset="earliest",
        share_record_lock_duration_ms=f"{LOCK_MS}",
    )
    return topic


def java(broker: Broker, scenario: str, *arguments: str) -> list[str]:
    """Run a scenario of Shares.java and return the lines that it has printed."""
    command = java_command(PROGRAM, broker.bootstrap, scenario, *arguments)
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, f"{scenario}: {done.stdout}{done.stderr}"
    return done.stdout.splitlines()


def test_the_next_poll_of_the_java_client_accepts(broker: Broker, group: str) -> None:
    assert java(broker, "implicit", group) == [
        "polled 0x1 1x1 2x1",
        "polled 3x1",
        "committed: done",
        "another polled 4x1",
    ]


def test_the_java_client_accepts_releases_and_rejects(broker: Broker, group: str) -> None:
    assert java(broker, "explicit", group) == [
        "polled 0x1 1x1 2x1 3x1",
        "a record is not acknowledged",
        "committed: done",
        "polled 1x2 3x2",
        "committed: done",
        "left: ",
    ]


def test_the_java_client_learns_of_acknowledgements_by_its_callback(broker: Broker, group: str) -> None:
    assert java(broker, "callback", group) == ["told [[0, 1] done]"]


def test_the_java_client_renews_locks_while_another_member_asks(broker: Broker, group: str) -> None:
    assert java(broker, "renew", group) == [
        f"locked for {LOCK_MS} ms",
        *["renewed: done"] * 4,
        "polled again 0x1",
        "committed: done",
        "others got []",
    ]


@pytest.mark.parametrize(("mode", "count"), [("record_limit", 10), ("batch_optimized", 100)])
def test_the_java_client_acquires_exact_numbers_or_whole_batches(
    broker: Broker, group: str, mode: str, count: int
) -> None:
    assert java(broker, "acquire", group, mode) == [f"polled {count}", "committed: done"]


def test_records_of_a_java_client_go_to_another_when_their_lock_ends(broker: Broker, group: str) -> None:
    told = java(broker, "expire", group)
    # A busy machine may let the lock of the other one's first poll end, too.
    told[1] = re.sub(r"x[234]\b", "x2", told[1])
    assert told == [
        "polled 0x1 1x1",
        "another polled 0x2 1x2",
        "committed late: InvalidRecordStateException",
        "another committed: done",
    ]


def test_records_that_fail_often_come_to_the_java_client_in_smaller_portions(
    broker: Broker, group: str
) -> None:
    whole = [" ".join(f"{number}x{count}" for number in range(8)) for count in (1, 2, 3)]
    halves = [
        ["0x4 1x4 2x4 3x4", "0x5", "1x5", "2x5", "3x5"],
        ["4x4 5x4 6x4 7x4", "4x5", "5x5", "6x5", "7x5"],
    ]
    assert java(broker, "poison", group) == [*whole, *halves[0], *halves[1], "left: "]
