"""Configurations of a broker's resources: found, described, changed, put into words."""

from __future__ import annotations

import pytest

from console.config_admin import (
    alter,
    as_table,
    changes_of,
    describe,
    find_resource,
    key_and_value,
    told,
    tree,
)
from console.errors import CommandError, UsageError
from tests.broker.gateway import Gateway
from tests.broker.kit import create
from tests.console.gateway import connect


def test_what_is_changed_is_described(gateway: Gateway) -> None:
    create(gateway.client(), "orders", retention_ms="1000", cleanup_policy="delete")
    topic = find_resource("here:1", "topic", "orders")
    changes = changes_of(
        sets=["retention.ms=2000"],
        deletes=["max.message.bytes"],
        appends=["cleanup.policy=compact"],
        subtracts=["cleanup.policy=delete"],
    )
    alter(topic, changes[:1], dry_run=True)
    assert [config.value for config in describe(topic, ["retention.ms"], synonyms=False)] == ["1000"]
    alter(topic, [config for config in changes if config.name != "cleanup.policy"], dry_run=False)
    alter(topic, [config for config in changes if config.value == "compact"], dry_run=False)
    found = {config.name: config.value for config in describe(topic, [], synonyms=False)}
    assert found["retention.ms"] == "2000"
    assert found["cleanup.policy"] == "delete,compact"


@pytest.mark.usefixtures("gateway")
def test_a_refusal_names_the_resource() -> None:
    gone = find_resource("here:1", "topic", "gone")
    with pytest.raises(CommandError, match=r"^topic 'gone': "):
        describe(gone, [], synonyms=False)
    with pytest.raises(CommandError, match=r"^topic 'gone': "):
        alter(gone, changes_of(sets=["retention.ms=1"], deletes=[], appends=[], subtracts=[]), dry_run=False)


def test_brokers_and_loggers_are_asked_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    connect(monkeypatch, node_id=4)
    assert find_resource("here:1", "broker", "default")[1:] == ("", "all brokers", "here:1")
    assert find_resource("here:1", "broker", None)[1:] == ("4", "broker '4'", "gateway:9092")
    assert find_resource("here:1", "logger", "4")[1:] == ("4", "logger of broker '4'", "gateway:9092")
    with pytest.raises(UsageError, match="name the topic"):
        find_resource("here:1", "topic", None)


def test_changes_are_told_in_words() -> None:
    changes = changes_of(sets=["a=1=2"], deletes=["b"], appends=["c=x"], subtracts=["d=y"])
    assert sorted(map(told, changes)) == ["a = 1=2", "b back to its default", "c + x", "d - y"]
    with pytest.raises(UsageError, match="--set 'a' is not KEY=VALUE"):
        key_and_value("--set", "a")


def test_values_are_shown_with_their_sources(gateway: Gateway) -> None:
    create(gateway.client(), "orders", retention_ms="1000")
    found = describe(find_resource("here:1", "topic", "orders"), ["retention.ms"], synonyms=True)
    lines = as_table(found, synonyms=True).splitlines()
    assert lines[0].split() == ["CONFIGURATION", "VALUE", "SOURCE", "CHANGED", "ELSEWHERE"]
    assert "retention.ms=1000" in lines[1]
    shown = tree(found[0])
    assert (shown["value"], shown["source"], shown["type"]) == ("1000", "topic", "long")
    assert shown["documentation"]
    assert shown["synonyms"][0] == {"name": "retention.ms", "value": "1000", "source": "topic"}


@pytest.mark.usefixtures("gateway")
def test_a_secret_and_nothing_are_shown_as_such() -> None:
    found = describe(find_resource("here:1", "broker", None), ["broker.rack", "node.id"], synonyms=False)
    assert "(not set)" in as_table(found, synonyms=False)
    found[0].is_sensitive = True
    assert "(hidden)" in as_table(found, synonyms=False)
