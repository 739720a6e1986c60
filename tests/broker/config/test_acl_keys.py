"""The keys of authorization take Kafka's values, and name what is wrong with others."""

from __future__ import annotations

import pytest

from broker.config.acl_keys import ACL_KEYS, STANDARD_AUTHORIZER
from broker.config.config import config_of
from broker.config.config_keys import ConfigError


def test_every_key_is_a_field_of_the_configuration() -> None:
    assert [config_of({}).value(key.name) for key in ACL_KEYS] == ["", "", False]


def test_kafkas_own_class_is_accepted() -> None:
    assert config_of({"authorizer.class.name": STANDARD_AUTHORIZER}).authorizer_class_name


@pytest.mark.parametrize(
    ("key", "value"),
    [("authorizer.class.name", "org.example.Mine"), ("super.users", "admin"), ("super.users", "User:a;:b")],
)
def test_what_cannot_be_enforced_is_refused(key: str, value: str) -> None:
    with pytest.raises(ConfigError) as refused:
        config_of({key: value})
    assert key in str(refused.value)
