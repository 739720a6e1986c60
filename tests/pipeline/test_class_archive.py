"""The paths of class archives."""

from __future__ import annotations

import os
import subprocess
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import pytest

from pipeline.class_archive import archive_for, archive_path, make_archive
from pipeline.errors import SetupError


@pytest.fixture
def java(tmp_path: Path) -> Path:
    path = tmp_path / "java"
    path.touch()
    return path


def test_an_archive_is_used_when_it_has_been_made(java: Path, tmp_path: Path) -> None:
    environment = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    path = archive_path(java, [], environment)
    assert archive_for(java, [], environment) is None
    path.parent.mkdir(parents=True)
    path.touch()
    assert archive_for(java, [], environment) == path
    assert path.parent == tmp_path / "cache" / "kawal"


def test_another_java_or_other_jars_have_an_archive_of_their_own(java: Path) -> None:
    first = archive_path(java, [Path("/a.jar")], {})
    assert archive_path(java, [Path("/b.jar")], {}) != first
    os.utime(java, ns=(0, 0))
    assert archive_path(java, [Path("/a.jar")], {}) != first


def test_a_machine_that_is_too_busy_to_make_it_is_told_so_and_nothing_is_left(
    java: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_slow(command: list[str], **_: Any) -> None:
        raise subprocess.TimeoutExpired(command, 300)

    monkeypatch.setattr(subprocess, "run", too_slow)
    with pytest.raises(SetupError, match="not made within 300 s: the machine is busy"):
        make_archive(java, [], {"XDG_CACHE_HOME": str(tmp_path / "cache")})
    assert list((tmp_path / "cache" / "kawal").iterdir()) == []


def test_another_place_of_pyspark_has_an_archive_of_its_own(
    java: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two installations shared one, which the Java of the second refused with a warning on the terminal."""
    first = archive_path(java, [], {})
    elsewhere = ModuleSpec("pyspark", None, origin="/elsewhere/pyspark/__init__.py")
    monkeypatch.setattr("pipeline.class_archive.find_spec", lambda _name: elsewhere)
    assert archive_path(java, [], {}) != first
