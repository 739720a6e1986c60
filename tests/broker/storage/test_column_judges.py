"""Judges of declared columns are compiled once, as long as there is room for them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from broker.storage.column_judges import LEAST, ColumnJudges
from protocol.record_reader import Record


def columns(name: str, count: int = 1) -> str:
    return ", ".join(f"{name}{number} bigint" for number in range(count))


def test_columns_are_compiled_once() -> None:
    judges = ColumnJudges()
    assert judges.of(columns("a")) is judges.of(columns("a"))
    assert judges.of(columns("b")) is not judges.of(columns("a"))


def test_a_judge_tells_what_does_not_fit() -> None:
    records = [Record(0, 0, None, b'{"a0":1}', ()), Record(1, 0, None, b'{"a0":"x"}', ())]
    assert [at for at, _ in ColumnJudges().of(columns("a")).misfits(records)] == [1]


def test_without_room_those_used_longest_ago_are_compiled_again() -> None:
    judges = ColumnJudges(characters_max=3 * LEAST)
    first, second, _ = (judges.of(columns(name)) for name in "abc")
    assert judges.of(columns("a")) is first
    judges.of(columns("d"))
    assert len(judges) == 3
    assert judges.of(columns("a")) is first
    assert judges.of(columns("b")) is not second


def test_columns_that_are_longer_than_all_room_are_kept_until_others_come() -> None:
    judges = ColumnJudges(characters_max=2 * LEAST)
    long = columns("long", LEAST)
    assert judges.of(long) is judges.of(long)
    for name in "ab":
        judges.of(columns(name))
    assert len(judges) == 2


def test_columns_that_threads_ask_for_at_once_take_their_room_once() -> None:
    judges = ColumnJudges(characters_max=3 * LEAST)
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(judges.of, [columns("a")] * 50))
    for name in "bc":
        judges.of(columns(name))
    assert len(judges) == 3
