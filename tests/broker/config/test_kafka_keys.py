"""The keys only Kafka has: counted and sampled against the listing of Kafka 4.3.1."""

import pytest

from broker.config.acl_keys import OF_AUTHORIZER
from broker.config.config_keys import ConfigError, ConfigType, text_of
from broker.config.kafka_keys import INSTEAD, KAFKA_KEYS, PROTECTIVE
from broker.config.server_keys import KEYS

KAFKA_BROKER_KEYS = 340
"""Entries of DescribeConfigs for a broker, counted on Kafka 4.3.1."""


def test_together_with_ours_they_are_all_of_kafkas() -> None:
    # Kafka has dead letters since 4.4.
    ours = {name for name in KEYS if not name.startswith(("kawal.", "errors."))} - OF_AUTHORIZER
    assert not ours & KAFKA_KEYS.keys()
    assert len(ours | KAFKA_KEYS.keys()) == KAFKA_BROKER_KEYS


def test_rows_are_read_with_type_flag_and_default() -> None:
    jitter = KAFKA_KEYS["sasl.login.refresh.window.jitter"]
    assert (jitter.type, jitter.dynamic) == (ConfigType.DOUBLE, True)
    assert text_of(jitter.default) == "0.05"
    assert text_of(KEYS["log.cleaner.io.max.bytes.per.second"].default) == "1.7976931348623157E308"
    assert KAFKA_KEYS["group.share.assignors"].default == ("simple",)
    assert KEYS["authorizer.class.name"].default == ""
    assert KAFKA_KEYS["log.roll.jitter.ms"].default is None
    assert KAFKA_KEYS["ssl.keystore.password"].sensitive


def test_every_key_is_documented() -> None:
    assert all(key.doc.endswith(".") for key in KAFKA_KEYS.values())


def test_keys_that_protect_and_keys_with_another_name_exist() -> None:
    assert all(any(name.startswith(prefix) for name in KAFKA_KEYS) for prefix in PROTECTIVE)
    assert INSTEAD.keys() <= KAFKA_KEYS.keys()
    assert set(INSTEAD.values()) <= KEYS.keys()


def test_what_no_topic_may_have_no_server_may() -> None:
    for name, wrong in (("compression.gzip.level", "10"), ("compression.zstd.level", "23")):
        with pytest.raises(ConfigError, match=wrong):
            KAFKA_KEYS[name].parse(wrong)
