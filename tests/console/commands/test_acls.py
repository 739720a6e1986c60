"""`kawal acls`."""

from __future__ import annotations

import json

import pytest

from console import admin
from console.cli import main
from tests.broker.guarded import Guarded

Output = pytest.CaptureFixture[str]


@pytest.fixture
def guarded(monkeypatch: pytest.MonkeyPatch) -> Guarded:
    """Return a broker with an authorizer, to which the command speaks as a super user."""
    guarded = Guarded()

    def ask(_bootstrap: str, request: object, version: int = 0) -> object:
        return guarded.admin.call(request, version)

    monkeypatch.setattr(admin, "ask_server", ask)
    return guarded


def test_rules_are_added_listed_and_removed(guarded: Guarded, capsys: Output) -> None:
    line = ["acls", "add", "--user", "alice", "--operation", "read", "write", "--topic", "o", "--prefixed"]
    assert main(line) == 0
    capsys.readouterr()
    assert main(["acls", "list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [(rule["operation"], rule["pattern"], rule["principal"]) for rule in listed] == [
        ("read", "prefixed", "User:alice"),
        ("write", "prefixed", "User:alice"),
    ]
    assert main(["acls", "remove", "--user", "alice", "--operation", "read"]) == 0
    assert "nothing was removed" in capsys.readouterr().out
    assert main(["acls", "remove", "--user", "alice", "--operation", "read", "--yes"]) == 0
    assert [acl.operation for acl in guarded.broker.catalogue.acls] == [4]


def test_the_cluster_and_transactional_ids_can_be_named(guarded: Guarded) -> None:
    assert main(["acls", "add", "--user", "*", "--operation", "describe", "--cluster"]) == 0
    assert main(["acls", "add", "--user", "a", "--operation", "write", "--transactional-id", "x"]) == 0
    assert [acl.name for acl in guarded.broker.catalogue.acls] == ["kafka-cluster", "x"]


def test_a_rule_needs_something_to_be_about(guarded: Guarded, capsys: Output) -> None:
    assert main(["acls", "add", "--user", "a", "--operation", "read"]) == 2
    assert "name what the rule is about" in capsys.readouterr().err


@pytest.mark.parametrize("host", ["10.0.0.0/8", "host.example", "10.0.0", "", "*.example"])
def test_a_rule_for_what_is_no_address_is_refused(guarded: Guarded, capsys: Output, host: str) -> None:
    line = ["acls", "add", "--user", "a", "--operation", "read", "--topic", "t", "--deny", "--host", host]
    assert main(line) == 2
    assert f"--host {host!r} is no address" in capsys.readouterr().err
    assert list(guarded.broker.catalogue.acls) == []


def test_an_ipv6_address_is_stored_as_kafka_compares_it(guarded: Guarded) -> None:
    line = ["acls", "add", "--user", "a", "--operation", "read", "--topic", "t", "--host", "2001:DB8::A01"]
    assert main(line) == 0
    assert [acl.host for acl in guarded.broker.catalogue.acls] == ["2001:db8:0:0:0:0:0:a01"]


def test_an_empty_list_says_so(guarded: Guarded, capsys: Output) -> None:
    assert main(["acls", "list"]) == 0
    assert capsys.readouterr().out == "no rules\n"


@pytest.fixture
def guarded_with_rules(guarded: Guarded) -> Guarded:
    """Return a broker with a rule of each of two users."""
    for user in ("alice", "bob"):
        assert main(["acls", "add", "--user", user, "--operation", "read", "--topic", "t"]) == 0
    return guarded


def users_of(guarded: Guarded) -> list[str]:
    return [acl.principal for acl in guarded.broker.catalogue.acls]


def test_yes_without_anything_to_match_removes_no_rule(guarded_with_rules: Guarded, capsys: Output) -> None:
    assert main(["acls", "remove", "--yes"]) == 2
    assert "--yes alone would remove every rule" in capsys.readouterr().err
    assert users_of(guarded_with_rules) == ["User:alice", "User:bob"]


def test_every_rule_is_removed_when_all_is_said(guarded_with_rules: Guarded, capsys: Output) -> None:
    assert main(["acls", "remove", "--all"]) == 0
    assert "nothing was removed" in capsys.readouterr().out
    assert users_of(guarded_with_rules) == ["User:alice", "User:bob"]
    assert main(["acls", "remove", "--all", "--yes"]) == 0
    assert users_of(guarded_with_rules) == []


@pytest.mark.parametrize("filtered", [["--user", "alice"], ["--cluster"], ["--permission", "allow"]])
def test_all_and_something_to_match_contradict_each_other(
    guarded_with_rules: Guarded, capsys: Output, filtered: list[str]
) -> None:
    assert main(["acls", "remove", "--all", "--yes", *filtered]) == 2
    assert "--all means every rule" in capsys.readouterr().err
    assert users_of(guarded_with_rules) == ["User:alice", "User:bob"]


def test_without_yes_the_rules_that_nothing_restricts_are_listed(
    guarded_with_rules: Guarded, capsys: Output
) -> None:
    capsys.readouterr()
    assert main(["acls", "remove"]) == 0
    listed = capsys.readouterr().out
    assert "alice" in listed
    assert "nothing was removed" in listed
    assert users_of(guarded_with_rules) == ["User:alice", "User:bob"]
