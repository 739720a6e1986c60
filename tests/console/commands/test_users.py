"""`kawal users`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from console import admin
from console.cli import main
from tests.broker.connections.test_logins import log_in_by_scram
from tests.broker.logins import LoginGateway

Output = pytest.CaptureFixture[str]


@pytest.fixture
def gateway(monkeypatch: pytest.MonkeyPatch) -> LoginGateway:
    gateway = LoginGateway()
    monkeypatch.setattr(
        admin, "ask_server", lambda _bootstrap, request, version: gateway.client().call(request, version)
    )
    return gateway


@pytest.fixture
def secret(tmp_path: Path) -> str:
    path = tmp_path / "secret"
    path.write_text("hunter2\n")
    return str(path)


def users(*words: str) -> int:
    return main(["users", *words])


def test_an_added_user_logs_in_is_listed_altered_and_removed(
    gateway: LoginGateway, secret: str, capsys: Output
) -> None:
    assert users("add", "alice", "--password-file", secret) == 0
    assert users("add", "bob", "--password-file", secret, "--mechanism", "SCRAM-SHA-512") == 0
    assert log_in_by_scram(gateway, "SCRAM-SHA-256", "alice", "hunter2") == 0
    assert users("list", "--json") == 0
    assert json.loads(capsys.readouterr().out) == [
        {"user": "alice", "mechanisms": {"SCRAM-SHA-256": 8192, "SCRAM-SHA-512": 8192}},
        {"user": "bob", "mechanisms": {"SCRAM-SHA-512": 8192}},
    ]
    Path(secret).write_text("changed")
    assert users("alter", "alice", "--password-file", secret, "--iterations", "4096") == 0
    assert log_in_by_scram(gateway, "SCRAM-SHA-512", "alice", "changed") == 0
    assert users("remove", "alice", "--mechanism", "SCRAM-SHA-256") == 0
    assert users("remove", "bob") == 0
    assert users("list") == 0
    assert capsys.readouterr().out.splitlines()[1:] == ["alice  SCRAM-SHA-512"]


def test_adding_one_that_exists_and_altering_one_that_does_not_are_refused(
    gateway: LoginGateway, secret: str, capsys: Output
) -> None:
    assert users("alter", "alice", "--password-file", secret) == 1
    assert users("add", "alice", "--password-file", secret) == 0
    assert users("add", "alice", "--password-file", secret) == 1
    assert users("remove", "zoe") == 1
    assert capsys.readouterr().err.splitlines() == [
        "kawal: there is no user 'alice'; add it with 'kawal users add'",
        "kawal: the user 'alice' exists; change the password with 'kawal users alter'",
        "kawal: there is no user 'zoe', or not of this mechanism",
    ]


def test_a_file_of_plain_users_is_kept_without_a_server(tmp_path: Path, secret: str, capsys: Output) -> None:
    place = ("--file", str(tmp_path / "users"))
    assert users("list", *place) == 0
    assert users("add", "alice", "--password-file", secret, *place) == 0
    assert users("alter", "alice", "--password-file", secret, *place) == 0
    assert users("add", "alice", "--password-file", secret, *place) == 1
    assert users("list", *place) == 0
    assert users("remove", "alice", *place) == 0
    assert users("remove", "alice", *place) == 1
    out = capsys.readouterr().out.splitlines()
    assert (out[0], out[-1]) == ("there are no users", "alice  PLAIN")
    assert "hunter2" not in (tmp_path / "users").read_text()


def test_a_password_is_never_an_argument(gateway: LoginGateway, capsys: Output) -> None:
    assert users("add", "alice", "--password", "hunter2") == 2
    assert users("add", "a\nb") == 2
    capsys.readouterr()
