"""The doctor's findings as the console asks for them."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from console.errors import CommandError
from console.server_flags import add_flags, flags_of
from console.web import findings as module
from console.web.findings import gateway_findings
from tests.console.doctor.machine import FakeFacts
from tests.console.web.kit import ADDRESS, Web


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "Facts", FakeFacts)


def test_they_are_about_the_gateway_s_configuration_and_measure_no_disk(tmp_path: Path) -> None:
    web = Web()
    with web.at_work():
        found = gateway_findings(ADDRESS, (f"--data={tmp_path}/data", "--listen=127.0.0.1:0"))
    checks = {finding.check for finding in found}
    assert {"versions", "memory", "directory", "space"} <= checks
    assert "disk" not in checks
    assert any(f"{tmp_path}/data" in finding.text for finding in found)


def test_the_gravest_come_first(tmp_path: Path) -> None:
    file = tmp_path / "data"
    file.write_text("")
    web = Web()
    with web.at_work():
        found = gateway_findings(ADDRESS, (f"--data={file}",))
    order = [("problem", "warning", "ok").index(finding.verdict) for finding in found]
    assert order == sorted(order)
    assert found[0].verdict == "problem"


def test_a_configuration_that_was_broken_meanwhile_is_a_finding(tmp_path: Path) -> None:
    file = tmp_path / "kawal.toml"
    file.write_text("nonsense")
    web = Web()
    with web.at_work():
        (found,) = gateway_findings(ADDRESS, (f"--config={file}",))
    assert (found.check, found.verdict) == ("configuration", "problem")
    assert str(file) in found.text


def test_who_may_not_describe_the_cluster_learns_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: str) -> None:
        raise CommandError("not allowed")

    monkeypatch.setattr(module, "log_dirs_of", refuse)
    with pytest.raises(CommandError, match="not allowed"):
        gateway_findings(ADDRESS, ())


def test_flags_come_through_as_they_were() -> None:
    parser = argparse.ArgumentParser()
    add_flags(parser)
    words = ["--set=a=b c", "--set=d=--e", "--listen=[::1]:0", "--data=/d", "--http=none", "--insecure"]
    assert flags_of(parser.parse_args(words)) == words
    assert flags_of(parser.parse_args([])) == []
