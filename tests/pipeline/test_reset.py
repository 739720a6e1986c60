"""A topic that was made again: the reset as an entry of the ledger."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import JobFileError, LedgerError
from pipeline.positions import Range
from pipeline.reset import reset_topic
from tests.pipeline.made import job, land, open_ledger, write_checkpoint


class Topics:
    """A topic t whose new generation begins at 0 and has 3 records."""

    def __init__(self, topic_id: str) -> None:
        self._id = topic_id

    def ids(self) -> dict[str, str]:
        return {"t": self._id}

    def earliest(self) -> dict[str, dict[str, int]]:
        return {"t": {"0": 0}}

    def latest(self) -> dict[str, dict[str, int]]:
        return {"t": {"0": 3}}


@pytest.fixture
def made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def opened(_source: Any) -> Iterator[Topics]:
        yield Topics("new")

    monkeypatch.setattr("pipeline.reset.open_topics", opened)


def test_the_table_goes_on_at_the_new_topics_first_record(tmp_path: Path, made_again: None) -> None:
    land(tmp_path, (0, 5), topics={"t": "old"})
    out = io.StringIO()
    assert reset_topic(job(tmp_path), "t", out) == 0
    ledger = open_ledger(tmp_path)
    assert (ledger.positions, ledger.topics, ledger.total.rows) == ({"t": {"0": 0}}, {"t": "new"}, 5)
    assert ledger.last is not None
    assert ledger.last.reset is not None
    assert (ledger.last.reset.old_id, ledger.last.reset.ended) == ("old", {"0": 5})
    ledger.check_continues([Range(topic="t", partition=0, begin=0, until=3)])
    assert "lands the new 't' (new) from its first record on, 3 offsets" in out.getvalue()


def test_the_checkpoint_of_the_old_topic_is_moved_away(tmp_path: Path, made_again: None) -> None:
    land(tmp_path, (0, 5), topics={"t": "old"})
    made = job(tmp_path)
    write_checkpoint(Path(made.job.checkpoint), planned=[{"t": {"0": 0}}, {"t": {"0": 5}}])
    reset_topic(made, "t", io.StringIO())
    assert not Path(made.job.checkpoint).exists()
    assert Path(f"{made.job.checkpoint}.before").is_dir()


@pytest.mark.parametrize(
    ("topic", "known", "sentence"),
    [
        ("u", "old", "the job reads t, and not 'u'"),
        ("t", "new", "the topic 't' is the one that has landed, by its id new"),
    ],
)
def test_a_reset_that_would_land_rows_twice_is_refused(
    tmp_path: Path, made_again: None, topic: str, known: str, sentence: str
) -> None:
    land(tmp_path, (0, 5), topics={"t": known})
    with pytest.raises((JobFileError, LedgerError), match=sentence.replace("(", r"\(")):
        reset_topic(job(tmp_path), topic, io.StringIO())


def test_nothing_landed_means_nothing_to_reset(tmp_path: Path, made_again: None) -> None:
    with pytest.raises(LedgerError, match="nothing of 't' has landed"):
        reset_topic(job(tmp_path), "t", io.StringIO())
