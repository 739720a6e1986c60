"""The topic configurations that only Kawal has."""

from __future__ import annotations

from broker.config.kawal_topic_keys import DATABASE_KEY, FIXED_NAMES, KAWAL_TOPIC_KEYS, SHOWN_ONLY
from broker.config.topic_keys import TOPIC_KEYS


def test_they_bear_our_name_and_are_none_of_kafkas() -> None:
    assert all(name == key.name for name, key in KAWAL_TOPIC_KEYS.items())
    others = [name for name in KAWAL_TOPIC_KEYS if not name.startswith("kawal.")]
    assert others == ["errors.deadletterqueue.group.enable"], "Kafka has it since 4.4"
    assert not set(KAWAL_TOPIC_KEYS) & set(TOPIC_KEYS)


def test_what_is_only_shown_is_fixed_too() -> None:
    assert SHOWN_ONLY < FIXED_NAMES
    assert set(KAWAL_TOPIC_KEYS) >= FIXED_NAMES
    assert DATABASE_KEY.name in FIXED_NAMES


def test_every_key_is_documented() -> None:
    assert all(key.doc.endswith(".") for key in KAWAL_TOPIC_KEYS.values())
