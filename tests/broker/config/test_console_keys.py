"""The keys of the web console."""

from __future__ import annotations

import pytest

from broker.config.config import Config, config_of
from broker.config.config_keys import ConfigError
from broker.config.console_keys import CONSOLE_KEYS, check_console
from broker.config.endpoints import is_loopback, parse_endpoint


def test_by_default_it_is_on_this_machine_alone() -> None:
    assert is_loopback(parse_endpoint(Config().kawal_console_listeners).host)
    assert not Config().kawal_console_read_only
    assert all(key.name.startswith("kawal.console.") for key in CONSOLE_KEYS)


def test_others_reach_it_only_where_people_log_in() -> None:
    with pytest.raises(ConfigError, match=r"'kawal.console.listeners'.*no listener with SASL.*--insecure"):
        config_of({"kawal.console.listeners": "0.0.0.0:9645"})
    check_console("0.0.0.0:9645", True, ())
    check_console("none", False, ())
    logins = {"listeners": "SASL_PLAINTEXT://127.0.0.1:0", "kawal.console.listeners": "0.0.0.0:9645"}
    assert config_of(logins).kawal_console_listeners == "0.0.0.0:9645"


def test_an_address_is_host_and_port_or_none() -> None:
    with pytest.raises(ConfigError, match=r"kawal.console.listeners"):
        config_of({"kawal.console.listeners": "here"})
    assert config_of({"kawal.console.listeners": "none"}).kawal_console_listeners == "none"
