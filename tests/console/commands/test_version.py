"""`kawal version`."""

from importlib import metadata

import pytest

from console.cli import main


def test_the_version_alone_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["version"]) == 0
    assert capsys.readouterr().out == f"kawal {metadata.version('kawal')}\n"


def test_a_bug_report_gets_what_lies_beneath(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["version", "--verbose"]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in ("python 3.", "kafka protocol as of 4.3", "trio ", "kafka-python "))


def test_a_source_tree_that_is_not_installed_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def unknown(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", unknown)
    assert main(["version"]) == 0
    assert capsys.readouterr().out == "kawal (not installed as a package)\n"
