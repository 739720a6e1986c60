"""The reader of job files: its refusals, their words, and the paths it resolves."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import UNUSABLE, JobFileError
from pipeline.job_file import FORMS, described_keys, duration_ms, load, parse, start_timestamp_ms
from pipeline.job_paths import at_home

EXAMPLES = sorted((Path(__file__).parents[2] / "pipeline" / "examples").glob("*.toml"))


def content(**tables: Any) -> dict[str, Any]:
    needed: dict[str, dict[str, Any]] = {
        "job": {"name": "a"},
        "source": {"topics": ["t"]},
        "sink": {"path": "lake/t"},
    }
    return {name: {**needed.get(name, {}), **tables.get(name, {})} for name in {**needed, **tables}}


def refusal(**tables: Any) -> str:
    with pytest.raises(JobFileError) as refused:
        parse(content(**tables))
    return str(refused.value)


@pytest.mark.parametrize(
    ("tables", "nearest"),
    [
        ({"source": {"max_offset_per_trigger": 1}}, "'source.max_offsets_per_trigger'"),
        ({"sink": {"partitionby": ["a"]}}, "'sink.partition_by'"),
        ({"sink": {"topics": ["t"]}}, "'source.topics'"),
        ({"triger": {"mode": "once"}}, "'trigger'"),
    ],
)
def test_an_unknown_key_is_refused_naming_the_nearest(tables: dict[str, Any], nearest: str) -> None:
    sentence = refusal(**tables)
    assert "is not a key of a job file" in sentence
    assert sentence.endswith(f"did you mean {nearest}?")


def test_an_unknown_key_like_no_other_is_refused_naming_all_of_its_table() -> None:
    assert "the keys here are job.name, job.kind, job.checkpoint" in refusal(job={"zzz": 1})


@pytest.mark.parametrize(
    ("tables", "sentence"),
    [
        ({"source": {"min_partitions": "4"}}, "source.min_partitions is '4': expected 'int', got 'str'"),
        ({"source": {"min_partitions": -1}}, "source.min_partitions is -1: expected 'int' >= 0"),
        ({"source": {"topics": []}}, "source.topics is []: expected a list of length >= 1"),
        (
            {"schema": {"mode": "avro"}},
            "schema.mode is 'avro': expected one of 'json', 'raw'",
        ),
        (
            {"trigger": {"interval": "5 s"}},
            "trigger.interval is '5 s': expected a number and one of ms, s, m",
        ),
        (
            {"source": {"start": "yesterday"}},
            "source.start is 'yesterday': expected 'earliest', 'latest' or a time",
        ),
        ({"schema": {"mode": "json"}}, "schema.columns is empty"),
        ({"schema": {"rescue": "rest"}}, "schema.rescue is given, but schema.mode is 'raw'"),
        ({"source": {"options": {"startingOffsets": "latest"}}}, "set source.start instead"),
        ({"source": {"topics": ["t", "u", "t"]}}, "source.topics names 't' twice"),
        ({"source": {"start": "1969-01-01"}}, "source.start is '1969-01-01', before 1970"),
        ({"source": {"start": date(2013, 1, 1)}}, "expected 'str', got 'date'; put it in quotes"),
        ({"source": {"max_offsets_per_trigger": 1 << 63}}, "expected 'int' <= 9223372036854775807"),
        ({"source": {"min_partitions": 3_000_000_000}}, "expected 'int' <= 100000"),
        (
            {"source": {"late_after": "99999999999h"}},
            "'99999999999h': that is more than 100 years; give less",
        ),
        ({"trigger": {"interval": "99999999999h"}}, "trigger.interval is '99999999999h': that is more than"),
        (
            {"source": {"options": {"minOffsetsPerTrigger": 2_000_000}}},
            "more than source.max_offsets_per_trigger",
        ),
        ({"sink": {"kind": "iceberg", "catalog": {"uri": 5}}}, "sink.catalog['uri'] is 5: expected 'str'"),
        ({"source": {"options": {"kafka.a.b": [1]}}}, "source.options['kafka.a.b'] is [1]: expected"),
        ({"source": {"group": "g" * 70_000}}, "ggg…: expected 'str' of length <= 10000"),
        ({"spark": {"master": "local[0]"}}, "spark.master is 'local[0]': expected local[CORES]"),
        (
            {"spark": {"master": "local-cluster[a]"}},
            "spark.master is 'local-cluster[a]': expected local[CORES]",
        ),
        ({"spark": {"master": "sparkk://h:7077"}}, "local[CORES] or spark://HOST:PORT"),
        ({"job": {"name": "a/b"}}, "job.name is 'a/b': expected up to 100 letters, digits"),
        ({"sink": {"path": "lake/\0"}}, "sink.path is 'lake/\\x00': it has the character U+0000"),
        ({"source": {"options": {"kafka.client.id": "\0"}}}, "source.options.kafka.client.id is '\\x00'"),
        ({"source": {"topics": ["t", "\0"]}}, "source.topics is '\\x00': it has the character U+0000"),
        (
            {"schema": {"mode": "json", "columns": "n int", "registry": "http://["}},
            "schema.registry is 'http://[', which is not an address",
        ),
    ],
)
def test_a_wrong_value_is_refused_in_one_sentence(tables: dict[str, Any], sentence: str) -> None:
    assert sentence in refusal(**tables)


@pytest.mark.parametrize("name", ["x" * 256, "é" * 128])
def test_a_name_that_no_file_system_takes_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(JobFileError, match=r"sink\.path has the name of a folder or file of 256 bytes"):
        at_home(parse(content(sink={"path": f"lake/{name}"})), tmp_path)


@pytest.mark.parametrize(("missing", "key"), [("job", "name"), ("source", "topics"), ("sink", "path")])
def test_a_missing_table_is_named_with_what_it_needs(missing: str, key: str) -> None:
    told = rf"there is no key '{missing}'; a job needs the table \[{missing}\] with {key}"
    with pytest.raises(JobFileError, match=told):
        parse({name: keys for name, keys in content().items() if name != missing})


def test_a_file_that_is_not_toml_is_refused_with_the_place(tmp_path: Path) -> None:
    path = tmp_path / "land.toml"
    path.write_text("[job\n")
    with pytest.raises(JobFileError, match=r"land\.toml:1: is not TOML: expected .* \(at line 1") as refused:
        load(path)
    assert refused.value.exit_code == UNUSABLE


def test_a_file_that_is_not_utf_8_is_refused_with_the_line_and_the_byte(tmp_path: Path) -> None:
    path = tmp_path / "land.toml"
    path.write_bytes(b"[job]\n# caf\xe9\n")
    with pytest.raises(
        JobFileError, match=r"land\.toml:2: is not UTF-8: it has the byte 0xe9; save the file"
    ):
        load(path)


def test_a_file_may_begin_with_the_mark_of_its_encoding(tmp_path: Path) -> None:
    path = tmp_path / "land.toml"
    path.write_bytes(b'\xef\xbb\xbf[job]\nname = "a"\n[source]\ntopics = ["t"]\n[sink]\npath = "t"\n')
    assert load(path).name == "a"


def test_metrics_in_the_place_of_the_job_file_are_refused(tmp_path: Path) -> None:
    """A run replaced the job file."""
    path = tmp_path / "land.toml"
    keys = 'name = "a"\nmetrics_file = "land.toml"'
    path.write_text(f'[job]\n{keys}\n[source]\ntopics = ["t"]\n[sink]\npath = "t"\n')
    with pytest.raises(JobFileError, match=r"land\.toml:3: job\.metrics_file is the job file itself"):
        load(path)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(JobFileError, match="cannot be read: No such file"):
        load(tmp_path / "land.toml")


def test_paths_count_from_the_folder_of_the_job_file(tmp_path: Path) -> None:
    path = tmp_path / "land.toml"
    path.write_text('[job]\nname = "a"\n[source]\ntopics = ["t"]\n[sink]\npath = "lake/t"\n')
    job = load(path)
    assert job.sink.path == str(tmp_path / "lake" / "t")
    assert job.errors.path == str(tmp_path / "lake" / "t_bad")
    assert job.job.checkpoint == str(tmp_path / "lake" / ".t.landing" / "checkpoint")


def test_the_file_of_metrics_counts_from_the_folder_of_the_job_file_too() -> None:
    job = at_home(parse(content(job={"metrics_file": "metrics/a.prom"})), Path("/jobs"))
    assert job.job.metrics_file == "/jobs/metrics/a.prom"
    assert at_home(parse(content()), Path("/jobs")).job.metrics_file == ""


@pytest.mark.parametrize("text", ["/lake/t", "file:/lake/t", "file:///lake/t", "file://localhost/lake/t"])
def test_local_paths_may_have_a_scheme(tmp_path: Path, text: str) -> None:
    path = tmp_path / "land.toml"
    path.write_text(f'[job]\nname = "a"\n[source]\ntopics = ["t"]\n[sink]\npath = "{text}"\n')
    assert load(path).sink.path == "/lake/t"


def test_object_stores_are_refused_because_they_cannot_rename(tmp_path: Path) -> None:
    path = tmp_path / "land.toml"
    path.write_text('[job]\nname = "a"\n[source]\ntopics = ["t"]\n[sink]\npath = "s3a://lake/t"\n')
    with pytest.raises(
        JobFileError, match=r"sink\.path is 's3a://lake/t': it can only be a folder of a local disk"
    ):
        load(path)


@pytest.mark.parametrize(
    ("tables", "sentence"),
    [
        (
            {"errors": {"path": "lake/t/bad"}},
            "errors.path is /lake/t/bad, in the table /lake/t; give the quarantine",
        ),
        ({"errors": {"path": "lake/t"}}, "errors.path is /lake/t, in the table /lake/t; give the quarantine"),
        (
            {"job": {"checkpoint": "lake/t/c"}},
            "job.checkpoint is /lake/t/c, in the table /lake/t; give the check",
        ),
    ],
)
def test_nothing_else_may_be_in_the_table(tables: dict[str, Any], sentence: str) -> None:
    with pytest.raises(JobFileError) as refused:
        at_home(parse(content(**tables)), Path("/"))
    assert str(refused.value).startswith(sentence)


def test_the_command_line_wins_over_the_file(tmp_path: Path) -> None:
    path = tmp_path / "land.toml"
    path.write_text('[job]\nname = "a"\n[source]\ntopics = ["t"]\nbootstrap = "a:1"\n[sink]\npath = "t"\n')
    job = load(path, bootstrap="b:2", master="local[7]", trigger="once")
    assert (job.source.bootstrap, job.spark.master, job.trigger.mode) == ("b:2", "local[7]", "once")


def test_the_command_line_does_not_hide_a_wrong_table(tmp_path: Path) -> None:
    path = tmp_path / "land.toml"
    path.write_text('source = 1\n[job]\nname = "a"\n[sink]\npath = "t"\n')
    with pytest.raises(JobFileError, match="source is 1: expected a table, got 'int'"):
        load(path, bootstrap="b:2")


@pytest.mark.parametrize(
    ("text", "ms"), [("500ms", 500), ("10s", 10_000), ("5m", 300_000), ("1h", 3_600_000)]
)
def test_durations_are_read(text: str, ms: int) -> None:
    assert duration_ms(text) == ms


@pytest.mark.parametrize(
    ("start", "ms"),
    [
        ("2013-01-01T00:00:00Z", 1_356_998_400_000),
        ("2013-01-01", 1_356_998_400_000),
        ("2013-01-01T01:00:00.250+01:00", 1_356_998_400_250),
        ("earliest", None),
    ],
)
def test_a_start_time_without_zone_is_utc(start: str, ms: int | None) -> None:
    assert start_timestamp_ms(start) == ms


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_every_example_can_be_read(path: Path) -> None:
    assert load(path).source.topics


def test_there_are_examples() -> None:
    assert len(EXAMPLES) == 4


def test_every_pattern_of_a_key_is_told_in_words() -> None:
    patterns = {getattr(key.type, "pattern", None) for key in described_keys().values()} - {None}
    assert patterns == set(FORMS)


def test_every_key_has_a_description() -> None:
    assert len(described_keys()) > 30


@pytest.mark.parametrize(
    ("tables", "sentence"),
    [
        ({"schema": {"registry": "http://r:8081"}}, "schema.registry is given, but schema.mode is 'raw'"),
        (
            {"schema": {"mode": "json", "columns": "a int", "registry": "r:8081"}},
            "schema.registry is 'r:8081', which is not an address such as http://127.0.0.1:8081",
        ),
        (
            {
                "schema": {"mode": "json", "columns": "a int", "registry": "http://r:8081"},
                "source": {"view": "SELECT * FROM t"},
            },
            "source.view reads JSON; it does not go together with schema.registry",
        ),
    ],
)
def test_a_registry_that_cannot_be_used_is_refused(tables: dict[str, Any], sentence: str) -> None:
    assert sentence in refusal(**tables)
