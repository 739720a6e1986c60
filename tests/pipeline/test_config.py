"""The documentation of the job file, which repeats that of the structs."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.config import Job
from pipeline.job_file import described_keys, description_of

DOCUMENTATION = (Path(__file__).parents[2] / "docs" / "pipeline.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("key", sorted(described_keys()))
def test_every_key_is_documented_in_the_words_of_its_description(key: str) -> None:
    table, _, name = key.rpartition(".")
    section = DOCUMENTATION.partition(f"### [{table}]")[2].partition("\n### ")[0]
    assert f"| `{name}` |" in section
    assert description_of(described_keys()[key]) in section


def test_no_key_is_documented_that_is_not_there() -> None:
    sections = DOCUMENTATION.partition("## The job file")[2].partition("\n## ")[0].split("\n### [")[1:]
    documented = {
        f"{section.partition(']')[0]}.{line.split('`')[1]}"
        for section in sections
        for line in section.splitlines()
        if line.startswith("| `")
    }
    assert documented == set(described_keys())


def test_the_key_lands_as_text_beside_json_and_as_bytes_beside_bytes() -> None:
    assert _job("raw").key_as == "binary"
    assert _job("json").key_as == "string"


def _job(mode: str) -> Job:
    from pipeline.job_file import parse

    schema = {"mode": mode, "columns": "a int"} if mode == "json" else {"mode": mode}
    return parse({"job": {"name": "a"}, "source": {"topics": ["t"]}, "sink": {"path": "t"}, "schema": schema})
