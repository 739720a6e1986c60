"""`kawal sql`: statements become requests, answers become sentences and tables."""

from __future__ import annotations

import json
from contextlib import nullcontext
from typing import Any

import pytest

from console.cli import main
from console.commands import sql

LATE = "SELECT carrier FROM flights WHERE delay > 15"


class Admin:
    """A broker with the topic `flights` and the view `late`."""

    def __init__(self) -> None:
        self.created: dict[str, Any] = {}
        self.deleted: list[str] = []
        self.refusal: tuple[int, str | None] | None = None

    def describe_topics(self, names: list[str] | None = None) -> list[dict[str, Any]]:
        known = ["late", "flights", "__consumer_offsets"]
        return [
            {
                "name": name,
                "topic_id": "7e1d",
                "error_code": 0 if name in known else 3,
                "partitions": [{"partition_index": 0, "leader_id": 1, "replica_nodes": [1]}],
                "is_internal": name.startswith("__"),
            }
            for name in (known if names is None else names)
        ]

    def describe_configs(self, resources: list[Any], config_filter: str) -> dict[Any, Any]:
        def of(name: str) -> dict[str, Any]:
            view = {"kawal.sql": LATE, "kawal.source": "flights"} if name == "late" else {}
            return {
                key: {"value": value, "config_source": "DYNAMIC_TOPIC_CONFIG"} for key, value in view.items()
            }

        return {"topic": {resource.name: of(resource.name) for resource in resources}}

    def list_partition_offsets(self, specs: dict[Any, Any]) -> dict[Any, Any]:
        class Found:
            offset = 7

        return dict.fromkeys(specs, Found())

    def create_topics(self, new: dict[str, Any], raise_errors: bool) -> dict[str, Any]:
        self.created = new
        code, message = self.refusal or (0, None)
        return {"topics": [{"name": name, "error_code": code, "error_message": message} for name in new]}

    def delete_topics(self, names: list[str], raise_errors: bool) -> dict[str, Any]:
        self.deleted = names
        code, message = self.refusal or (0, None)
        return {"topics": [{"name": name, "error_code": code, "error_message": message} for name in names]}


@pytest.fixture
def admin(monkeypatch: pytest.MonkeyPatch) -> Admin:
    fake = Admin()
    monkeypatch.setattr(sql, "admin_client", lambda _: nullcontext(fake))
    return fake


def test_a_view_is_created_with_the_whole_statement(admin: Admin, capsys: pytest.CaptureFixture[str]) -> None:
    text = f"CREATE TOPIC slow AS {LATE};"
    assert main(["sql", text]) == 0
    assert capsys.readouterr().out == "created slow\n"
    assert admin.created == {
        "slow": {"num_partitions": -1, "replication_factor": -1, "configs": {"kawal.sql": text[:-1]}}
    }


def test_a_refusal_is_told_in_the_servers_words(admin: Admin, capsys: pytest.CaptureFixture[str]) -> None:
    admin.refusal = (40, "kawal.sql: there is no topic 'flight' to read")
    assert main(["sql", f"CREATE TOPIC slow AS {LATE}"]) == 1
    assert capsys.readouterr().err == "kawal: 'slow': kawal.sql: there is no topic 'flight' to read\n"


def test_if_not_exists_forgives_the_same_view_only(admin: Admin, capsys: pytest.CaptureFixture[str]) -> None:
    admin.refusal = (36, None)
    assert main(["sql", f"CREATE TOPIC IF NOT EXISTS late AS  {LATE.replace('WHERE', 'where')}"]) == 0
    assert capsys.readouterr().out == "late exists already\n"
    assert main(["sql", "CREATE TOPIC IF NOT EXISTS late AS SELECT * FROM flights"]) == 1
    assert f"'late' exists and is another view: {LATE}" in capsys.readouterr().err
    assert main(["sql", "CREATE TOPIC IF NOT EXISTS flights AS SELECT * FROM late"]) == 1
    assert "'flights' exists and is not a view" in capsys.readouterr().err


def test_topics_are_dropped(admin: Admin, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sql", "DROP TOPIC late"]) == 0
    assert admin.deleted == ["late"]
    admin.refusal = (3, None)
    assert main(["sql", "DROP TOPIC IF EXISTS gone"]) == 0
    assert capsys.readouterr().out == "dropped late\ngone does not exist\n"
    admin.refusal = (44, "'flights' is read by the view 'late'; delete it first")
    assert main(["sql", "DROP TOPIC flights"]) == 1
    assert "'flights' is read by the view 'late'" in capsys.readouterr().err


def test_topics_are_shown_with_what_views_read(admin: Admin, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sql", "SHOW TOPICS"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "TOPIC    PARTITIONS  VIEW OF  AS",
        "flights           1  -        -",
        f"late              1  flights  {LATE}",
    ]
    assert main(["sql", "SHOW TOPICS", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[1] == {
        "name": "late",
        "partitions": 1,
        "source": "flights",
        "statement": LATE,
    }


def test_a_view_is_described_with_its_definition(admin: Admin, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sql", "DESCRIBE late"]) == 0
    out = capsys.readouterr().out
    assert "late  (id 7e1d, 1 partition)" in out
    assert LATE in out
    assert main(["sql", "DESCRIBE late", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["configs"]["kawal.source"]["value"] == "flights"


def test_the_statement_that_makes_a_view_is_shown(admin: Admin, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sql", "SHOW CREATE TOPIC late"]) == 0
    assert capsys.readouterr().out == f"CREATE TOPIC `late` AS {LATE}\n"
    assert main(["sql", "SHOW CREATE TOPIC flights"]) == 1
    assert "was not created by a statement" in capsys.readouterr().err
    assert main(["sql", "SHOW CREATE TOPIC gone"]) == 1


def test_what_is_no_statement_is_a_usage_error(admin: Admin, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sql", "SELECT * FROM flights"]) == 2
    assert "CREATE TOPIC name AS SELECT" in capsys.readouterr().err


def test_statements_about_databases_go_to_their_own_api(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def ran(bootstrap: str, text: str, *, json: bool) -> str:
        return f"{bootstrap} {text} {json}"

    monkeypatch.setattr(sql, "run_database_statement", ran)
    assert main(["sql", "SHOW DATABASES", "--bootstrap", "h:1"]) == 0
    assert capsys.readouterr().out == "h:1 SHOW DATABASES False\n"
