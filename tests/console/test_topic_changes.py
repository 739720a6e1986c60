"""More partitions and other settings, all checked before anything is changed."""

from __future__ import annotations

from typing import Any

import pytest

from console.errors import CommandError, UsageError
from console.topic_changes import alter_topics
from tests.broker.gateway import Gateway
from tests.broker.kit import create


def change(*topics: str, **options: Any) -> int:
    given = {"partitions": None, "sets": [], "deletes": [], "dry_run": False, **options}
    return alter_topics("here:1", topics, **given)


@pytest.fixture
def gateway(gateway: Gateway) -> Gateway:
    for name in ("orders", "payments"):
        create(gateway.client(), name, partitions=2)
    return gateway


def partitions(gateway: Gateway, name: str) -> int:
    return gateway.broker.find_topic(name).partition_count


def test_partitions_are_added_and_settings_changed(
    gateway: Gateway, capsys: pytest.CaptureFixture[str]
) -> None:
    assert change("orders", "payments", partitions=3, sets=["retention.ms=5"], deletes=["segment.ms"]) == 0
    assert partitions(gateway, "orders") == partitions(gateway, "payments") == 3
    assert capsys.readouterr().out.splitlines() == [
        "topic 'orders': changed: 3 partitions; retention.ms = 5; segment.ms back to its default",
        "topic 'payments': changed: 3 partitions; retention.ms = 5; segment.ms back to its default",
    ]


def test_a_dry_run_changes_nothing(gateway: Gateway, capsys: pytest.CaptureFixture[str]) -> None:
    assert change("orders", partitions=3, dry_run=True) == 0
    assert partitions(gateway, "orders") == 2
    assert "could be changed" in capsys.readouterr().out


def test_what_is_refused_stops_everything(gateway: Gateway) -> None:
    with pytest.raises(CommandError, match=r"topic .payments.: .*2"):
        change("payments", "orders", partitions=2, sets=["retention.ms=5"])
    assert gateway.broker.find_topic("payments").configs == {}
    with pytest.raises(CommandError, match=r"retention\.mss"):
        change("payments", partitions=5, sets=["retention.mss=5"])
    assert partitions(gateway, "payments") == 2


def test_nothing_to_change_is_a_mistake(gateway: Gateway) -> None:
    with pytest.raises(UsageError, match="say what to change"):
        change("orders")
