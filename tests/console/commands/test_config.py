"""`kawal config`."""

import json

import pytest

from broker.config.server_keys import KEYS
from console.cli import main


def test_show_prints_every_key_with_its_source(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "show", "--set", "num.partitions=8"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(KEYS)
    assert next(line for line in lines if line.startswith("num.partitions ")).split()[1] == "8"


def test_show_prints_json_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "show", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["kawal.durability"] == {"value": "disk", "source": "default"}


def test_explain_tells_all_about_one_key(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "explain", "kawal.flush.ms"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("kawal.flush.ms\n  How often durability")
    for fact in ("int, in ms", "50", "between 1 and 3600000", "at start only", "log.flush.interval.ms"):
        assert fact in out
    assert "KAWAL_FLUSH_MS" in out


def test_explain_tells_when_there_is_nothing_to_tell(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "explain", "kawal.accept.replication.factor"]) == 0
    out = capsys.readouterr().out
    assert "range      any" in out
    assert "nothing like it" in out
    assert "on a running server, too" in out


def test_explain_lists_every_key_under_its_heading(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "explain"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert {f"  {name}" for name in KEYS} <= set(lines)
    assert "Retention" in lines


def test_explain_of_an_unknown_key_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "explain", "kawal.flush"]) == 2
    assert "did you mean 'kawal.flush.ms'?" in capsys.readouterr().err
