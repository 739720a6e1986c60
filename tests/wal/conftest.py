"""The fixture of the tests of crashes."""

from __future__ import annotations

import pytest

from wal import snapshot


@pytest.fixture
def _slow_checkpoints(monkeypatch: pytest.MonkeyPatch) -> None:
    """Capture one stream at a time, so that checkpoints are taken while frames and copies are written."""
    monkeypatch.setattr(snapshot, "STREAMS_PER_STEP", 1)
