"""The paths of class archives."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pipeline.class_archive import archive_for, archive_path


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
