"""Users of a broker by Kafka's requests, and lines of a file."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from broker.security.plain_passwords import is_password
from broker.security.scram import Mechanism
from console import admin
from console.errors import CommandError
from console.users import (
    file_users,
    first_credentials,
    hashed,
    listed,
    mechanisms_of,
    remove,
    set_password,
    write_file,
)
from tests.broker.connections.test_logins import log_in_by_scram
from tests.broker.logins import LoginGateway

ONE, TWO = Mechanism


@pytest.fixture
def gateway(monkeypatch: pytest.MonkeyPatch) -> LoginGateway:
    gateway = LoginGateway()
    monkeypatch.setattr(
        admin, "ask_server", lambda _bootstrap, request, version: gateway.client().call(request, version)
    )
    return gateway


def test_a_user_whose_password_was_set_logs_in_by_that_mechanism(gateway: LoginGateway) -> None:
    set_password("b", "alice", "pässword", ONE, 4096)
    assert mechanisms_of("b", "alice") == [ONE]
    assert log_in_by_scram(gateway, "SCRAM-SHA-256", "alice", "pässword") == 0
    remove("b", "alice", ONE)
    assert mechanisms_of("b", "alice") == []
    assert listed("b") == []


def test_what_the_broker_refuses_is_told(gateway: LoginGateway) -> None:
    with pytest.raises(CommandError, match=r"user 'alice': .*Too few iterations"):
        set_password("b", "alice", "secret", ONE, 10)
    with pytest.raises(CommandError, match=r"user 'alice': .*does not exist"):
        remove("b", "alice", TWO)


def test_the_first_user_logs_in_by_every_mechanism(gateway: LoginGateway) -> None:
    gateway.broker.catalogue.scram_credentials["root"] = first_credentials("secret")
    for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
        assert log_in_by_scram(gateway, mechanism, "root", "secret") == 0


def test_a_file_is_written_whole_for_its_owner(tmp_path: Path) -> None:
    path = str(tmp_path / "users")
    assert file_users(path) == {}
    own = hashed("secret")
    write_file(path, {"b": own, "a": own})
    assert file_users(path) == {"a": own, "b": own}
    assert is_password("secret", own)
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert os.listdir(tmp_path) == ["users"]
    os.chmod(path, 0o640)
    write_file(path, {"a": own})
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o640


def test_a_file_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    path = tmp_path / "users"
    path.write_text("nonsense")
    with pytest.raises(CommandError, match=r"users:1: not NAME:HASH"):
        file_users(str(path))
    with pytest.raises(CommandError, match="cannot write"):
        write_file(str(tmp_path / "none" / "users"), {})
