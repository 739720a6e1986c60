"""The forms of options: what Spark and its Kafka client would read, and what they would refuse."""

from __future__ import annotations

import pytest

from pipeline.option_forms import TABLE, Value, known_forms, nearest, problem_of, text_of


@pytest.mark.parametrize(
    ("form", "value"),
    [
        ("text", "anything at all"),
        ("boolean", True),
        ("boolean", " FALSE "),
        ("int", -5),
        ("int", "2147483647"),
        ("long", 2**62),
        ("int[1,]", "1"),
        ("int[0,900]", 900),
        ("number", 0.6),
        ("number", "1e-3"),
        ("number[0.5,1.0]", "1"),
        ("time", "5"),
        ("time", "-1"),
        ("time[1,]", "2MIN"),
        ("size", "64m"),
        ("size", "1GB"),
        ("size", "-1"),
        ("a|b", "a"),
        ("~NONE|ZSTD", "zstd"),
    ],
)
def test_a_value_of_the_form_is_taken(form: str, value: Value) -> None:
    assert problem_of(form, value) == ""


@pytest.mark.parametrize(
    ("form", "value", "problem"),
    [
        ("boolean", "yes", "expected true or false"),
        ("boolean", 1, "expected true or false"),
        ("int", "5s", "expected a whole number"),
        ("int", 0.5, "expected a whole number"),
        ("int", True, "expected a whole number"),
        ("int", 2**31, "expected a whole number up to 2,147,483,647"),
        ("int[1,]", 2**31, "expected a whole number from 1 to 2,147,483,647"),
        ("int[1,]", 0, "expected a whole number from 1 on"),
        ("long", 2**63, "expected a whole number up to 9,223,372,036,854,775,807"),
        ("int[0,900]", 901, "expected a whole number from 0 to 900"),
        ("number", "half", "expected a number"),
        ("number[0.5,1.0]", 1.5, "expected a number from 0.5 to 1.0"),
        ("time", "5 s", "expected a time, as '30s' or '5m'"),
        ("time", "5x", "expected a time, as '30s' or '5m'"),
        ("time[0,]", "-5s", "expected a time, as '30s' or '5m', from 0 on"),
        ("size", "1 gb", "expected a size, as '64m' or '1g'"),
        ("size", "1.5g", "expected a size, as '64m' or '1g'"),
        ("size", "", "expected a size, as '64m' or '1g'"),
        ("a|b", "A", "expected one of 'a', 'b'"),
        ("~NONE|ZSTD", "gzip", "expected one of 'NONE', 'ZSTD'"),
    ],
)
def test_another_value_is_told_what_is_expected(form: str, value: Value, problem: str) -> None:
    assert problem_of(form, value) == problem


def test_every_line_of_the_table_has_a_key_and_a_form_that_is_known() -> None:
    lines = TABLE.read_text(encoding="utf-8").splitlines()
    assert lines == sorted(lines)
    assert len(known_forms()) == len(lines)
    for key, form in known_forms().items():
        assert key.startswith(("spark.", "kafka.")), key
        problem_of(form, "5")  # any other kind would be a KeyError


def test_the_table_has_the_options_that_jobs_are_tuned_with() -> None:
    forms = known_forms()
    assert forms["spark.sql.shuffle.partitions"] == "int[1,]"
    assert forms["spark.executor.memory"] == "size"
    assert forms["spark.network.timeout"] == "time"
    assert forms["spark.ui.enabled"] == "boolean"
    assert forms["spark.memory.fraction"] == "number"
    assert "FAIR" in forms["spark.scheduler.mode"].removeprefix("~").split("|")
    assert forms["kafka.fetch.max.bytes"] == "int[0,]"


def test_a_misspelt_key_is_told_from_one_that_resembles_none() -> None:
    known = ["spark.sql.shuffle.partitions", "spark.task.cpus"]
    assert nearest("spark.sql.shufle.partitions", known) == "spark.sql.shuffle.partitions"
    assert nearest("spark.sql.Shuffle.Partitions", known) == "spark.sql.shuffle.partitions"
    assert nearest("spark.shuffle.partitions", known) == "spark.sql.shuffle.partitions"
    assert nearest("spark.sql.shufflePartitions", known) == "spark.sql.shuffle.partitions"
    assert nearest("spark.mine.level", known) == ""


def test_a_right_key_beside_known_ones_is_not_taken_for_one_of_them() -> None:
    # RocksDB's options are read by name; no configuration object of Spark knows all of them.
    prefix = "spark.sql.streaming.stateStore.rocksdb"
    known = [f"{prefix}.formatVersion", f"{prefix}.compactOnCommit", "spark.driver.extraLibraryPath"]
    assert nearest(f"{prefix}.compression", known) == ""
    assert nearest("spark.driver.libraryPath", known) == ""


def test_values_of_toml_are_read_as_java_writes_them() -> None:
    assert [text_of(value) for value in (True, 5, 0.5, "x")] == ["true", "5", "0.5", "x"]
