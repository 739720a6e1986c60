"""`kawal quotas`."""

from __future__ import annotations

import json

import pytest

from console import admin
from console.cli import main
from tests.broker.gateway import Gateway

Output = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def server(monkeypatch: pytest.MonkeyPatch, gateway: Gateway) -> Gateway:
    client = gateway.client()

    def ask(_bootstrap: str, request: object, version: int = 0) -> object:
        return client.call(request, version)

    monkeypatch.setattr(admin, "ask_server", ask)
    return gateway


def test_quotas_are_set_listed_and_removed(capsys: Output) -> None:
    assert (
        main(["quotas", "set", "--user", "alice", "--produce-bytes", "1048576", "--topic-changes", "0.5"])
        == 0
    )
    assert main(["quotas", "set", "--client-id", "c", "--default-user", "--request-percent", "50"]) == 0
    capsys.readouterr()
    assert main(["quotas", "list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [
        {"entity": {"client-id": "c", "user": None}, "quotas": {"request_percentage": 50.0}},
        {
            "entity": {"user": "alice"},
            "quotas": {"producer_byte_rate": 1048576.0, "controller_mutation_rate": 0.5},
        },
    ]
    assert main(["quotas", "list", "--user", "alice"]) == 0
    assert "user alice  produce-bytes  1048576" in capsys.readouterr().out
    assert main(["quotas", "remove", "--user", "alice", "--only", "produce-bytes"]) == 0
    assert "produce-bytes" not in capsys.readouterr().out
    assert main(["quotas", "remove", "--user", "alice"]) == 0
    assert main(["quotas", "remove", "--client-id", "c", "--default-user"]) == 0
    capsys.readouterr()
    assert main(["quotas", "list"]) == 0
    assert capsys.readouterr().out == "no quotas\n"


def test_what_is_changed_is_shown_and_nothing_else(capsys: Output) -> None:
    assert main(["quotas", "set", "--user", "a", "--client-id", "b", "--fetch-bytes", "5"]) == 0
    capsys.readouterr()
    assert main(["quotas", "set", "--user", "a", "--fetch-bytes", "7"]) == 0
    assert [line.split() for line in capsys.readouterr().out.splitlines()[1:]] == [
        ["user", "a", "fetch-bytes", "7"]
    ]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (["set", "--produce-bytes", "5"], "say whose quotas"),
        (["remove"], "say whose quotas"),
        (["set", "--user", "a"], "name a quota: --produce-bytes NUMBER"),
        (["set", "--user", "a", "--produce-bytes", "x"], "invalid float value"),
    ],
)
def test_what_is_missing_is_named(line: list[str], problem: str, capsys: Output) -> None:
    try:
        code = main(["quotas", *line])
    except SystemExit as ended:
        code = int(ended.code or 0)
    assert code == 2
    assert problem in capsys.readouterr().err


def test_a_refusal_is_told_with_its_reason(capsys: Output) -> None:
    assert main(["quotas", "set", "--user", "a", "--produce-bytes", "-5"]) == 1
    assert "user a" in (told := capsys.readouterr().err)
    assert "must be greater than 0" in told
