"""The wheels hold what is needed at run time and nothing else, under one name each."""

from __future__ import annotations

import configparser
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).parent.parent
PACKAGES = {"broker", "console", "groups", "pipeline", "protocol", "registry", "views", "wal"}
INSIDE = "kawal/_packages"


def wheel_of(project: Path, folder: Path) -> zipfile.ZipFile:
    """Open the wheel as pip would build it from a folder with a pyproject.toml."""
    (built,) = WheelBuilder(str(project)).build(directory=str(folder), versions=["standard"])
    return zipfile.ZipFile(built)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    return wheel_of(ROOT, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    return wheel_of(ROOT / "kawal_pytest", tmp_path_factory.mktemp("plugin"))


def top_level(wheel: zipfile.ZipFile) -> set[str]:
    return {name.split("/")[0] for name in wheel.namelist() if ".dist-info/" not in name}


def entry_points(wheel: zipfile.ZipFile) -> dict[str, dict[str, str]]:
    (found,) = [name for name in wheel.namelist() if name.endswith("entry_points.txt")]
    parser = configparser.ConfigParser()
    parser.read_string(wheel.read(found).decode())
    return {section: dict(parser[section]) for section in parser.sections()}


def project_of(folder: Path) -> dict[str, Any]:
    project: dict[str, Any] = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    return project


def test_each_has_one_top_level_name(wheel: zipfile.ZipFile, plugin: zipfile.ZipFile) -> None:
    assert top_level(wheel) == {"kawal"}
    assert top_level(plugin) == {"kawal_pytest"}


def test_every_module_of_the_checkout_is_inside(wheel: zipfile.ZipFile, plugin: zipfile.ZipFile) -> None:
    def modules(folder: str) -> set[str]:
        found = (ROOT / folder).rglob("*.py")
        return {str(path.relative_to(ROOT)) for path in found if "__pycache__" not in path.parts}

    inside = {f"{INSIDE}/{name}" for package in PACKAGES for name in modules(package)}
    assert (inside | modules("kawal")) - set(wheel.namelist()) == set()
    assert modules("kawal_pytest") - set(plugin.namelist()) == set()


def test_files_that_are_read_at_run_time_are_inside(wheel: zipfile.ZipFile, plugin: zipfile.ZipFile) -> None:
    names = set(wheel.namelist())
    assert f"{INSIDE}/pipeline/pom.xml" in names
    assert f"{INSIDE}/pipeline/log4j2.properties" in names
    console = ROOT / "console" / "web"
    for folder in ("templates", "static"):
        files = {str(path.relative_to(ROOT)) for path in (console / folder).rglob("*") if path.is_file()}
        assert files
        assert {f"{INSIDE}/{name}" for name in files} - names == set()
    assert "kawal_pytest/py.typed" in plugin.namelist()


def test_nothing_compiled_or_left_over_is_inside(wheel: zipfile.ZipFile, plugin: zipfile.ZipFile) -> None:
    names = [*wheel.namelist(), *plugin.namelist()]
    assert [name for name in names if "__pycache__" in name or name.endswith((".pyc", ".log"))] == []


def test_they_bring_the_command_the_plugin_and_the_licence(
    wheel: zipfile.ZipFile, plugin: zipfile.ZipFile
) -> None:
    assert entry_points(wheel) == {"console_scripts": {"kawal": "kawal.__main__:main"}}
    assert entry_points(plugin) == {"pytest11": {"kawal": "kawal_pytest.plugin"}}
    for built in (wheel, plugin):
        (licence,) = [name for name in built.namelist() if name.endswith("licenses/LICENSE")]
        assert built.read(licence) == (ROOT / "LICENSE").read_bytes()
        (metadata,) = [name for name in built.namelist() if name.endswith("METADATA")]
        assert "Requires-Python: >=3.11" in built.read(metadata).decode()


def test_the_plugin_needs_pytest_alone_and_has_kawals_version() -> None:
    kawal, plugin = project_of(ROOT), project_of(ROOT / "kawal_pytest")
    assert plugin["dependencies"] == ["pytest>=7"]
    assert plugin["version"] == kawal["version"]
    assert plugin["optional-dependencies"] == {"kawal": [f"kawal=={kawal['version']}"]}
