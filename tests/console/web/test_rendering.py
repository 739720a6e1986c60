"""Templates escape everything, by themselves."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import console.web
from console.web.navigation import PLACES
from console.web.rendering import Templates, long_time, number, plural, size
from console.web.static_files import StaticFiles

FOLDER = Path(console.web.__file__).parent


def test_there_is_no_way_around_the_escapes() -> None:
    """Nothing is declared safe, and no template turns escaping off."""
    for path in (*FOLDER.rglob("*.html"), *FOLDER.rglob("*.py")):
        text = path.read_text()
        if path.suffix == ".py":
            text = text.partition("from __future__")[2]  # docstrings may name it
        assert not re.search(r"\|\s*safe\b|Markup|autoescape false|__html__\(", text), path


def test_templates_have_no_script_style_or_handler_of_their_own() -> None:
    for path in FOLDER.rglob("*.html"):
        text = path.read_text()
        assert not re.search(r"<script(?! defer src=)|<style|\sstyle=|\son[a-z]+=|javascript:", text), path


def test_every_template_can_be_compiled() -> None:
    templates = Templates(StaticFiles())
    for path in (FOLDER / "templates").glob("*.html"):
        templates._environment.get_template(path.name)
    assert PLACES


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        *((0.0, ""), (119.9, ""), (120, "2 min"), (11_715.862, "3 h 15 min"), (3_600, "1 h 0 min")),
        *((2 * 86_400 + 4 * 3_600, "2 d 4 h"), (86_400_000, "1,000 d 0 h")),
    ],
)
def test_a_long_time_is_told_in_hours_beside_its_seconds(seconds: float, text: str) -> None:
    assert long_time(seconds) == text


def test_the_pieces_for_people() -> None:
    assert (number(2**63 - 1), plural(1, "record"), plural(2000, "record")) == (
        "9,223,372,036,854,775,807",
        "1 record",
        "2,000 records",
    )
    assert plural(2, "is", "are") == "2 are"


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 bytes"), (1023, "1023 bytes"), (1024, "1 KiB"), (1 << 20, "1 MiB"), (1 << 62, "4.1e+03 PiB")],
)
def test_sizes_have_three_digits(count: int, text: str) -> None:
    assert size(count) == text
