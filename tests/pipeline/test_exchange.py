"""Two folders take each other's place."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.errors import SetupError
from pipeline.exchange import exchange


def test_two_folders_exchange_their_places_with_all_that_is_in_them(tmp_path: Path) -> None:
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    exchange(tmp_path / "one", tmp_path / "other")
    assert (tmp_path / "one" / "file").read_text() == "other"
    assert (tmp_path / "other" / "file").read_text() == "one"


def test_what_cannot_be_exchanged_is_named_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    with pytest.raises(SetupError, match=r"one and .*other cannot exchange their places: No such file"):
        exchange(tmp_path / "one", tmp_path / "other")
