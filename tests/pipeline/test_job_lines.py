"""The lines of job files that sentences are about."""

from __future__ import annotations

import pytest

from pipeline.job_lines import line_of, line_of_value

TEXT = """\
[job]
name = "land-flights"
[source]
bootstrap = "127.0.0.1:9092"
topics = ["flights", "delays"]
[sink]
path = "lake/flights/"
[spark]
driver_memory = "1g"
"""


@pytest.mark.parametrize(
    ("sentence", "line"),
    [
        ("source.topics names 'a' twice", 5),
        ("the key that is wrong is sink.path", 7),
        ("source.topcs is not a key; did you mean source.topics?", 5),
        ("source.start is 'yesterday'", 3),
        ("target.bootstrap is empty; job.kind 'replicate' needs the address", 1),
        ("job: there is no key 'name'", 1),
        ("[sink] has a table's keys", 6),
        ("the job cannot be read from its source", 0),
        ("'snk' is not a key of a job file; did you mean 'sink'?", 6),
        ("there is no key 'target'", 0),
    ],
)
def test_a_sentence_is_about_the_first_key_that_it_names_else_about_its_table(
    sentence: str, line: int
) -> None:
    assert line_of(TEXT, sentence) == line


OPTIONS = """\
[source.options]
"kafka.fetch.max.bytes" = "many"
maxTriggerDelay = "soon"
[spark]
options."spark.task.cpus" = 0
'options'.'spark.rpc.retry.wait' = "x"
"""


@pytest.mark.parametrize(
    ("sentence", "line"),
    [
        ("source.options has 'kafka.fetch.max.bytes' = 'many': expected a whole number", 2),
        ("source.options has 'maxTriggerDelay' = 'soon': expected a time, as '30s' or '5m'", 3),
        ("source.options has 'kafka.max.poll.records', which is not there", 1),
        ("spark.options has 'spark.task.cpus' = 0: expected a whole number from 1 on", 5),
        ("spark.options has 'spark.rpc.retry.wait' = 'x': expected a time", 6),
    ],
)
def test_an_option_in_a_table_of_its_own_or_behind_a_dot_has_its_own_line(sentence: str, line: int) -> None:
    assert line_of(OPTIONS, sentence) == line


@pytest.mark.parametrize(
    ("sentence", "line"),
    [
        ("there is no topic 'delays' on 127.0.0.1:9092", 5),
        ("no broker answers at 127.0.0.1:9092 (refused)", 4),
        ("no broker answers at 127.0.0.1:90921", 0),
        ("/home/me/lake/flights holds x.csv", 7),
        ("there is no topic 'flights-old'", 0),
        ("it needs 1g", 0),
    ],
)
def test_a_sentence_that_names_no_key_is_about_the_first_value_that_it_repeats(
    sentence: str, line: int
) -> None:
    assert line_of_value(TEXT, sentence) == line


@pytest.mark.parametrize(
    ("heading", "sentence"), [("[[sink]]", "sink is []: expected a table"), ('["sink"]', "sink.path is 5")]
)
def test_headings_in_quotes_and_of_lists_are_found(heading: str, sentence: str) -> None:
    assert line_of(f"[job]\n{heading}\npath = 5\n", sentence) in (2, 3)


@pytest.mark.timeout(20)
def test_a_value_without_end_costs_no_time() -> None:
    """A value of 70,000 letters took minutes: each letter could begin a name."""
    sentence = f"source.topics names {'g' * 300_000!r}: names of topics are 1 to 249 letters"
    assert line_of(TEXT, sentence) == 5
    assert line_of_value(TEXT, sentence) == 0
