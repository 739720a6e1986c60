"""`kawal configs`."""

from __future__ import annotations

import json

import pytest

from console.cli import main
from tests.broker.gateway import Gateway
from tests.broker.kit import create


@pytest.fixture
def gateway(gateway: Gateway) -> Gateway:
    create(gateway.client(), "orders", retention_ms="1000")
    create(gateway.client(), "plain")
    return gateway


def test_what_was_set_is_shown_and_with_all_everything(
    gateway: Gateway, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["configs", "describe", "topic", "orders"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == [
        "CONFIGURATION",
        "retention.ms",
    ]
    assert main(["configs", "describe", "topic", "orders", "--all"]) == 0
    assert len(capsys.readouterr().out.splitlines()) > 20
    assert main(["configs", "describe", "topic", "plain"]) == 0
    assert "nothing was set for topic 'plain'" in capsys.readouterr().out


def test_single_keys_are_shown_for_programs(gateway: Gateway, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["configs", "describe", "broker", "--key", "message.max.bytes", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["message.max.bytes"]["value"] == "1048588"
    assert main(["configs", "describe", "broker", "--key", "message.max.byte"]) == 1
    assert "has no configuration 'message.max.byte'" in capsys.readouterr().err


def test_changes_hold_at_once(gateway: Gateway, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["configs", "alter", "topic", "orders", "--set", "retention.ms=7", "--delete", "segment.ms"]
    assert main([*words, "--dry-run"]) == 0
    assert gateway.broker.find_topic("orders").configs["retention.ms"] == "1000"
    assert main(words) == 0
    assert gateway.broker.find_topic("orders").configs["retention.ms"] == "7"
    assert capsys.readouterr().out.splitlines() == [
        "topic 'orders': could be changed: retention.ms = 7; segment.ms back to its default",
        "topic 'orders': changed: retention.ms = 7; segment.ms back to its default",
    ]


def test_the_brokers_own_settings_are_changed_for_one_or_all(gateway: Gateway) -> None:
    assert main(["configs", "alter", "broker", "default", "--set", "message.max.bytes=5000"]) == 0
    assert gateway.broker.config.message_max_bytes == 5000
    assert main(["configs", "alter", "broker", "1", "--set", "message.max.bytes=6000"]) == 0
    assert gateway.broker.config.message_max_bytes == 6000


def test_a_refusal_is_the_brokers_sentence(gateway: Gateway, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["configs", "alter", "topic", "orders", "--set", "retention.mss=7"]) == 1
    assert "retention.ms" in capsys.readouterr().err
    assert main(["configs", "alter", "topic", "orders"]) == 2
    assert "say what to change" in capsys.readouterr().err
    assert main(["configs", "describe", "tropic", "orders"]) == 2
