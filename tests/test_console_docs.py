"""docs/console.md: every page of the console has its row, and every picture is small and shown."""

from __future__ import annotations

import re
import struct
from pathlib import Path
from typing import Final

import pytest

from console.web.routes import ROUTES

ROOT: Final = Path(__file__).parents[1]
MANUAL: Final = (ROOT / "docs/console.md").read_text()
PICTURES: Final = sorted((ROOT / "docs/pictures").glob("console-*.png"))
BYTES_MAX: Final = 100_000

SHORT: Final = {
    "{topic}": "T",
    "{partition}": "P",
    "{offset}": "O",
    "{group}": "G",
    "{database}": "D",
    "{user}": "U",
    "{log}": "L",
}
"""How the manual writes the names in paths."""

OF_OTHERS: Final = ("/sql/preview", "/topics/{topic}/records/{partition}/{offset}/{part}", "/login")
"""Parts and files of pages that have a row, and what is told below the table."""


def written() -> set[str]:
    """Return the paths in the first column of the table."""
    rows = re.findall(r"^\| (`/[^|]*) \|", MANUAL, re.MULTILINE)
    return {path.partition("?")[0] for row in rows for path in re.findall(r"`([^`]+)`", row)}


def test_every_page_has_a_row_in_the_manual() -> None:
    pages = set()
    for route in ROUTES:
        if route.method == "GET" and not route.streams and route.pattern not in OF_OTHERS:
            parts = [
                SHORT.get(part, part.strip("{}").upper()[:1] if "{" in part else part)
                for part in route.pattern.split("/")
            ]
            pages.add("/".join(parts))
    assert pages - written() == set()


def test_the_manual_has_no_row_of_a_page_that_there_is_not() -> None:
    patterns = [re.sub(r"{\w+}", "[A-Z]", route.pattern) for route in ROUTES]
    assert [path for path in written() if not any(re.fullmatch(pattern, path) for pattern in patterns)] == []


def test_six_pages_have_a_picture_that_is_shown() -> None:
    shown = re.findall(r"!\[[^\]]+\]\(pictures/(console-\w+\.png)\)", MANUAL)
    assert sorted(shown) == [picture.name for picture in PICTURES]
    assert len(PICTURES) == 6


@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.name)
def test_a_picture_is_small_and_as_large_as_the_others(picture: Path) -> None:
    data = picture.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    assert len(data) < BYTES_MAX
    assert struct.unpack(">II", data[16:24]) == (1000, 560)
