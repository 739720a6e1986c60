"""The decisions before Spark starts, and the report of missing parts."""

from __future__ import annotations

import os
import shlex
import sys
from importlib import util
from pathlib import Path

import pytest

from pipeline import session
from pipeline.config import SparkSection
from pipeline.errors import SetupError
from pipeline.session import QUICK_START, find_java, plan_session, require_pyspark

LOG = Path("/lake/.my table.landing/spark.log")


def test_workers_run_this_interpreter() -> None:
    plan = plan_session("j", SparkSection(), [], log_path=LOG)
    assert plan.environment["PYSPARK_PYTHON"] == sys.executable


def test_workers_import_our_packages_whatever_else_has_their_names(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = str(Path(session.__file__).parents[1])
    monkeypatch.delenv("PYTHONPATH", raising=False)
    plan = plan_session("j", SparkSection(), [], log_path=LOG)
    assert plan.options["spark.executorEnv.PYTHONPATH"] == ours
    assert plan.options["spark.executorEnv.PYTHONSAFEPATH"] == "1"
    monkeypatch.setenv("PYTHONPATH", "/project")
    plan = plan_session("j", SparkSection(), [], log_path=LOG)
    assert plan.options["spark.executorEnv.PYTHONPATH"] == f"{ours}:/project"
    own = SparkSection(options={"spark.executorEnv.PYTHONPATH": "/libs"})
    plan = plan_session("j", own, [], log_path=LOG)
    assert plan.options["spark.executorEnv.PYTHONPATH"] == f"{ours}:/libs"


@pytest.mark.parametrize(
    "master", ["local", "local[4]", "local[*]", "spark://127.0.0.1:7077", "spark://localhost:1"]
)
def test_a_master_on_this_machine_binds_loopback(master: str) -> None:
    plan = plan_session("j", SparkSection(master=master), [], log_path=LOG)
    assert plan.options["spark.driver.host"] == plan.options["spark.driver.bindAddress"] == "127.0.0.1"
    assert plan.environment["SPARK_LOCAL_IP"] == "127.0.0.1"


def test_a_master_elsewhere_must_be_able_to_call_back() -> None:
    plan = plan_session("j", SparkSection(master="spark://master.lan:7077"), [], log_path=LOG)
    assert "spark.driver.host" not in plan.options
    assert "SPARK_LOCAL_IP" not in plan.environment


def test_jars_are_listed_by_name() -> None:
    plan = plan_session("j", SparkSection(), [Path("/jars/a.jar"), Path("/jars/b.jar")], log_path=LOG)
    assert plan.options["spark.jars"] == "/jars/a.jar,/jars/b.jar"


def test_a_path_with_a_blank_stays_one_java_option() -> None:
    plan = plan_session("j", SparkSection(), [], log_path=LOG)
    assert f"-Dkawal.spark.log={LOG}" in shlex.split(plan.options["spark.driver.extraJavaOptions"])


def test_quick_start_and_class_archive_are_java_options() -> None:
    plan = plan_session("j", SparkSection(quick_start=True), [], log_path=LOG, archive=Path("/c/a.jsa"))
    options = shlex.split(plan.options["spark.driver.extraJavaOptions"])
    assert {*QUICK_START, "-XX:SharedArchiveFile=/c/a.jsa", "-Xshare:auto"} <= set(options)


def test_rows_mean_the_same_everywhere() -> None:
    plan = plan_session("j", SparkSection(), [], log_path=LOG)
    assert plan.options["spark.sql.session.timeZone"] == "UTC"
    assert plan.options["spark.sql.parquet.outputTimestampType"] == "TIMESTAMP_MICROS"


def test_options_of_the_job_file_win() -> None:
    spark = SparkSection(options={"spark.ui.enabled": True, "spark.sql.shuffle.partitions": 8})
    plan = plan_session("j", spark, [], log_path=LOG)
    assert plan.options["spark.ui.enabled"] == "true"
    assert plan.options["spark.sql.shuffle.partitions"] == "8"


def test_a_missing_pyspark_is_one_sentence_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(util, "find_spec", lambda _name: None)
    with pytest.raises(SetupError, match=r"pyspark is not installed; .* pip install 'kawal\[spark\]'"):
        require_pyspark()


def test_java_home_wins_over_the_path(tmp_path: Path) -> None:
    java = tmp_path / "home" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.touch(mode=0o755)
    assert find_java({"JAVA_HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]}) == java


@pytest.mark.parametrize("environment", [{"PATH": "/nowhere"}, {"JAVA_HOME": "/nowhere", "PATH": "/usr/bin"}])
def test_a_missing_java_is_one_sentence_with_the_remedy(environment: dict[str, str]) -> None:
    with pytest.raises(SetupError, match=r"there is no java .*nowhere|on the PATH; Spark needs Java 17"):
        find_java(environment)
