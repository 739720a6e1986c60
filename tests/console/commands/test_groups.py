"""`kawal groups`."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from kafka import TopicPartition
from kafka.errors import NoError, UnknownMemberIdError
from kafka.structs import OffsetAndMetadata

from console.cli import main
from console.commands import groups
from console.group_rows import CONSUMER_COLUMNS, SUBSCRIPTION_COLUMNS, GroupRows

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


class Admin:
    """A broker with the group `idle`, the group `busy`, which has a member, and offsets of both."""

    def __init__(self) -> None:
        self.committed: dict[Any, int] = {}
        self.deleted: list[Any] = []
        self.error: type[Exception] = NoError

    def list_groups(self) -> list[dict[str, str]]:
        states = {"idle": "Empty", "busy": "Stable"}
        return [
            {"group_id": name, "group_type": "classic", "group_state": state, "protocol_type": "consumer"}
            for name, state in states.items()
        ]

    def list_group_offsets(self, asked: dict[str, None]) -> dict[str, Any]:
        return {name: {T0: OffsetAndMetadata(4, "", -1), T1: OffsetAndMetadata(-1, "", -1)} for name in asked}

    def alter_group_offsets(self, group: str, offsets: dict[Any, Any]) -> dict[Any, Any]:
        self.committed = {place: offset.offset for place, offset in offsets.items()}
        return dict.fromkeys(offsets, self.error)

    def delete_groups(self, names: list[str]) -> dict[str, str]:
        return {name: "OK" if name == "idle" else "NonEmptyGroupError" for name in names}

    def delete_group_offsets(self, group: str, places: list[Any]) -> dict[Any, Any]:
        self.deleted += places
        return dict.fromkeys(places, self.error)

    # A consumer, too.
    def partitions_for_topic(self, name: str) -> set[int] | None:
        return {0, 1} if name == "t" else None

    def beginning_offsets(self, places: list[Any]) -> dict[Any, int]:
        return dict.fromkeys(places, 0)

    def end_offsets(self, places: list[Any]) -> dict[Any, int]:
        return dict.fromkeys(places, 10)


@pytest.fixture
def admin(monkeypatch: pytest.MonkeyPatch) -> Admin:
    fake = Admin()
    monkeypatch.setattr(groups, "admin_client", lambda _: nullcontext(fake))
    monkeypatch.setattr(groups, "consumer_client", lambda _: nullcontext(fake))
    return fake


def reset(*words: str) -> int:
    return main(["groups", "reset-offsets", *words])


def test_groups_are_listed_by_state(admin: Admin, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["groups", "list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["GROUP", "busy", "idle"]
    assert main(["groups", "list", "--state", "empty", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [
        {"group": "idle", "type": "classic", "state": "Empty", "protocol": "consumer"}
    ]
    assert main(["groups", "list", "--state", "Dead"]) == 0
    assert capsys.readouterr().out == "no groups\n"


def test_a_group_is_described_with_members_and_progress(
    admin: Admin, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = GroupRows(
        consumers=[{**dict.fromkeys(CONSUMER_COLUMNS), "group": "busy", "consumer": "c-1", "topics": ["t"]}],
        subscriptions=[{**dict.fromkeys(SUBSCRIPTION_COLUMNS), "group": "busy", "topic": "t", "lag": 6}],
    )
    monkeypatch.setattr(groups, "read_groups", lambda *_: rows)
    assert main(["groups", "describe", "busy"]) == 0
    shown = capsys.readouterr().out
    assert "group busy   type classic   state Stable" in shown
    assert "c-1" in shown
    assert main(["groups", "describe", "idle", "--json"]) == 0
    [tree] = json.loads(capsys.readouterr().out)
    assert (tree["group"], tree["state"], tree["consumers"]) == ("idle", "Empty", [])
    assert main(["groups", "describe", "missing"]) == 1
    assert "group 'missing' does not exist" in capsys.readouterr().err


def test_a_reset_shows_what_it_would_do_and_does_nothing(
    admin: Admin, capsys: pytest.CaptureFixture[str]
) -> None:
    assert reset("busy", "--all-topics", "--to", "latest") == 0
    assert admin.committed == {}
    shown = capsys.readouterr().out
    assert [line.split() for line in shown.splitlines()[1:2]] == [["t", "0", "4", "10"]]
    assert shown.endswith("nothing was changed; --execute does it\n")


def test_a_reset_is_executed(admin: Admin, capsys: pytest.CaptureFixture[str]) -> None:
    assert reset("idle", "--topic", "t:1", "--topic", "t", "--to", "3", "--execute", "--json") == 0
    assert admin.committed == {T0: 3, T1: 3}
    assert json.loads(capsys.readouterr().out)[0] == {"topic": "t", "partition": 0, "current": 4, "new": 3}


def test_a_group_that_does_not_exist_may_be_given_offsets(admin: Admin) -> None:
    assert reset("fresh", "--topic", "t:1", "--to", "earliest", "--execute") == 0
    assert admin.committed == {T1: 0}


def test_offsets_from_a_file_name_their_partitions(admin: Admin, tmp_path: Path) -> None:
    path = tmp_path / "offsets.csv"
    path.write_text("t,1,7\n")
    assert reset("idle", "--from-file", str(path), "--execute") == 0
    assert admin.committed == {T1: 7}


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (
            ("busy", "--all-topics", "--to", "latest", "--execute"),
            "group 'busy' is Stable: stop its consumers",
        ),
        (("idle", "--to", "latest"), "name the partitions"),
        (("idle", "--topic", "t", "--all-topics", "--to", "latest"), "exactly one of"),
        (("fresh", "--all-topics", "--to", "latest"), "has committed nothing"),
        (("idle", "--topic", "nothing", "--to", "latest"), "topic 'nothing' does not exist"),
        (("idle", "--topic", "t:0,7", "--to", "latest"), "topic 't' has partitions 0 to 1, not 7"),
    ],
)
def test_a_reset_that_cannot_be_is_refused(
    admin: Admin, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], problem: str
) -> None:
    assert reset(*words) != 0
    assert problem in capsys.readouterr().err
    assert admin.committed == {}


def test_a_reset_that_the_broker_refuses_is_told(admin: Admin, capsys: pytest.CaptureFixture[str]) -> None:
    admin.error = UnknownMemberIdError
    assert reset("idle", "--topic", "t:0", "--to", "latest", "--execute") == 1
    assert "group 'idle': t-0: " in capsys.readouterr().err


def test_groups_are_deleted_one_by_one(admin: Admin, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["groups", "delete", "idle", "busy"]) == 1
    told = capsys.readouterr()
    assert told.out == "deleted idle\n"
    assert "'busy': " in told.err


def test_offsets_of_a_topic_are_deleted(admin: Admin, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["groups", "delete", "idle", "--topic", "t"]) == 0
    assert admin.deleted == [T0]
    assert capsys.readouterr().out == "deleted idle t-0 (offset 4)\n"
    assert main(["groups", "delete", "idle", "--topic", "t:1"]) == 1
    assert "nothing is committed in t" in capsys.readouterr().err
    admin.error = UnknownMemberIdError
    assert main(["groups", "delete", "idle", "--topic", "t"]) == 1
