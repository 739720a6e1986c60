"""The language rules of CONTRIBUTING.md that a machine can check: comments, docstrings, names and documents.

The mood of docstrings is ruff's to check (D401).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.test_house import PACKAGES, ROOT, TEST_FOLDERS, python_files, shown
from tests.words import prose_of

FOLDERS = (*PACKAGES, *TEST_FOLDERS)

OWN_FILES = ("test_language.py", "words.py")
"""Here the words are named that are not used."""

FORBIDDEN = {
    r"\b(whoever|whomever|nobody|somebody|anybody|everybody)\b": "name the code or the request",
    r"\bby and by\b": "'incrementally', or how much at a time",
    r"\btakes? note\b": "say what is done",
    r"\b(is|are) dear\b": "'expensive'",
    r"\b(from|at|to) (its|the|their) begin\b|\bbegin of\b": "'begin' is a verb: 'beginning', 'start'",
    r"\b(settings?|configurations?|configs?|limits?|values?) (that )?(holds?)\b": "'be in effect'",
    r"\b(?:clients-wire|kafka-behaviour|seed-features|groups-and-transactions)\.md\b": "not in this tree",
    r"\b(?:scale|style|rooms)\.md\b|\bdesign/performance\.md\b": "not in this tree",
}
"""What is not written, and what to write instead."""

QUESTION = re.compile(r"(What|Who|Whoever|How|Where)\b")
"""Words with which no docstring begins: it says what the thing is or does."""


def wrong_words(text: str) -> Iterator[str]:
    for pattern, instead in FORBIDDEN.items():
        for found in re.finditer(pattern, text, re.IGNORECASE):
            yield f"{found[0]!r}: {instead}"


def files_of(folder: str) -> list[Path]:
    return [path for path in python_files(folder) if path.name not in OWN_FILES]


def documents() -> list[Path]:
    found = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("compat_tests/**/README.md")]
    return sorted(path for path in found if path.name not in ("CONTRIBUTING.md", "CHANGELOG.md"))


@pytest.mark.parametrize("folder", FOLDERS)
def test_comments_and_docstrings_keep_to_the_language_rules(folder: str) -> None:
    wrong = [
        f"{shown(path)}:{line} {word}"
        for path in files_of(folder)
        for line, text in prose_of(path)
        for word in wrong_words(text)
    ]
    assert wrong == [], "\n".join(wrong)


def test_documents_keep_to_the_language_rules() -> None:
    wrong = [
        f"{shown(path)}:{number} {word}"
        for path in documents()
        for number, line in enumerate(path.read_text().splitlines(), 1)
        for word in wrong_words(line)
    ]
    assert wrong == [], "\n".join(wrong)


@pytest.mark.parametrize("folder", FOLDERS)
def test_docstrings_begin_with_what_the_thing_is(folder: str) -> None:
    wrong = [
        f"{shown(path)}:{getattr(node, 'lineno', 1)} {docstring.splitlines()[0]}"
        for path in files_of(folder)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module)
        and (docstring := ast.get_docstring(node))
        and QUESTION.match(docstring)
    ]
    assert wrong == [], "\n".join(wrong)


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_items_of_a_loop_have_a_name(folder: str) -> None:
    """`for one in …` does not say what `one` is."""
    wrong = [
        f"{shown(path)}:{node.target.lineno}"
        for path in files_of(folder)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.For | ast.AsyncFor | ast.comprehension)
        and any(isinstance(name, ast.Name) and name.id == "one" for name in ast.walk(node.target))
    ]
    assert wrong == [], "\n".join(wrong)
