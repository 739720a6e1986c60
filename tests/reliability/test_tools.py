"""A tool that is missing is an error that says what to install."""

from __future__ import annotations

import pytest

from reliability.tools import ToolMissing, need


def test_a_missing_tool_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ToolMissing, match=r"nbdfuse, strace is missing: apt-get install libnbd-bin strace"):
        need("nbdfuse", "strace")
