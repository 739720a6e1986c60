"""Listeners with SASL get their logins, and a start that could not let anyone in is refused."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from broker.config.config import Config, config_of
from broker.config.endpoints import Endpoint
from broker.server.listeners import Listener, StartError
from broker.server.login_setup import open_logins
from tests.broker.gateway import Gateway


def listeners_of(config: Config) -> list[Listener]:
    """Return the listeners of a configuration, which listen nowhere."""
    bound = Endpoint("127.0.0.1", 0)
    return [
        Listener(socket.socket.__new__(socket.socket), bound, None, name=spec.name) for spec in config.specs
    ]


def opened(**settings: str) -> list[Listener]:
    config = config_of(
        {"listeners": "PLAINTEXT://127.0.0.1:1,SASL_PLAINTEXT://127.0.0.1:2"}
        | {key.replace("__", "."): value for key, value in settings.items()}
    )
    listeners = listeners_of(config)
    open_logins(Gateway().broker, config, listeners, lambda _work, _done: None)
    return listeners


def test_listeners_with_sasl_alone_demand_logins() -> None:
    plain, login = opened()
    assert plain.begin_login is None
    assert login.begin_login is not None


def test_a_file_of_users_that_is_not_there_ends_the_start(tmp_path: Path) -> None:
    with pytest.raises(StartError, match="cannot be read"):
        opened(sasl__enabled__mechanisms="PLAIN", kawal__sasl__plain__users=str(tmp_path / "users"))


def test_a_file_of_keys_that_is_not_there_ends_the_start(tmp_path: Path) -> None:
    url = (tmp_path / "keys").as_uri()
    with pytest.raises(StartError, match="cannot be used"):
        opened(sasl__enabled__mechanisms="OAUTHBEARER", sasl__oauthbearer__jwks__endpoint__url=url)


def test_without_encryption_off_the_loopback_the_log_warns(caplog: pytest.LogCaptureFixture) -> None:
    opened(listeners="SASL_PLAINTEXT://0.0.0.0:2")
    assert "is not encrypted" in caplog.text


def test_a_server_without_logins_imports_nothing_of_them() -> None:
    program = (
        "import sys, broker.server, broker.start\n"
        "from broker.config.config import config_of\n"
        "config_of({})\n"
        "words = ('login', 'sasl_s', 'sasl_p', 'jaas', 'jwt', 'joserfc', 'plain_passwords')\n"
        "print([name for name in sys.modules if any(word in name for word in words)])"
    )
    root = Path(__file__).parents[3]
    ended = subprocess.run(
        [sys.executable, "-c", program], cwd=root, capture_output=True, text=True, check=True
    )
    assert ended.stdout == "[]\n"
