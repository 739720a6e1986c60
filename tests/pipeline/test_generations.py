"""Topics that were made again, and those that left the job."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.errors import SourceError
from pipeline.generations import check_generations, recreated, removed
from tests.pipeline.made import land


def test_a_topic_with_another_id_is_refused_with_its_end_and_the_command_that_helps(tmp_path: Path) -> None:
    ledger = land(tmp_path, (0, 5), topics={"t": "old"})
    with pytest.raises(SourceError) as refused:
        check_generations(ledger, {"t": "new"}, "jobs/land.toml")
    sentence = str(refused.value)
    assert "'t' was deleted and made again" in sentence
    assert "its id was old and is new now. The table ends at t-0 offset 5 of the old one" in sentence
    assert sentence.endswith("kawal pipe reset jobs/land.toml --topic t --from-new")


@pytest.mark.parametrize("now", [{"t": "old"}, {"t": ""}, {}, {"t": "old", "u": "any"}])
def test_the_same_topic_and_brokers_that_give_no_ids_are_fine(tmp_path: Path, now: dict[str, str]) -> None:
    check_generations(land(tmp_path, (0, 5), topics={"t": "old"}), now, "land.toml")


def test_a_ledger_that_knows_no_ids_refuses_nothing() -> None:
    assert recreated({}, {"t": "new"}) == []


def test_a_topic_that_left_the_job_is_said_with_where_its_rows_end() -> None:
    positions = {"t": {"10": 7, "2": 1_500}, "u": {"0": 3}}
    assert removed(positions, ["u"]) == [
        "the topic 't' is no longer in source.topics; its rows, up to t-2 offset 1,500, t-10 offset 7, stay"
    ]
