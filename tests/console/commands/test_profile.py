"""`kawal profile`."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from console.cli import main
from console.client import add_bootstrap


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("KAWAL_BOOTSTRAP", raising=False)
    monkeypatch.delenv("KAWAL_PROFILE", raising=False)


def bootstrap() -> str:
    """Return the address that a client command would use."""
    parser = argparse.ArgumentParser()
    add_bootstrap(parser)
    return str(parser.parse_args([]).bootstrap)


def test_a_profile_is_set_used_listed_and_deleted(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["profile", "list"]) == 0
    assert main(["profile", "set", "production", "--bootstrap", "h:1,h:2"]) == 0
    assert bootstrap() == "127.0.0.1:9092"
    assert main(["profile", "use", "production"]) == 0
    assert bootstrap() == "h:1,h:2"
    assert main(["profile", "set", "test", "--bootstrap", "t:1", "--use"]) == 0
    assert bootstrap() == "t:1"
    monkeypatch.setenv("KAWAL_PROFILE", "production")
    assert bootstrap() == "h:1,h:2"
    monkeypatch.setenv("KAWAL_BOOTSTRAP", "e:1")
    assert bootstrap() == "e:1"
    assert main(["profile", "list"]) == 0
    assert main(["profile", "delete", "test"]) == 0
    assert main(["profile", "use"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines] == [
        ["there", "are", "no", "profiles", "yet"],
        ["profile", "production:", "h:1,h:2"],
        ["using", "profile", "production"],
        ["profile", "test:", "t:1,", "in", "use"],
        ["USED", "PROFILE", "BOOTSTRAP", "PROTOCOL"],
        ["production", "h:1,h:2", "PLAINTEXT"],
        ["*", "test", "t:1", "PLAINTEXT"],
        ["deleted", "profile", "test"],
        ["no", "profile", "is", "in", "use"],
    ]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["use", "gone"], "there is no profile 'gone'; there are: none yet"),
        (["delete", "gone"], "there is no profile 'gone'"),
        (["set", "a", "--bootstrap", "localhost"], "'localhost' is not HOST:PORT"),
    ],
)
def test_what_cannot_be_is_told(words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", *words]) == 2
    assert sentence in capsys.readouterr().err
