"""`kawal databases`: what each action prints, asks for and refuses."""

from __future__ import annotations

import json

import pytest

from console.cli import main
from tests.broker.gateway import Gateway
from tests.broker.kit import create


def run(*words: str) -> int:
    return main(["databases", *words])


def test_a_database_is_made_listed_described_altered_and_dropped(
    server: Gateway, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("create", "telemetry", "--vnodes", "3", "--config", "KEEP=1m") == 0
    assert run("list") == 0
    assert run("list", "--long") == 0
    assert run("alter", "telemetry", "--config", "flush.ms=9", "--unset", "retention.ms") == 0
    assert run("describe", "telemetry", "--json") == 0
    assert run("describe", "telemetry") == 0
    assert run("drop", "telemetry") == 0
    told = capsys.readouterr().out
    assert told.startswith("created telemetry\ndefault\ntelemetry\nDATABASE   VNODES")
    assert "telemetry       3       0      0           0  disk        60000" in told
    (tree,) = json.loads(told[told.index("[") : told.rindex("]") + 1])
    assert tree["settings"]["flush.ms"] == {"value": "9", "default": False}
    assert tree["settings"]["retention.ms"]["default"]
    assert tree["created"] == "2023-11-14T22:13:20.000+00:00"
    assert "telemetry: 3 vnodes in db-" in told
    assert told.endswith("dropped telemetry\n")
    assert list(server.broker.vnodes) == ["default"]


def test_json_lists_are_for_programs(server: Gateway, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("list", "--json") == 0
    assert [database["name"] for database in json.loads(capsys.readouterr().out)] == ["default"]


def test_what_is_there_or_gone_may_be_forgiven(server: Gateway, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("create", "d", "--validate-only") == 0
    assert run("create", "d") == 0
    assert run("create", "d", "--if-not-exists") == 0
    assert run("drop", "d", "gone", "--if-exists") == 0
    told = capsys.readouterr().out.splitlines()
    assert told == [
        "d could be created",
        "created d",
        "d exists already",
        "dropped d",
        "gone does not exist",
    ]


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["create", "default"], 1, "'default': database 'default' exists already"),
        (["create", "d", "--config", "WAL_LEVEL=0"], 1, "every record is written"),
        (["create", "d", "--config", "novalue"], 2, "is not KEY=VALUE"),
        (["describe", "defualt"], 1, "did you mean 'default'?"),
        (["alter", "default"], 2, "say what to change"),
        (["drop", "default"], 1, "database 'default' always exists"),
        (["drop", "full"], 1, "has topics or views: 't'; delete them first"),
    ],
)
def test_refusals_are_sentences(
    server: Gateway, capsys: pytest.CaptureFixture[str], words: list[str], code: int, sentence: str
) -> None:
    assert run("create", "full") == 0
    create(server.client(), "t", 1, **{"kawal.database": "full"})
    capsys.readouterr()
    assert run(*words) == code
    assert sentence in capsys.readouterr().err


def test_what_was_done_is_told_before_what_was_refused(
    server: Gateway, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("create", "a", "default") == 1
    told = capsys.readouterr()
    assert told.out == "created a\n"
    assert "'default'" in told.err
