"""Share groups (KIP-932, KIP-1206, KIP-1222) with franz-go, which has them since its version 1.21.0."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from compat_tests.broker import Broker, Kind
from compat_tests.clients.program import Program
from compat_tests.clients.registry import COMMANDS
from compat_tests.confluent import make_producer, produce
from compat_tests.conftest import MakeTopic, running_broker
from compat_tests.test_share_groups import configure

LOCK_MS = 9_000
"""A third of it is the time by which a busy machine may be late."""


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory, broker_kind: Kind) -> Iterator[Broker]:
    """Start a broker whose groups may have short locks."""
    settings = {"group.share.min.record.lock.duration.ms": "1000"}
    with running_broker(broker_kind, tmp_path_factory.mktemp("shares"), settings) as started:
        yield started


@pytest.fixture(scope="module")
def franz_go(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    program = Program("franz-go", COMMANDS["franz-go"], tmp_path_factory.mktemp("franz-go") / "program.log")
    yield program
    program.close()


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


def work(franz_go: Program, broker: Broker, group: str, values: list[str], **fields: Any) -> dict[str, Any]:
    """Produce records and have a member work until so many deliveries have come; return what it has seen."""
    produce(make_producer(broker), group, [value.encode() for value in values])
    asked = {"wait": 0, "strict": 0, **fields}
    seen: dict[str, Any] = franz_go.ask("work", bootstrap=broker.bootstrap, topic=group, group=group, **asked)
    return seen


def test_franz_go_accepts_releases_and_rejects(broker: Broker, group: str, franz_go: Program) -> None:
    values = ["accept", "release accept", "reject", "release release accept"]
    seen = work(franz_go, broker, group, values, count=7)
    assert sorted(seen["deliveries"]) == sorted(
        [value, number] for value in values for number in range(1, len(value.split()) + 1)
    )
    assert seen["refused"] == []


def test_franz_go_takes_exact_numbers_of_records(broker: Broker, group: str, franz_go: Program) -> None:
    seen = work(franz_go, broker, group, ["accept"] * 25, count=25, strict=10)
    assert max(seen["sizes"]) == 10
    assert [number for _, number in seen["deliveries"]] == [1] * 25


def test_franz_go_renews_a_lock_for_longer_than_it_lasts(
    broker: Broker, group: str, franz_go: Program
) -> None:
    seen = work(franz_go, broker, group, ["renew"], count=1, wait=LOCK_MS * 2 // 3)
    assert (seen["deliveries"], seen["refused"]) == ([["renew", 1]], [])


def test_franz_go_that_is_late_gets_the_record_again(broker: Broker, group: str, franz_go: Program) -> None:
    """It fetches ahead: when its late word comes, the same member has the record again."""
    seen = work(franz_go, broker, group, ["late accept"], count=2, wait=LOCK_MS * 3 // 2)
    assert seen["deliveries"] == [["late accept", 1], ["late accept", 2]]
