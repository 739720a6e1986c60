"""The findings of `kawal doctor` about the audit log."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from broker.config.config import config_of
from console.doctor.audit import check_audit
from console.doctor.finding import Finding
from tests.console.doctor.machine import FakeFacts


def findings(path: Path | None, facts: FakeFacts | None = None, **settings: Any) -> list[Finding]:
    own = {} if path is None else {"kawal.audit.file": str(path)}
    dotted = {name.replace("_", "."): value for name, value in settings.items()}
    return list(check_audit(facts or FakeFacts(), config_of(own | dotted)))


def test_without_an_audit_log_there_is_nothing_to_say() -> None:
    assert findings(None) == []


def test_a_log_that_can_be_written_is_well(tmp_path: Path) -> None:
    (found,) = findings(tmp_path / "audit.log")
    assert found.verdict == "ok"


def test_a_folder_that_is_not_there_is_a_problem(tmp_path: Path) -> None:
    (found,) = findings(tmp_path / "none" / "audit.log")
    assert found.verdict == "problem"
    assert "cannot write the audit log" in found.text


def test_a_full_disk_is_a_problem_and_a_small_one_a_warning(tmp_path: Path) -> None:
    full = FakeFacts(space=(1 << 30, 1 << 20, 1_000))
    for when_full, effect in (("refuse", "changes are refused"), ("drop", "events are lost")):
        found = findings(tmp_path / "audit.log", full, kawal_audit_when_full=when_full)[0]
        assert found.verdict == "problem"
        assert effect in found.text
    small = FakeFacts(space=(1 << 30, 300 << 20, 1_000))
    assert findings(tmp_path / "audit.log", small)[0].verdict == "warning"
    assert [each.verdict for each in findings(tmp_path / "audit.log", small, kawal_audit_file_count=1)] == [
        "ok"
    ]


def test_events_that_were_lost_are_told(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    gaps = [{"event": "audit.gap", "left_out": 3}, {"event": "audit.gap", "left_out": 4}]
    lines = [*map(json.dumps, gaps), '{"audit.gap"', '{"event": "x", "name": "audit.gap"}']
    path.write_text("\n".join(lines) + "\n")
    (found,) = findings(path)
    assert found.verdict == "warning"
    assert found.text.startswith("7 events were lost")


def test_the_files_of_all_workers_are_looked_at(tmp_path: Path) -> None:
    path, other = tmp_path / "audit.log", tmp_path / "audit.log.worker-1"
    other.write_text('{"event": "audit.gap", "left_out": 3}\n')
    (found,) = findings(path)
    assert found.text.startswith("3 events were lost"), "the workers of an earlier start may have been more"
    assert [each.verdict for each in findings(path, kawal_workers=2)] == ["warning"]
    other.write_text("")
    small = FakeFacts(space=(1 << 30, 800 << 20, 1_000))
    assert [each.verdict for each in findings(path, small)] == ["ok"]
    assert [each.verdict for each in findings(path, small, kawal_workers=2)] == ["warning", "ok"]
