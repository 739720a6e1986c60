"""The house rules that a machine can check; CONTRIBUTING.md says why they are there."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = (
    "kawal",
    "protocol",
    "wal",
    "groups",
    "views",
    "broker",
    "pipeline",
    "console",
    "registry",
    "kawal_pytest",
)
TEST_FOLDERS = ("tests", "compat_tests", "benchmarks", "reliability")

DECLARATIONS = ("protocol/messages",)
"""Folders of plain declarations: tests/protocol compares every field with Kafka's own specification."""

FILE_LINES_MAX = 400
FUNCTION_LINES_MAX = 60

UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
HANDLER_HEADINGS = ("Behaviour:", "Differences", "Version")

Function = ast.FunctionDef | ast.AsyncFunctionDef


def python_files(*folders: str) -> list[Path]:
    return sorted(
        path
        for folder in folders
        for path in (ROOT / folder).rglob("*.py")
        if "__pycache__" not in path.parts
    )


def modules(*folders: str) -> list[Path]:
    """Return the files with code: `__init__.py` counts when it has more than its docstring and imports."""
    return [path for path in python_files(*folders) if path.name != "__init__.py" or has_code(path)]


def has_code(path: Path) -> bool:
    body = ast.parse(path.read_text()).body
    return any(isinstance(node, (Function, ast.ClassDef)) for node in body)


def shown(path: Path) -> str:
    return str(path.relative_to(ROOT))


def functions(path: Path) -> Iterator[Function]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, Function):
            yield node


EVERY_FILE = [ROOT / "conftest.py", *python_files(*PACKAGES, *TEST_FOLDERS)]
HANDLERS = [path for path in python_files("broker/handlers") if path.name != "__init__.py"]


def test_files_are_short_enough_to_read_in_one_go() -> None:
    lines = {shown(path): len(path.read_text().splitlines()) for path in EVERY_FILE}
    assert {name: count for name, count in lines.items() if count > FILE_LINES_MAX} == {}


def test_functions_fit_on_a_screen() -> None:
    long = [
        f"{shown(path)}:{node.lineno} {node.name}: {lines} lines"
        for path in EVERY_FILE
        for node in functions(path)
        if (lines := (node.end_lineno or node.lineno) - node.lineno + 1) > FUNCTION_LINES_MAX
    ]
    assert long == [], "\n".join(long)


def test_every_file_says_what_it_is() -> None:
    silent = [shown(path) for path in EVERY_FILE if not ast.get_docstring(ast.parse(path.read_text()))]
    assert silent == [], "\n".join(silent)


def test_public_things_of_the_packages_are_documented() -> None:
    bare = [
        f"{shown(path)}:{node.lineno} {node.name}"
        for path in python_files(*PACKAGES)
        for node in ast.parse(path.read_text()).body
        if isinstance(node, (Function, ast.ClassDef))
        and not node.name.startswith("_")
        and not ast.get_docstring(node)
    ]
    assert bare == [], "\n".join(bare)


def test_nothing_is_left_for_later() -> None:
    left = [
        f"{shown(path)}:{token.start[0]} {token.string.strip()[:60]}"
        for path in EVERY_FILE
        if path != Path(__file__)
        for token in tokenize.generate_tokens(io.StringIO(path.read_text()).readline)
        if token.type in (tokenize.COMMENT, tokenize.STRING) and UNFINISHED.search(token.string)
    ]
    assert left == [], "\n".join(left)


def test_no_exception_is_swallowed() -> None:
    """`except …: pass` hides what happened; `contextlib.suppress` at least names what is expected."""
    silent = [
        f"{shown(path)}:{node.lineno}"
        for path in python_files(*PACKAGES)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ExceptHandler) and all(isinstance(inner, ast.Pass) for inner in node.body)
    ]
    assert silent == [], "\n".join(silent)


@pytest.mark.parametrize("package", PACKAGES)
def test_every_module_has_a_test_file_of_its_name(package: str) -> None:
    """test_<module>.py or test_<module>_<theme>.py; it tests the module with the longest such name."""
    missing = []
    tested = modules_with_tests(package)
    for path in modules(package):
        inside = path.relative_to(ROOT)
        if str(inside.parent) in DECLARATIONS:
            continue
        name = place_of(path)
        if name not in tested:
            missing.append(f"{inside} -> tests/{name.parent}/test_{name.name}.py")
    assert missing == [], "\n".join(missing)


def place_of(path: Path) -> Path:
    """Return folder and name of a module, as its tests have them; a package's are in the folder above it."""
    inside = path.relative_to(ROOT)
    return inside.parent if path.name == "__init__.py" else inside.parent / inside.stem.strip("_")


def modules_with_tests(package: str) -> set[Path]:
    places = [place_of(path) for path in modules(package)]
    tested = set()
    for path in python_files("tests"):
        folder, stem = path.parent.relative_to(ROOT / "tests"), path.stem.removeprefix("test_")
        near = [
            place for place in places if place.parent == folder and f"{stem}_".startswith(f"{place.name}_")
        ]
        if path.name.startswith("test_") and near:
            tested.add(max(near, key=lambda place: len(place.name)))
    return tested


@pytest.mark.parametrize("folder", ["tests"])
def test_every_test_folder_is_a_package(folder: str) -> None:
    """Without `__init__.py` a folder like tests/protocol would be imported as `protocol`."""
    bare = {
        path.parent for path in (ROOT / folder).rglob("*.py") if not (path.parent / "__init__.py").exists()
    }
    assert bare == set()


@pytest.mark.parametrize("path", HANDLERS, ids=lambda path: path.stem)
def test_every_handler_states_its_contract(path: Path) -> None:
    docstring = ast.get_docstring(ast.parse(path.read_text())) or ""
    assert re.match(r"\w+: v\d", docstring), (
        "the first line names the API and its versions, like 'Fetch: v4-17.'"
    )
    assert [heading for heading in HANDLER_HEADINGS if heading not in docstring] == []


@pytest.mark.parametrize("path", HANDLERS, ids=lambda path: path.stem)
def test_handlers_messages_and_tests_share_their_stem(path: Path) -> None:
    assert (ROOT / "protocol" / "messages" / path.name).is_file()
    assert list((ROOT / "tests" / "broker" / "handlers").glob(f"test_{path.stem}*.py"))
