"""Topic configurations at work: what clients may set, which value is in effect, and how it is listed."""

import pytest

from broker.catalogue.topic_configs import checked, described, effective, topic_key, validate
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
        ({"remote.storage.enable": "true"}, "Tiered Storage functionality is disabled"),
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
