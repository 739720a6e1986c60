"""`kawal sql`: statements from the command line, a file or standard input, and the formats of rows."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from console.cli import main
from console.commands import sql
from console.sql.results import Result
from console.sql.session import Session


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the statements that were run; SHOW has a row, DROP fails, others say that they were done."""
    from console.errors import CommandError

    texts: list[str] = []

    def run(session: Session, text: str) -> Result:
        texts.append(text)
        if text.startswith("DROP"):
            raise CommandError("'t': it is protected")
        if text.startswith("SHOW"):
            return Result(columns=("topic_name", "partitions"), rows=[("t", 2)])
        return Result(f"done at {session.bootstrap}")

    monkeypatch.setattr(sql, "run_statement", run)
    return texts


def test_statements_run_one_after_the_other(ran: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sql", "CREATE x; -- and\n SHOW TOPICS", "--bootstrap", "h:1"]) == 0
    assert ran == ["CREATE x", "SHOW TOPICS"]
    assert capsys.readouterr().out.splitlines() == [
        "done at h:1",
        "TOPIC NAME  PARTITIONS",
        "t                    2",
    ]


def test_the_first_that_fails_ends_the_run_and_is_named_by_its_line(
    ran: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sql", "SHOW TOPICS;\n\nDROP TOPIC t;\nSHOW TOPICS"]) == 1
    assert ran == ["SHOW TOPICS", "DROP TOPIC t"]
    assert capsys.readouterr().err == "kawal: line 3: 't': it is protected\n"
    assert main(["sql", "DROP TOPIC t"]) == 1
    assert capsys.readouterr().err == "kawal: 't': it is protected\n"


def test_programs_choose_a_format(ran: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    for options in (["--json"], ["--format", "json"]):
        assert main(["sql", "SHOW TOPICS", *options]) == 0
        assert json.loads(capsys.readouterr().out) == [{"topic_name": "t", "partitions": 2}]
    assert main(["sql", "USE d; SHOW TOPICS", "--format", "csv"]) == 0
    printed = capsys.readouterr()
    assert printed.out == "topic_name,partitions\nt,2\n"
    assert printed.err.startswith("done")
    assert main(["sql", "SHOW TOPICS", "--json", "--format", "csv"]) == 2


def test_statements_come_from_a_file_or_standard_input(
    ran: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "example.sql"
    path.write_text("USE d;\nSHOW TOPICS;\n")
    assert main(["sql", "--file", str(path)]) == 0
    monkeypatch.setattr(sys, "stdin", io.StringIO("USE e;"))
    assert main(["sql"]) == 0
    assert ran == ["USE d", "SHOW TOPICS", "USE e"]
    assert main(["sql", "--file", str(tmp_path / "gone.sql")]) == 1
    assert main(["sql", "SHOW TOPICS", "--file", str(path)]) == 2
    assert main(["sql", "-- nothing"]) == 2
    assert "there is no statement" in capsys.readouterr().err


def test_at_a_terminal_without_statements_there_is_a_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    seen: list[str] = []
    monkeypatch.setattr(sys, "stdin", Terminal())
    monkeypatch.setattr(sql, "interact", lambda session, form: seen.extend([session.bootstrap, form.value]))
    assert main(["sql", "--bootstrap", "h:1"]) == 0
    assert seen == ["h:1", "table"]


def test_what_is_no_statement_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sql", "EXPLAIN x"]) == 2
    assert "not with 'EXPLAIN'" in capsys.readouterr().err
