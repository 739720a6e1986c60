"""The search for the connector jars."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.errors import SetupError
from pipeline.jars import POM, REQUIRED, find_jars


def fill(folder: Path, *, without: str = "") -> Path:
    folder.mkdir(parents=True)
    for artifact in REQUIRED:
        if artifact != without:
            (folder / f"{artifact}-4.2.0.jar").touch()
    (folder / "kafka-clients-extras.jar").touch()
    return folder


def test_the_four_jars_are_found_by_name_in_the_checkout(tmp_path: Path) -> None:
    folder = fill(tmp_path / ".jars")
    assert find_jars({}, tmp_path) == [folder / f"{artifact}-4.2.0.jar" for artifact in REQUIRED]


def test_the_environment_names_another_folder(tmp_path: Path) -> None:
    folder = fill(tmp_path / "elsewhere")
    found = find_jars({"KAWAL_SPARK_JARS": str(folder)}, tmp_path)
    assert {jar.parent for jar in found} == {folder}


@pytest.mark.parametrize("missing", REQUIRED)
def test_a_missing_jar_is_named_with_the_way_to_get_it(tmp_path: Path, missing: str) -> None:
    fill(tmp_path / ".jars", without=missing)
    with pytest.raises(SetupError) as refused:
        find_jars({}, tmp_path)
    sentence = str(refused.value)
    assert f"the jar {missing} of Spark's Kafka connector is not in {tmp_path / '.jars'}" in sentence
    assert "make jars" in sentence
    assert f"mvn -f {POM} dependency:copy-dependencies" in sentence


def test_two_versions_of_one_jar_are_refused(tmp_path: Path) -> None:
    (fill(tmp_path / ".jars") / "kafka-clients-3.9.1.jar").touch()
    with pytest.raises(SetupError, match=r"holds kafka-clients-3\.9\.1\.jar and kafka-clients-4\.2\.0\.jar"):
        find_jars({}, tmp_path)


def test_the_pom_fetches_exactly_the_jars_that_are_looked_for() -> None:
    pom = POM.read_text()
    assert [artifact for artifact in REQUIRED if f"<artifactId>{artifact}</artifactId>" not in pom] == []
    assert pom.count("<dependency>") == len(REQUIRED)
