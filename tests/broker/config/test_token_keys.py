"""The keys of delegation tokens have Kafka's names and defaults."""

from __future__ import annotations

from broker.config.config import Config
from broker.config.server_keys import KEYS
from broker.config.token_keys import TOKEN_KEYS


def test_the_keys_are_in_the_table_with_kafkas_defaults() -> None:
    assert all(KEYS[key.name] is key for key in TOKEN_KEYS)
    config = Config()
    assert config.delegation_token_secret_key is None
    assert config.delegation_token_max_lifetime_ms == 7 * 86_400_000
    assert config.delegation_token_expiry_time_ms == 86_400_000
    assert config.delegation_token_expiry_check_interval_ms == 3_600_000


def test_the_key_is_a_secret() -> None:
    assert KEYS["delegation.token.secret.key"].sensitive
