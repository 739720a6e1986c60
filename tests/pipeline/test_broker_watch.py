"""The watch on a broker, with topics that answer or fail as told."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from pipeline import broker_watch
from pipeline.broker_watch import BrokerWatch, away_sentence, watching
from pipeline.config import SourceSection
from pipeline.errors import SourceError

SOURCE = SourceSection(topics=["t"], bootstrap="kafka:9092")


class Topics:
    """Topics whose id counts the answers."""

    def __init__(self) -> None:
        self.asked = 0
        self.away = threading.Event()

    def ids(self) -> dict[str, str]:
        if self.away.is_set():
            raise SourceError("kafka:9092 does not answer")
        self.asked += 1
        return {"t": str(self.asked)}

    def latest(self) -> dict[str, dict[str, int]]:
        return {"t": {"0": self.asked}}


def test_fresh_ids_are_those_of_a_question_asked_after_the_call() -> None:
    topics: Any = Topics()
    with watching(SOURCE, topics, lambda: None) as watch:
        before = topics.asked
        assert int(watch.fresh_ids()["t"]) >= before + 1


def test_every_answer_is_followed_by_a_commit() -> None:
    committed: list[int] = []
    topics: Any = Topics()
    with watching(SOURCE, topics, lambda: committed.append(1)) as watch:
        watch.fresh_ids()
    assert len(committed) >= 2


def test_a_broker_is_away_once_it_has_not_answered_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    topics: Any = Topics()
    watch = BrokerWatch(SOURCE, topics, {}, {}, lambda: None, answered_at=100.0)
    monkeypatch.setattr("pipeline.broker_watch.time.monotonic", lambda: 100.0 + broker_watch.AWAY_SECONDS)
    assert watch.away_since() is None
    monkeypatch.setattr("pipeline.broker_watch.time.monotonic", lambda: 100.1 + broker_watch.AWAY_SECONDS)
    assert watch.away_since() == 100.0


def test_a_question_that_is_never_answered_ends_with_the_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker_watch, "FRESH_SECONDS", 0.0)
    topics: Any = Topics()
    with watching(SOURCE, topics, lambda: None) as watch:
        topics.away.set()
        with pytest.raises(SourceError, match="kafka:9092 has not answered"):
            watch.fresh_ids()


def test_the_sentence_for_a_broker_that_is_away_names_address_time_and_remedy() -> None:
    sentence = away_sentence("kafka:9092", 185.2)
    assert sentence.startswith("kafka:9092 has not answered for 185 s; what has landed stays.")
    assert "run the job again" in sentence
