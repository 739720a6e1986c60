"""The wheel holds the seven packages, the pytest plugin and what they need at run time, and nothing else."""

from __future__ import annotations

import configparser
import zipfile
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).parent.parent
PACKAGES = {"broker", "console", "groups", "kawal_pytest", "pipeline", "protocol", "views", "wal"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """Open the wheel as pip would build it from this checkout."""
    target = tmp_path_factory.mktemp("wheel")
    (built,) = WheelBuilder(str(ROOT)).build(directory=str(target), versions=["standard"])
    return zipfile.ZipFile(built)


def test_its_top_level_names_are_the_seven_packages_and_the_plugin(wheel: zipfile.ZipFile) -> None:
    top = {name.split("/")[0] for name in wheel.namelist()}
    assert {name for name in top if not name.endswith(".dist-info")} == PACKAGES


def test_every_module_of_the_checkout_is_inside(wheel: zipfile.ZipFile) -> None:
    tracked = {
        str(path.relative_to(ROOT))
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        if "__pycache__" not in path.parts
    }
    assert tracked - set(wheel.namelist()) == set()


def test_files_that_are_read_at_run_time_are_inside(wheel: zipfile.ZipFile) -> None:
    names = set(wheel.namelist())
    assert "pipeline/pom.xml" in names
    assert "pipeline/log4j2.properties" in names
    assert "kawal_pytest/py.typed" in names


def test_nothing_compiled_or_left_over_is_inside(wheel: zipfile.ZipFile) -> None:
    assert [
        name for name in wheel.namelist() if "__pycache__" in name or name.endswith((".pyc", ".log"))
    ] == []


def test_it_brings_the_command_and_the_licence(wheel: zipfile.ZipFile) -> None:
    (entry_points,) = [name for name in wheel.namelist() if name.endswith("entry_points.txt")]
    parser = configparser.ConfigParser()
    parser.read_string(wheel.read(entry_points).decode())
    assert dict(parser["console_scripts"]) == {"kawal": "console.cli:main"}
    assert dict(parser["pytest11"]) == {"kawal": "kawal_pytest"}
    assert any(name.endswith("licenses/LICENSE") for name in wheel.namelist())
    (metadata,) = [name for name in wheel.namelist() if name.endswith("METADATA")]
    assert "Requires-Python: >=3.11" in wheel.read(metadata).decode()
