"""Keys for one listener: their names, and whose value is in effect."""

import pytest

from broker.config.config_keys import ConfigError
from broker.config.listener_keys import (
    ListenerKey,
    check_listeners_exist,
    is_listener_key,
    listener_key,
    parts_of,
    tls_changed_by,
)
from broker.config.server_keys import KEYS


def test_a_name_has_a_listener_perhaps_a_mechanism_and_a_key() -> None:
    assert parts_of("listener.name.in-1.ssl.client.auth") == ListenerKey("IN-1", "", "ssl.client.auth")
    assert parts_of("listener.name.x.scram-sha-256.connections.max.reauth.ms") == ListenerKey(
        "X", "SCRAM-SHA-256", "connections.max.reauth.ms"
    )
    assert is_listener_key("listener.name.x")
    assert not is_listener_key("listeners")


@pytest.mark.parametrize("name", ["listener.name.", "listener.name.x", "listener.name..ssl.client.auth"])
def test_a_name_without_its_parts_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=r"LISTENER.KEY"):
        parts_of(name)


def test_a_listener_in_capitals_is_told_how_to_write_it() -> None:
    with pytest.raises(ConfigError, match=r"write listener.name.ssl.ssl.client.auth"):
        parts_of("listener.name.SSL.ssl.client.auth")


def test_a_key_of_a_listener_that_is_not_there_is_refused() -> None:
    check_listeners_exist({"listener.name.in.ssl.client.auth": "none"}, ["IN"])
    with pytest.raises(ConfigError, match=r"listener OUT that does not exist; there are IN"):
        check_listeners_exist({"listener.name.out.ssl.client.auth": "none"}, ["IN"])


@pytest.mark.parametrize("base", ["max.connections", "max.connection.creation.rate"])
def test_limits_of_connections_can_be_a_listeners_own_and_change_while_it_runs(base: str) -> None:
    key = listener_key(f"listener.name.in.{base}")
    assert key.dynamic
    assert key.parse("3") == 3
    with pytest.raises(ConfigError, match="at least 1"):
        key.parse("0")


def test_tls_of_one_listener_may_change_while_it_runs_and_that_of_all_may_not() -> None:
    assert listener_key("listener.name.in.ssl.keystore.location").dynamic
    assert listener_key("listener.name.in.ssl.client.auth").dynamic
    assert not KEYS["ssl.keystore.location"].dynamic
    assert not listener_key("listener.name.in.ssl.allow.dn.changes").dynamic
    assert tls_changed_by("listener.name.in-1.ssl.keystore.key") == "IN-1"
    for other in (
        "ssl.keystore.key",
        "listener.name.in.max.connections",
        "listener.name.in.plain.ssl.keystore.key",
        "listener.name.IN.ssl.keystore.key",
        "listener.name.",
    ):
        assert tls_changed_by(other) is None


def test_limits_of_addresses_are_for_all_listeners() -> None:
    with pytest.raises(ConfigError, match="not a key that a listener can have of its own"):
        listener_key("listener.name.in.max.connections.per.ip")
