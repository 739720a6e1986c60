"""`kawal topics`."""

import json
from contextlib import nullcontext
from typing import Any
from uuid import UUID

import pytest

from console import topic_changes
from console.cli import main
from console.commands import topics
from protocol.messages.metadata import MetadataResponsePartition, MetadataResponseTopic

PARTITION = MetadataResponsePartition(partition_index=0, leader_id=1, replica_nodes=[], isr_nodes=[])
LISTED = [
    MetadataResponseTopic(name="orders", topic_id=UUID(int=5), partitions=[PARTITION, PARTITION]),
    MetadataResponseTopic(name="__consumer_offsets", is_internal=True, partitions=[]),
]


class Admin:
    """An admin client that answers from prepared topics and remembers what it was asked."""

    def __init__(self) -> None:
        self.created: dict[str, Any] = {}
        self.validated = False

    def describe_topics(self, names: list[str] | None = None) -> list[dict[str, Any]]:
        known = {
            "orders": {"partitions": [{"partition_index": 0}, {"partition_index": 1}], "is_internal": False},
            "__consumer_offsets": {"partitions": [], "is_internal": True},
        }
        return [
            {"name": name, "topic_id": "7e1d", "error_code": 0, **known[name]}
            if name in known
            else {"name": name, "topic_id": None, "error_code": 3, "partitions": [], "is_internal": False}
            for name in (known if names is None else names)
        ]

    def create_topics(self, new: dict[str, Any], validate_only: bool, raise_errors: bool) -> dict[str, Any]:
        assert not raise_errors
        self.created, self.validated = new, validate_only
        return {
            "topics": [
                {"name": name, "error_code": 36 if name == "orders" else 0, "error_message": None}
                for name in new
            ]
        }

    def delete_topics(self, names: list[str], raise_errors: bool) -> dict[str, Any]:
        assert not raise_errors
        return {"topics": [{"name": name, "error_code": 0 if name == "orders" else 3} for name in names]}


@pytest.fixture
def admin(monkeypatch: pytest.MonkeyPatch) -> Admin:
    fake = Admin()
    monkeypatch.setattr(topics, "admin_client", lambda _: nullcontext(fake))
    monkeypatch.setattr(topics, "all_topics", lambda _: LISTED)
    return fake


def test_names_are_listed_without_the_brokers_own(admin: Admin, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["topics", "list"]) == 0
    assert capsys.readouterr().out == "orders\n"
    assert main(["topics", "list", "--internal"]) == 0
    assert capsys.readouterr().out == "__consumer_offsets\norders\n"


def test_the_long_list_is_a_table_and_json_a_tree(admin: Admin, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["topics", "list", "--long"]) == 0
    shown = capsys.readouterr().out
    assert shown == f"TOPIC   PARTITIONS  ID\norders           2  {UUID(int=5)}\n"
    assert main(["topics", "list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [
        {"name": "orders", "partitions": 2, "id": str(UUID(int=5))}
    ]


def test_topics_are_created_as_asked(admin: Admin, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--partitions", "8", "--config", "retention.ms=5", "--config", "cleanup.policy=compact,delete"]
    assert main(["topics", "create", "a", "b", *words]) == 0
    assert capsys.readouterr().out == "created a\ncreated b\n"
    assert admin.created["a"] == admin.created["b"]
    assert admin.created["a"] == {
        "num_partitions": 8,
        "replication_factor": -1,
        "configs": {"retention.ms": "5", "cleanup.policy": "compact,delete"},
    }


def test_a_topic_may_be_checked_only(admin: Admin, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["topics", "create", "a", "--validate-only"]) == 0
    assert admin.validated
    assert capsys.readouterr().out == "a could be created\n"


def test_one_refused_topic_does_not_hide_the_others(admin: Admin, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["topics", "create", "a", "orders"]) == 1
    captured = capsys.readouterr()
    assert captured.out == "created a\n"
    assert captured.err == "kawal: 'orders': Topic with this name already exists.\n"


def test_what_is_there_or_gone_already_may_be_forgiven(
    admin: Admin, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["topics", "create", "orders", "--if-not-exists"]) == 0
    assert main(["topics", "delete", "orders", "gone", "--if-exists"]) == 0
    assert capsys.readouterr().out == "orders exists already\ndeleted orders\ngone does not exist\n"
    assert main(["topics", "delete", "gone"]) == 1


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["create", "a", "--config", "x"], 2, "--config 'x' is not KEY=VALUE"),
        (["describe", "gone"], 1, "'gone': This request is for a topic or partition that does not exist"),
        (["create"], 2, "required: TOPIC"),
        (["lst"], 2, "invalid choice: 'lst'"),
        ([], 2, "say what to do: list, create, describe, alter, delete"),
    ],
)
def test_mistakes_are_told(
    words: list[str], code: int, message: str, admin: Admin, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["topics", *words]) == code
    assert message in capsys.readouterr().err


def test_a_topic_is_described_as_text_and_as_json(
    admin: Admin, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tree: dict[str, Any] = {"name": "orders", "id": None, "partitions": [], "configs": {}}
    monkeypatch.setattr(topics, "topic_tree", lambda client, topic, everything: tree)
    assert main(["topics", "describe", "orders", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [tree]
    assert main(["topics", "describe", "orders"]) == 0
    assert capsys.readouterr().out.startswith("orders  (id -, 0 partitions)")


def test_topics_are_altered(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(
        topic_changes, "alter_topics", lambda *given, **options: asked.append((given, options))
    )
    main(["topics", "alter", "a", "b", "-p", "3", "--config", "x=1", "--delete-config", "y", "--dry-run"])
    (given, options) = asked[0]
    assert given[1] == ["a", "b"]
    assert options == {"partitions": 3, "sets": ["x=1"], "deletes": ["y"], "dry_run": True}


def test_a_pattern_lists_what_it_would_delete_and_deletes_it_with_yes(
    admin: Admin, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["topics", "delete", "--pattern", "or.*|__.*"]) == 0
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("would delete orders\n", "1 of the topics match; --yes deletes them\n")
    assert main(["topics", "delete", "--pattern", "or.*", "--yes"]) == 0
    assert capsys.readouterr().out == "deleted orders\n"
    assert main(["topics", "delete", "--pattern", "order", "--yes"]) == 0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "give names of topics, or --pattern"),
        (["a", "--pattern", "b"], "give names of topics, or --pattern"),
        (["--pattern", "("], "--pattern '(' is not a regular expression"),
    ],
)
def test_a_deletion_without_a_clear_aim_is_refused(
    words: list[str], sentence: str, admin: Admin, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["topics", "delete", *words]) == 2
    assert sentence in capsys.readouterr().err
