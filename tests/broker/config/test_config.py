"""The effective configuration: typed fields, and checks that concern several keys."""

from dataclasses import FrozenInstanceError, fields

import pytest

from broker.config.config import Config, attribute_of, config_of, key_of
from broker.config.config_keys import ConfigError
from broker.config.endpoints import Endpoint
from broker.config.server_keys import KEYS


def test_every_key_has_a_field_of_its_default_and_no_field_is_without_a_key() -> None:
    names = {field.name for field in fields(Config)} - {"set_by_operator", "listener_overrides"}
    assert names == {attribute_of(key) for key in KEYS.values()}
    assert all(Config().value(name) == key.default for name, key in KEYS.items())


def test_values_are_typed_and_the_rest_has_its_default() -> None:
    config = config_of({"num.partitions": "8", "log.cleanup.policy": "compact, delete"})
    assert (config.num_partitions, config.log_cleanup_policy) == (8, ("compact", "delete"))
    assert config.message_max_bytes == 1_048_588
    assert config.set_by_operator == {"num.partitions", "log.cleanup.policy"}


def test_a_configuration_builds_on_another() -> None:
    base = config_of({"num.partitions": 8})
    config = config_of({"node.id": 2}, base)
    assert (config.num_partitions, config.node_id) == (8, 2)
    assert config.set_by_operator == {"num.partitions", "node.id"}


def test_a_configuration_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        Config().num_partitions = 3  # type: ignore[misc]


def test_an_unknown_key_names_the_nearest_known_one() -> None:
    with pytest.raises(ConfigError, match=r"'num.partition' is not .* did you mean 'num.partitions'\?"):
        config_of({"num.partition": "1"})
    with pytest.raises(ConfigError, match="is not a configuration key"):
        Config().value("nothing.like.it")
    assert key_of("node.id").name == "node.id"


@pytest.mark.parametrize(
    ("values", "retention_ms"),
    [
        ({}, 7 * 24 * 3_600_000),
        ({"log.retention.hours": 2}, 7_200_000),
        ({"log.retention.hours": 2, "log.retention.minutes": 3}, 180_000),
        ({"log.retention.minutes": 3, "log.retention.ms": 4}, 4),
        ({"log.retention.hours": -1}, -1),
        ({"log.retention.ms": -1, "log.retention.hours": 2}, -1),
    ],
)
def test_retention_is_the_finest_unit_that_is_set(values: dict[str, object], retention_ms: int) -> None:
    assert config_of(values).retention_ms == retention_ms


def test_the_age_of_a_segment_is_the_finest_unit_that_is_set() -> None:
    assert config_of({"log.roll.hours": 2}).roll_ms == 7_200_000
    assert config_of({"log.roll.hours": 2, "log.roll.ms": 5}).roll_ms == 5


def test_listeners_become_endpoints() -> None:
    config = config_of({"listeners": "127.0.0.1:0,[::1]:9092", "advertised.listeners": "a:1,b:2"})
    assert [spec.endpoint for spec in config.specs] == [Endpoint("127.0.0.1", 0), Endpoint("::1", 9092)]
    assert [spec.advertised for spec in config.specs] == [Endpoint("a", 1), Endpoint("b", 2)]


def test_an_address_other_machines_reach_needs_a_word() -> None:
    with pytest.raises(ConfigError, match=r"0\.0\.0\.0:9092.*--insecure"):
        config_of({"listeners": "0.0.0.0:9092"})
    assert config_of({"listeners": "0.0.0.0:9092", "kawal.insecure": True}).kawal_insecure


def test_each_listener_needs_its_advertised_address() -> None:
    with pytest.raises(ConfigError, match="2 addresses for 1 listeners"):
        config_of({"advertised.listeners": "a:1,b:2"})


def test_a_server_without_listeners_is_refused() -> None:
    with pytest.raises(ConfigError, match="at least one address"):
        config_of({"listeners": ""})


def test_the_http_address_is_judged_as_listeners_are() -> None:
    with pytest.raises(ConfigError, match=r"'kawal.http.listen'.*no listener with SASL.*--insecure"):
        config_of({"kawal.http.listen": "0.0.0.0:9644"})
    with_users = {"listeners": "SASL_PLAINTEXT://127.0.0.1:0", "kawal.http.listen": "0.0.0.0:9644"}
    assert config_of(with_users).kawal_http_listen == "0.0.0.0:9644"
    assert config_of({"kawal.http.listen": "none"}).kawal_http_listen == "none"


def test_durability_remote_needs_the_store_that_it_waits_for() -> None:
    with pytest.raises(ConfigError, match=r"'kawal.durability'.*needs kawal\.remote\.store"):
        config_of({"kawal.durability": "remote"})
    config = config_of({"kawal.durability": "remote", "kawal.remote.store": "s3://bucket"})
    assert config.kawal_durability == "remote"
