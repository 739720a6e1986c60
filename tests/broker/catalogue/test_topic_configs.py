"""Topic configurations at work: what clients may set, which value is in effect, and how it is listed."""

import pytest

from broker.catalogue.topic_configs import (
    KNOWN_SETTINGS_MAX,
    KnownSettings,
    checked,
    described,
    effective,
    topic_key,
    validate,
)
from broker.config.config import Config, config_of
from broker.config.config_keys import ConfigError, ConfigSource
from broker.config.config_layers import layered

DEFAULTS = Config()
LAYERS = layered(DEFAULTS)
DYNAMIC, STATIC = ConfigSource.DYNAMIC_TOPIC_CONFIG, ConfigSource.STATIC_BROKER_CONFIG
DEFAULT = ConfigSource.DEFAULT_CONFIG


def test_without_overrides_the_servers_defaults_hold() -> None:
    settings = effective({}, DEFAULTS)
    assert settings.retention_ms == 604_800_000
    assert settings.segment_bytes == 1 << 30
    assert settings.max_message_bytes == 1_048_588
    assert (settings.deletes, settings.compacts, settings.append_time) == (True, False, False)


def test_the_servers_own_settings_are_a_topics_defaults() -> None:
    config = config_of({"log.retention.hours": 1, "log.roll.ms": 5, "message.max.bytes": 99})
    settings = effective({}, config)
    assert (settings.retention_ms, settings.segment_ms, settings.max_message_bytes) == (3_600_000, 5, 99)


def test_an_override_wins() -> None:
    overrides = {"retention.ms": "-1", "cleanup.policy": "compact", "message.timestamp.type": "LogAppendTime"}
    settings = effective(overrides, config_of({"log.retention.ms": 5}))
    assert settings.retention_ms == -1
    assert (settings.deletes, settings.compacts, settings.append_time) == (False, True, True)


def test_a_topic_may_keep_everything() -> None:
    settings = effective({"cleanup.policy": ""}, DEFAULTS)
    assert (settings.deletes, settings.compacts) == (False, False)


def test_small_segments_are_for_tests_only() -> None:
    with pytest.raises(ConfigError, match="at least 1048576"):
        checked({"segment.bytes": "1000"}, DEFAULTS)
    kept = checked({"internal.segment.bytes": "1000"}, DEFAULTS)
    assert effective(kept, DEFAULTS).segment_bytes == 1000
    assert effective({"internal.segment.bytes": "-5"}, DEFAULTS).segment_bytes == 1
    assert "internal.segment.bytes" not in {entry.key.name for entry in described(kept, LAYERS)}


