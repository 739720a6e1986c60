"""The part of a check about Spark on this machine."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path
from typing import Any

import pytest

from pipeline.engine_check import check_engine, check_files, java_version
from pipeline.errors import SetupError
from pipeline.jars import REQUIRED
from tests.pipeline.made import job, without_installation


@pytest.mark.parametrize(
    ("content", "sentence"),
    [(b"half a jar", "is damaged (10 bytes)"), (None, "is for Spark 3.5, but pyspark is")],
)
def test_a_damaged_jar_and_one_of_another_spark_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None, sentence: str
) -> None:
    versions = {"spark-sql-kafka-0-10_2.13": "3.5.0"}
    for artifact in REQUIRED:
        jar = tmp_path / f"{artifact}-{versions.get(artifact, '1.0')}.jar"
        with zipfile.ZipFile(jar, "w") as archive:
            archive.writestr("a", "b")
        if content is not None:
            jar.write_bytes(content)
    monkeypatch.setenv("KAWAL_SPARK_JARS", str(tmp_path))
    monkeypatch.setattr("pipeline.engine_check.java_version", lambda *_java: 17)
    with pytest.raises(SetupError) as refused:
        check_engine(job(tmp_path))
    assert sentence in str(refused.value)


@pytest.mark.parametrize(
    ("text", "version"), [('openjdk version "17.0.15"', 17), ('java version "1.8.0_392"', 8)]
)
def test_the_version_of_a_java_is_what_it_says(tmp_path: Path, text: str, version: int) -> None:
    java = tmp_path / "java"
    java.write_text(f"#!/bin/sh\necho '{text}' >&2\n")
    java.chmod(0o755)
    assert java_version(java) == version


def test_options_with_which_java_does_not_start_are_told(tmp_path: Path) -> None:
    java = tmp_path / "java"
    java.write_text("#!/bin/sh\necho \"Unrecognized VM option 'NoSuch'\" >&2\nexit 1\n")
    java.chmod(0o755)
    with pytest.raises(
        SetupError, match=r"= '-XX:NoSuch', with which .* does not start: Unrecognized VM option"
    ):
        java_version(java, ["-XX:NoSuch"])


@pytest.mark.parametrize(
    ("spark", "sentence"),
    [
        ({"master": "spark://127.0.0.1:999999"}, "it has no port from 1 to 65535"),
        ({"master": "spark://127.0.0.1:1"}, "where nothing answers (127.0.0.1:1: Connection refused)"),
        ({"master": "k8s://https://127.0.0.1:1"}, "where nothing answers (127.0.0.1:1: Connection refused)"),
        ({"master": "yarn"}, "but neither HADOOP_CONF_DIR nor YARN_CONF_DIR is set"),
        ({"driver_memory": "99999999g"}, "spark.driver_memory is '99999999g'; this machine has"),
        ({"options": {"spark.driver.extraJavaOptions": "-Xmx2g"}}, "with '-Xmx2g', which Spark refuses"),
        ({"options": {"spark.driver.extraJavaOptions": "'"}}, "No closing quotation"),
    ],
)
def test_a_cluster_or_a_memory_that_is_not_there_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spark: dict[str, Any], sentence: str
) -> None:
    without_installation(monkeypatch)
    for name in ("HADOOP_CONF_DIR", "YARN_CONF_DIR"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(SetupError) as refused:
        check_engine(job(tmp_path, spark=spark))
    assert sentence in str(refused.value)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"spark.jars": "/no/such.jar"}, "has 'spark.jars' with '/no/such.jar', which is not there"),
        ({"spark.files": "{0}/a,file://{0}/b"}, "has 'spark.files' with '{0}/b', which is not there"),
        (
            {"spark.pyspark.python": "/no/python"},
            "has 'spark.pyspark.python' = '/no/python', which is no program",
        ),
        ({"spark.local.dir": "/proc/x"}, "has 'spark.local.dir' with '/proc/x': it cannot be made"),
        (
            {"spark.eventLog.enabled": True, "spark.eventLog.dir": "{0}/no"},
            "but the folder '{0}/no' is not there",
        ),
    ],
)
def test_a_file_that_an_option_names_and_that_is_not_there_is_told(
    tmp_path: Path, options: dict[str, str | bool], sentence: str
) -> None:
    (tmp_path / "a").touch()
    filled = {
        key: value.format(tmp_path) if isinstance(value, str) else value for key, value in options.items()
    }
    with pytest.raises(SetupError) as refused:
        check_files(filled)
    assert sentence.format(tmp_path) in str(refused.value)


def test_files_that_are_there_or_elsewhere_are_taken(tmp_path: Path) -> None:
    check_files(
        {
            "spark.jars": f"{tmp_path},https://a/b.jar,local:{tmp_path}",
            "spark.archives": f"{tmp_path}#name",
            "spark.local.dir": str(tmp_path / "new"),
            "spark.eventLog.enabled": False,
            "spark.eventLog.dir": "/no/such",
        }
    )
    assert os.listdir(tmp_path) == []
