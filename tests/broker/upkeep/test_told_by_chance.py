"""The topics that tell of all nodes, against what there is: random writes, deletions, deaths, lost words."""

from __future__ import annotations

import random

import pytest

from broker.upkeep.ledgers_topic import INTERVAL_MS
from broker.upkeep.own_ledgers import ledgers_here
from tests.broker.cluster import LATE, REPEATED, UNANSWERED, UNSENT
from tests.broker.upkeep.test_audit_elsewhere import Audited
from tests.broker.upkeep.test_ledgers_elsewhere import PARTITIONS, Telling

SEEDS = range(12)
MISHAPS = (UNSENT, UNANSWERED, REPEATED, LATE, "")


def there(cluster: Telling) -> dict[tuple[int, int], int | None]:
    """Return the end of each ledger that there is, by partition and its id."""
    found: dict[tuple[int, int], int | None] = {}
    for node in cluster:
        topic = node.broker.catalogue.by_name["t"]
        for index in range(PARTITIONS):
            ledgers = ledgers_here(node.broker.vnodes, topic, index)
            for span in ledgers.spans() if ledgers is not None else ():
                found[index, span.ledger_id] = span.end_offset
    return found


def end_of(cluster: Telling, index: int) -> int:
    """Return the end of a partition."""
    node = cluster[cluster.leader_of("t", index)]
    return node.broker.topics.partition(node.broker.catalogue.by_name["t"], index).high_watermark


def agree(cluster: Telling) -> None:
    """Wait until all nodes know the topic of this moment, whatever is lost meanwhile."""
    for _ in range(50):
        known = {node.broker.catalogue.by_name.get("t") for node in cluster}
        if len({topic and topic.topic_id for topic in known}) == 1:
            return
        cluster.advance(200)
    raise AssertionError("a node does not follow the catalogue")


def act(cluster: Telling, chance: random.Random) -> None:
    """Do something that the topic is to tell of, or that keeps it from doing so."""
    index, number = chance.randrange(PARTITIONS), chance.randrange(2)
    agree(cluster)
    match chance.randrange(8):
        case 0 | 1 | 2:
            cluster.write(*[index] * chance.randint(1, 3))
        case 3:
            cluster.delete_up_to(chance.randint(0, end_of(cluster, index)), index)
        case 4:
            cluster.kill(number)
            # Without the controller no topic is made or deleted: it is back at once.
            cluster.advance(chance.choice((0, 700, INTERVAL_MS)) if number else 0)
            cluster.begin_again(number)
        case 5:
            cluster.delete()
            cluster.make()
        case 6:
            cluster.mishaps += chance.choices(MISHAPS, k=4)
        case _:
            cluster.advance(chance.choice((100, INTERVAL_MS, 2 * INTERVAL_MS)))


@pytest.mark.parametrize("own_directories", [False, True], ids=["workers", "machines"])
@pytest.mark.parametrize("seed", SEEDS)
def test_in_the_end_the_ledgers_that_are_told_are_those_that_there_are(
    seed: int, own_directories: bool
) -> None:
    chance = random.Random(seed)
    cluster = Telling(own_directories=own_directories)
    cluster.pass_some(1)
    for _ in range(40):
        act(cluster, chance)
    cluster.mishaps.clear()
    cluster.deliver_late()
    cluster.pass_some(8)
    told = {(row["partition"], row["ledger"]): row["end_offset"] for row in cluster.newest().values()}
    assert told == there(cluster), f"seed {seed}"


@pytest.mark.parametrize("seed", SEEDS)
def test_no_event_is_told_twice_and_none_of_a_node_that_lives_is_left_out(seed: int) -> None:
    chance = random.Random(seed)
    cluster = Audited(3)
    cluster.record(0, "first")
    cluster.advance(1_000)
    lives: list[list[str]] = [[] for _ in range(3)]
    ended: list[list[str]] = []
    for number in range(60):
        node = chance.randrange(3)
        match chance.randrange(6):
            case 0:
                cluster.kill(node)
                ended.append(lives[node])
                lives[node] = []
                cluster.advance(chance.choice((0, 300, 3_000)))
                cluster.begin_again(node)
            case 1:
                cluster.mishaps += chance.choices(MISHAPS, k=3)
            case 2:
                cluster.advance(chance.choice((50, 500, 2_000)))
            case _:
                lives[node].append(f"{number}")
                cluster.record(node, f"{number}")
    cluster.mishaps.clear()
    cluster.deliver_late()
    for _ in range(20):
        cluster.advance(500)

    told = cluster.told("topic.created", "first", "audit.repeats")
    assert len(told) == len(set(told)), f"seed {seed}: an event is told twice"
    for life in lives:
        assert [name for name in told if name in life] == life, f"seed {seed}: of a node that lives"
    for life in ended:
        kept = [name for name in told if name in life]
        assert kept == life[: len(kept)], f"seed {seed}: what is lost is the end"
