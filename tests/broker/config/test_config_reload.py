"""A configuration read again: which keys take effect, which wait for a restart."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from broker.config.config import Config, config_of
from broker.config.config_keys import ConfigType
from broker.config.config_reload import ALSO_RELOADED, HIDDEN, KeyChange, can_reload, reloaded
from broker.config.server_keys import KEYS

OLD: dict[str, Any] = {"num.partitions": 8, "listeners": "127.0.0.1:1", "log.retention.ms": 5}


def test_keys_that_can_change_take_effect_and_the_others_keep_their_values() -> None:
    current = config_of(OLD)
    outcome = reloaded(current, config_of(OLD | {"num.partitions": 9, "listeners": "127.0.0.1:2"}))
    assert outcome.changed == (KeyChange("num.partitions", "8", "9"),)
    assert outcome.waiting == (KeyChange("listeners", "127.0.0.1:1", "127.0.0.1:2"),)
    assert outcome.config == replace(current, num_partitions=9)
    assert str(outcome.changed[0]) == "num.partitions 8 -> 9"


def test_a_key_that_was_removed_from_the_file_has_its_default_again() -> None:
    outcome = reloaded(config_of(OLD), config_of({"listeners": "127.0.0.1:1"}))
    assert outcome.changed == (
        KeyChange("num.partitions", "8", "4"),
        KeyChange("log.retention.ms", "5", "(not set)"),
    )
    assert outcome.config.set_by_operator == {"listeners"}


def test_a_restart_key_that_is_new_in_the_file_does_not_count_as_set() -> None:
    outcome = reloaded(Config(), config_of({"listeners": "127.0.0.1:1"}))
    assert (outcome.config, outcome.changed) == (Config(), ())


def test_the_same_file_again_changes_nothing() -> None:
    assert reloaded(config_of(OLD), config_of(OLD)) == (config_of(OLD), (), ())


def test_empty_values_and_values_with_blanks_are_shown_in_quotes() -> None:
    outcome = reloaded(config_of({"log.dirs": "a b"}), config_of({"log.cleanup.policy": ""}))
    assert [str(change) for change in (*outcome.changed, *outcome.waiting)] == [
        "log.cleanup.policy delete -> ''",
        "log.dirs 'a b' -> ./data",
    ]


def test_secrets_are_not_shown(monkeypatch: Any) -> None:
    secret = replace(KEYS["broker.rack"], type=ConfigType.PASSWORD)
    monkeypatch.setitem(KEYS, "broker.rack", secret)
    (change,) = reloaded(Config(), config_of({"broker.rack": "s3cret"})).changed
    assert change == KeyChange("broker.rack", HIDDEN, HIDDEN)


def test_the_table_names_keys_that_exist_and_that_clients_may_not_change() -> None:
    assert KEYS.keys() >= ALSO_RELOADED
    assert not [name for name in ALSO_RELOADED if KEYS[name].dynamic]
    assert not can_reload(KEYS["listeners"])
    assert can_reload(KEYS["message.max.bytes"])