def test_overrides_are_kept_in_kafkas_spelling() -> None:
    kept = checked(
        {"retention.ms": " 5 ", "preallocate": "TRUE", "cleanup.policy": "compact, delete"}, DEFAULTS
    )
    assert kept == {"retention.ms": "5", "preallocate": "true", "cleanup.policy": "compact,delete"}


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (
            {"retention.mss": "5"},
            r"'retention.mss' is not a topic configuration; did you mean 'retention.ms'\?",
        ),
        ({"retention.ms": ""}, "invalid value '' for 'retention.ms': must be of type long"),
        ({"retention.ms": None}, "a value is needed"),
        ({"nonsense": None}, "invalid value 'null' for 'nonsense'"),
        ({"retention.ms": "x", "nonsense": "1"}, "'nonsense' is not a topic configuration"),
        (
            {"min.compaction.lag.ms": "10", "max.compaction.lag.ms": "5"},
            r"'min.compaction.lag.ms': is above max.compaction.lag.ms \(5\)",
        ),
        ({"remote.storage.enable": "true"}, "needs a server with kawal.remote.store"),
        ({"leader.replication.throttled.replicas": "*,0:1"}, r"'\*' or a list of replicas"),
    ],
)
def test_what_kafka_refuses_is_refused(overrides: dict[str, str | None], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        checked(overrides, DEFAULTS)


def test_validation_returns_typed_values() -> None:
    assert validate("retention.ms", "5") == 5
    assert validate("min.cleanable.dirty.ratio", "0.01") == 0.01
    assert topic_key("retention.ms").unit == "ms"


def test_an_override_is_listed_before_what_it_covers() -> None:
    entries = {entry.key.name: entry for entry in described({"max.message.bytes": "5"}, LAYERS)}
    entry = entries["max.message.bytes"]
    assert (entry.value, entry.source) == ("5", DYNAMIC)
    assert [tuple(synonym) for synonym in entry.synonyms] == [
        ("max.message.bytes", "5", DYNAMIC),
        ("message.max.bytes", "1048588", DEFAULT),
    ]


def test_a_setting_of_the_server_is_listed_under_its_own_name() -> None:
    config = config_of({"log.segment.bytes": 2_000_000})
    entry = next(entry for entry in described({}, layered(config)) if entry.key.name == "segment.bytes")
    assert (entry.value, entry.source) == ("2000000", STATIC)
    assert [tuple(synonym) for synonym in entry.synonyms] == [
        ("log.segment.bytes", "2000000", STATIC),
        ("log.segment.bytes", "1073741824", DEFAULT),
    ]


def test_retention_in_hours_is_listed_as_a_default_as_kafka_does() -> None:
    config = config_of({"log.retention.hours": 5})
    entry = next(entry for entry in described({}, layered(config)) if entry.key.name == "retention.ms")
    assert (entry.value, entry.source, entry.synonyms) == ("18000000", DEFAULT, ())


def test_a_key_without_a_server_key_has_no_synonyms() -> None:
    entries = {entry.key.name: entry for entry in described({}, LAYERS)}
    assert entries["remote.storage.enable"].synonyms == ()
    assert entries["flush.ms"].synonyms == ()
    assert entries["flush.messages"].synonyms[0].name == "log.flush.interval.messages"


def test_topics_with_the_same_settings_share_one_object() -> None:
    known = KnownSettings()
    assert known.of({}, DEFAULTS, {}) is known.of({}, DEFAULTS, {})
    assert known.of({"retention.ms": "5"}, DEFAULTS, {}) is known.of({"retention.ms": "5"}, DEFAULTS, {})
    assert known.of({}, DEFAULTS, {"retention.ms": "6"}).retention_ms == 6
    assert known.of({"retention.ms": "5"}, DEFAULTS, {"retention.ms": "6"}).retention_ms == 5


def test_shared_settings_follow_a_changed_configuration() -> None:
    known = KnownSettings()
    before = known.of({}, DEFAULTS, {})
    after = known.of({}, config_of({"log.retention.ms": 5}), {})
    assert (before.retention_ms, after.retention_ms) == (604_800_000, 5)


def test_the_shared_settings_that_are_kept_are_bounded() -> None:
    known = KnownSettings()
    first = known.of({"retention.ms": "0"}, DEFAULTS, {})
    for number in range(KNOWN_SETTINGS_MAX):
        assert known.of({"retention.ms": str(number)}, DEFAULTS, {}).retention_ms == number
    assert known.of({"retention.ms": "0"}, DEFAULTS, {}) is not first


def test_values_are_checked_against_something() -> None:
    kind = "kawal.schema.validation"
    with pytest.raises(ConfigError, match=r"needs kawal\.columns"):
        checked({kind: "columns"}, DEFAULTS)
    with pytest.raises(ConfigError, match=r"needs kawal\.schema\.registry\.url"):
        checked({kind: "registry"}, DEFAULTS)
    many = ", ".join(f"c{number} int" for number in range(1_001))
    with pytest.raises(ConfigError, match="checks 1000 columns at most, and 1001 are declared"):
        checked({kind: "columns", "kawal.columns": many}, DEFAULTS)
    kept = checked({kind: "columns", "kawal.columns": "a int"}, DEFAULTS)
    settings = effective(kept, DEFAULTS)
    assert (settings.checks_values, settings.opens_batches, settings.kawal_columns) == (True, True, "a int")
    plain = effective({"kawal.columns": "a int"}, DEFAULTS)
    assert (plain.checks_values, plain.opens_batches, plain.kawal_columns) == (False, False, "")
    with_registry = config_of({"kawal.schema.registry.url": "http://registry:8081"})
    assert effective(checked({kind: "registry"}, with_registry), with_registry).checks_values


@pytest.mark.parametrize("url", ["registry:8081", "http://me:secret@registry:8081"])
def test_the_address_of_a_registry_is_checked(url: str) -> None:
    with pytest.raises(ConfigError, match=r"kawal\.schema\.registry\.url"):
        config_of({"kawal.schema.registry.url": url})
