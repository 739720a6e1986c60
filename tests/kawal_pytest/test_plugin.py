"""The fixtures: brokers end with their test, and their logs are shown when it fails."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kawal_pytest import Host, KawalBroker, KawalError, plugin
from kawal_pytest.plugin import Kawal

PLUGIN = Path(plugin.__file__).parent


class FakeHost(Host):
    """A host that opens brokers which exist nowhere."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []
        self.log: list[str] | None = ["a line"]

    def ask(self, command: dict[str, Any]) -> Any:
        self.asked.append(command["do"])
        if command["do"] == "log" and self.log is None:
            raise KawalError("it is gone")
        return {"open": {"broker": "broker-1", "port": 1}, "log": self.log}.get(command["do"])


def test_brokers_end_with_the_test_once() -> None:
    host = FakeHost()
    made = Kawal(host)
    first, second = made.broker(), made.broker(num_partitions=3)
    assert isinstance(first, KawalBroker)
    second.close()
    made.close()
    assert host.asked == ["open", "open", "close", "close"]


class FakeItem:
    """The part of a test that the hook looks at."""

    def __init__(self, made: Kawal) -> None:
        self.stash = pytest.Stash()
        self.stash[plugin._MADE] = made


class Outcome:
    """The outcome that pluggy hands to a wrapper."""

    def __init__(self, report: pytest.TestReport) -> None:
        self._report = report

    def get_result(self) -> pytest.TestReport:
        return self._report


def report_of(item: Any, outcome: Any) -> pytest.TestReport:
    """Return what the hook makes of a report."""
    report = pytest.TestReport("t", ("f", 1, "t"), {}, outcome, None, "call")
    hook = plugin.pytest_runtest_makereport(item)
    next(hook)
    with pytest.raises(StopIteration):
        hook.send(Outcome(report))
    return report


def test_a_failed_test_shows_what_its_brokers_logged_if_anything() -> None:
    host = FakeHost()
    made = Kawal(host)
    made.broker()
    item = FakeItem(made)
    assert report_of(item, "passed").sections == []
    title = "log of <KawalBroker broker-1 on 127.0.0.1:1>"
    assert report_of(item, "failed").sections == [(title, "a line")]
    host.log = []
    assert report_of(item, "failed").sections == []
    host.log = None
    assert report_of(item, "failed").sections == [(title, "it is gone")]


def test_it_imports_pytest_and_the_standard_library_and_nothing_else() -> None:
    """The code under test may have packages of the same names as Kawal's."""
    allowed = sys.stdlib_module_names | {"pytest", "kawal_pytest"}
    for path in PLUGIN.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            assert {name.split(".")[0] for name in names} <= allowed, path


def test_only_the_fixtures_need_pytest() -> None:
    code = "import kawal_pytest, sys; sys.exit('pytest' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], cwd=PLUGIN.parent, timeout=60, check=True)


def test_it_tells_type_checkers_that_it_is_typed() -> None:
    assert (PLUGIN / "py.typed").exists()
