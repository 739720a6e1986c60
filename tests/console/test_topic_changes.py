"""More partitions and other settings, all checked before anything is changed."""

from __future__ import annotations

from typing import Any

import pytest

from console import topic_changes
from console.errors import CommandError, UsageError
from console.topic_changes import alter_topics
from tests.broker.gateway import Gateway
from tests.broker.kit import batch, create, send


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


@pytest.mark.parametrize("dry_run", [False, True])
def test_more_partitions_for_a_topic_with_records_are_warned_of(
    gateway: Gateway, capsys: pytest.CaptureFixture[str], dry_run: bool
) -> None:
    send(gateway.client(), "orders", batch(b"1", key=b"k"), 1)
    assert change("orders", "payments", sets=["retention.ms=5"], dry_run=dry_run) == 0
    assert capsys.readouterr().err == ""
    assert change("orders", "payments", partitions=3, dry_run=dry_run) == 0
    assert capsys.readouterr().err == (
        "kawal: warning: topic 'orders' has records: with other partitions, new records of a key may go to"
        " another one than before, and be read before earlier ones\n"
    )


def test_a_topic_whose_offsets_are_not_told_is_warned_of(
    gateway: Gateway, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(*_arguments: Any) -> Any:
        raise CommandError("not allowed")

    monkeypatch.setattr(topic_changes, "offsets_at", denied)
    assert change("orders", partitions=3) == 0
    assert partitions(gateway, "orders") == 3
    assert "warning: topic 'orders'" in capsys.readouterr().err


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
