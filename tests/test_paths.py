"""Paths that documents, docstrings and comments name exist: a map that is wrong is worse than none."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.test_house import PACKAGES, ROOT, TEST_FOLDERS, python_files, shown
from tests.words import prose_of

FOLDERS = (*PACKAGES, *TEST_FOLDERS, "docs", "packaging")

WHOLE = re.compile(rf"(?<![\w/.-])(?:{'|'.join(FOLDERS)})/[\w<>*/.-]*[\w>*/]")
"""A path from the root of the repository; <api> and * stand for any name."""

BARE = re.compile(r"(?<![\w/.<>*-])[a-z_]\w*\.py\b")
"""A file named without its folder."""

FILE_NAMES = {path.name for path in ROOT.rglob("*.py") if ".venv" not in path.parts}


MADE_LATER = ("tests/conftest.py", "benchmarks/results/DATE-COMMIT.json")
"""Files that a reader makes: in a project of their own, and by a benchmark."""


def exists(named: str, folder: Path = ROOT) -> bool:
    pattern = re.sub(r"<\w+>", "*", named.rstrip("/"))
    if named in MADE_LATER:
        return True
    return any(folder.glob(pattern)) or any(folder.glob(f"{pattern}.py"))


def wrong_paths(text: str) -> Iterator[str]:
    for found in WHOLE.finditer(text):
        if not exists(found[0].rstrip(".")):
            yield found[0]


def documents() -> list[Path]:
    inside = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/**/*.md")]
    return sorted(path for path in inside if path.name != "CHANGELOG.md")


@pytest.mark.parametrize("path", documents(), ids=shown)
def test_paths_in_documents_exist(path: Path) -> None:
    text = path.read_text()
    if path.parent.name == "docs":
        # Examples are about the projects of their readers.
        text = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    assert list(wrong_paths(text)) == []


@pytest.mark.parametrize("folder", [*PACKAGES, *TEST_FOLDERS])
def test_paths_in_comments_and_docstrings_exist(folder: str) -> None:
    wrong = [
        f"{shown(path)}:{line} {named}"
        for path in python_files(folder)
        for line, text in prose_of(path)
        for named in wrong_paths(text)
    ]
    assert wrong == [], "\n".join(wrong)


@pytest.mark.parametrize("folder", PACKAGES)
def test_files_named_without_a_folder_exist(folder: str) -> None:
    wrong = [
        f"{shown(path)}:{line} {found[0]}"
        for path in python_files(folder)
        for line, text in prose_of(path)
        for found in BARE.finditer(text)
        if found[0] not in FILE_NAMES
    ]
    assert wrong == [], "\n".join(wrong)


def map_entries() -> Iterator[tuple[str, str]]:
    """Yield (folder, name) of each file and folder that the map in ARCHITECTURE.md lists."""
    text = (ROOT / "ARCHITECTURE.md").read_text()
    block = text[text.index("## Where things are") :].split("```")[1]
    folder = ""
    for line in block.splitlines():
        if found := re.match(r"(\w+)/ ", line):
            folder = found[1]
        for name in re.findall(r"(?<![\w/.])(?:[\w*]+\.py|\w+/)(?= |,|$|;|\))", line):
            if name != f"{folder}/":
                yield folder, name


def test_the_map_lists_what_there_is() -> None:
    entries = list(map_entries())
    assert len(entries) > 50
    assert [f"{folder}/{name}" for folder, name in entries if not exists(name, ROOT / folder)] == []


def test_the_map_and_the_rooms_name_every_package() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    rooms = [f"{path.name}/" for path in (ROOT / "broker").iterdir() if (path / "__init__.py").exists()]
    missing = [name for name in [*(f"{package}/" for package in PACKAGES), *rooms] if name not in text]
    assert missing == []


TEST_NAME = re.compile(r"`(test_\w+)`")
"""A test that a document names without its file."""

TEST_OF_A_ROW = re.compile(r"`(?:compat_)?tests/[\w/]+\.py`|`test_\w+`|\]\(\S+\)|decide")
"""The last cell of a row about one of TDengine's sentences: a test, a document, or whose part it is."""


def test_tests_that_documents_name_exist() -> None:
    defined = {
        name
        for folder in TEST_FOLDERS
        for path in python_files(folder)
        for name in re.findall(r"^(?:async )?def (test_\w+)", path.read_text(), re.MULTILINE)
    }
    wrong = [
        f"{shown(path)}: {name}"
        for path in documents()
        for name in TEST_NAME.findall(path.read_text())
        if name not in defined
    ]
    assert wrong == []


def test_every_sentence_of_tdengines_documents_has_a_test_or_a_reason() -> None:
    text = (ROOT / "docs" / "tdengine.md").read_text()
    tables = re.findall(r"^\| the documents \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", text, re.MULTILINE)
    rows = [line.strip("|\n").split(" | ") for table in tables for line in table.splitlines()]
    assert len(rows) > 40
    assert [row[0] for row in rows if len(row) != 3 or not TEST_OF_A_ROW.search(row[2])] == []
