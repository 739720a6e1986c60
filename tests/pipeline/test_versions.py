"""The versions that fit together are named once each, and agree: project, POM, what is installed."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from pipeline.engine_check import JAVA_VERSIONS
from pipeline.jars import POM, REQUIRED

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRAS = {
    Requirement(text).name: Requirement(text)
    for extra in ("spark", "delta", "iceberg", "s3", "replicate")
    for text in PROJECT["project"]["optional-dependencies"][extra]
}
TESTED = [Requirement(text) for text in PROJECT["dependency-groups"]["test"] if isinstance(text, str)]
JARS = dict(re.findall(r"<artifactId>([\w.-]+)</artifactId>\s*<version>([\w.-]+)</version>", POM.read_text()))


def test_the_pom_names_the_jars_that_a_run_looks_for() -> None:
    assert set(REQUIRED) <= JARS.keys()


def test_the_connector_and_pyspark_are_of_one_minor_version() -> None:
    connector = JARS["spark-sql-kafka-0-10_2.13"]
    assert EXTRAS["pyspark"].specifier.contains(connector)
    minor = ".".join(connector.split(".")[:2])
    assert version("pyspark").startswith(f"{minor}.")
    assert not EXTRAS["pyspark"].specifier.contains(f"{minor.split('.')[0]}.{int(minor.split('.')[1]) + 1}.0")


@pytest.mark.parametrize("name", sorted(EXTRAS.keys() - {"kawal"}))
def test_what_is_installed_here_is_what_the_extras_allow(name: str) -> None:
    assert EXTRAS[name].specifier.contains(version(name)), (name, version(name))


@pytest.mark.parametrize(
    "tested", [each for each in TESTED if each.name in EXTRAS], ids=lambda each: each.name
)
def test_the_tests_install_nothing_that_the_extras_do_not_allow(tested: Requirement) -> None:
    lowest = min(re.findall(r">=([\d.]+)", str(tested.specifier)))
    allowed = re.findall(r">=([\d.]+)", str(EXTRAS[tested.name].specifier))
    assert [int(part) for part in lowest.split(".")] >= [int(part) for part in min(allowed).split(".")]


def test_the_documents_name_the_versions_that_are_required() -> None:
    text = (ROOT / "docs" / "pipeline.md").read_text()
    minor = ".".join(JARS["spark-sql-kafka-0-10_2.13"].split(".")[:2])
    assert f"pyspark {minor}; needs Java {JAVA_VERSIONS[0]} or {JAVA_VERSIONS[1]}" in text
