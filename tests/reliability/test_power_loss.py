"""The verdict on what a store shows after a power failure."""

from __future__ import annotations

from reliability.clients import PARTITIONS, TOPICS
from reliability.history import Op
from reliability.power_loss import GROUP, judged
from tests.sim.mounted_store import Shown

PLACES = [(topic, number) for topic in TOPICS for number in range(PARTITIONS)]


def sent(value: str, offset: int) -> list[Op]:
    return [
        Op("writer", "send", "invoke", key="plain-0", value=value),
        Op("writer", "send", "ok", key="plain-0", value=value, offset=offset),
    ]


def shown(**changes: object) -> Shown:
    whole = Shown(
        topics=set(TOPICS),
        starts=dict.fromkeys(PLACES, 0),
        records={place: [] for place in PLACES} | {("plain", 0): [(0, "k1|writer:0"), (1, "k1|writer:1")]},
        committed={("plain", 0): 2},
    )
    for name, value in changes.items():
        setattr(whole, name, value)
    return whole


BEFORE = [
    *sent("k1|writer:0", 0), *sent("k1|writer:1", 1),
    Op(GROUP, "commit", "invoke", key="plain-0", offset=2),
    Op(GROUP, "commit", "ok", key="plain-0", offset=2),
]  # fmt: skip


def test_what_is_all_there_has_no_anomaly() -> None:
    assert judged(BEFORE, shown()) == {}


def test_a_record_that_was_not_acknowledged_yet_may_be_there() -> None:
    pending = Op("writer", "send", "invoke", key="plain-0", value="k1|writer:2")
    records = {**shown().records, ("plain", 0): [(0, "k1|writer:0"), (1, "k1|writer:1"), (2, "k1|writer:2")]}
    assert judged([*BEFORE, pending], shown(records=records)) == {}


def test_an_acknowledged_record_that_is_missing_is_lost() -> None:
    records = {**shown().records, ("plain", 0): [(0, "k1|writer:0")]}
    assert list(judged(BEFORE, shown(records=records))) == ["lost-write"]


def test_an_acknowledged_commit_that_is_missing_or_older_is_lost() -> None:
    assert list(judged(BEFORE, shown(committed={("plain", 0): 1}))) == ["lost-commit"]
    assert list(judged(BEFORE, shown(committed={}))) == ["lost-commit"]


def test_a_refused_start_a_lost_topic_and_a_refused_record_are_anomalies() -> None:
    assert list(judged(BEFORE, Shown(problem="no catalogue"))) == ["no-start"]
    assert list(judged(BEFORE, shown(topics={"plain"}))) == ["lost-topic"]
    assert list(judged(BEFORE, shown(refusals={("plain", 0): "error 56"}))) == ["refused"]


def test_a_log_start_that_moved_hides_nothing() -> None:
    starts = {**shown().starts, ("plain", 0): 2}
    assert list(judged(BEFORE, shown(starts=starts))) == ["moved-log-start"]
