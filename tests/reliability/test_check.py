"""Each anomaly of a history is found, and a good history has none."""

from __future__ import annotations

from typing import Any

import pytest

from reliability.check import FINAL, TRANSACTION_TIMEOUT_MS, Check
from reliability.history import Op

KEY = "plain-0"
FINAL_READER = f"{FINAL}-{KEY}"


def sent(value: str, offset: int = -1, type_: str = "ok", *, key: str = KEY, process: str = "w") -> list[Op]:
    return [
        Op(process, "send", "invoke", key=key, value=value),
        Op(process, "send", type_, key=key, value=value, offset=offset),
    ]


def polled(*records: tuple[int, str], process: str = FINAL_READER, key: str = KEY) -> Op:
    return Op(process, "poll", "ok", records=tuple((key, offset, value) for offset, value in records))


def found(*ops: Op | list[Op], starts: dict[str, int] | None = None, **settings: Any) -> dict[str, int]:
    flat = [op for each in ops for op in (each if isinstance(each, list) else [each])]
    return Check(flat, log_starts=starts or {}, **settings).summary()


GOOD = [*sent("a|w:0", 0), *sent("b|w:1", 2), polled((0, "a|w:0"), (2, "b|w:1"))]


def test_a_history_in_which_everything_was_read_again_has_no_anomaly() -> None:
    assert found(GOOD) == {}


def test_a_send_without_an_answer_may_or_may_not_have_happened() -> None:
    assert found(sent("a|w:0", type_="info")) == {}
    assert found(sent("a|w:0", type_="info"), polled((0, "a|w:0"))) == {}


def test_what_was_acknowledged_and_is_not_there_at_the_end_is_lost() -> None:
    assert found(sent("a|w:0", 0), sent("b|w:1", 1), polled((0, "a|w:0"))) == {"lost-write": 1}


def test_what_was_read_once_and_is_not_there_at_the_end_is_lost_though_never_acknowledged() -> None:
    history = [*sent("a|w:0", type_="info"), polled((0, "a|w:0"), process="r")]
    assert found(history, sent("b|w:1", 1), polled((1, "b|w:1"))) == {"lost-write": 1}


def test_what_lies_below_the_log_start_is_not_lost() -> None:
    assert found(sent("a|w:0", 0), sent("b|w:1", 1), polled((1, "b|w:1")), starts={KEY: 1}) == {}


def test_a_compacted_partition_keeps_the_newest_value_of_every_key() -> None:
    history = [*sent("a|w:0", 0), *sent("b|w:1", 1), *sent("a|w:2", 2)]
    good, bad = polled((1, "b|w:1"), (2, "a|w:2")), polled((0, "a|w:0"), (1, "b|w:1"))
    assert found(history, good, compacted=frozenset([KEY])) == {}
    assert found(history, bad, compacted=frozenset([KEY])) == {"lost-write": 1}


def test_a_value_at_two_offsets_is_a_duplicate() -> None:
    assert found(sent("a|w:0", 0), polled((0, "a|w:0"), (1, "a|w:0"))) == {"duplicate": 1}


def test_two_values_at_one_offset_are_inconsistent() -> None:
    history = [*sent("a|w:0", 0), *sent("b|w:1", type_="info"), polled((0, "b|w:1"))]
    assert found(history)["inconsistent-offsets"] == 1


def test_a_value_whose_send_failed_must_not_be_read() -> None:
    assert found(sent("a|w:0", type_="fail"), polled((0, "a|w:0"))) == {"G1a": 1}


def test_a_value_that_no_client_sent_must_not_be_read() -> None:
    assert found(polled((0, "a|w:0"))) == {"unsent-read": 1}


@pytest.mark.parametrize(
    ("polls", "name"),
    [
        ([polled((1, "b|w:1"), process="r"), polled((0, "a|w:0"), process="r")], "nonmonotonic-poll"),
        ([polled((1, "b|w:1"), (0, "a|w:0"), process="r")], "int-nonmonotonic-poll"),
        ([polled((0, "a|w:0"), process="r"), polled((2, "c|w:2"), process="r")], "poll-skip"),
        ([polled((0, "a|w:0"), (2, "c|w:2"), process="r")], "int-poll-skip"),
    ],
)
def test_a_reader_goes_neither_back_nor_over_a_value(polls: list[Op], name: str) -> None:
    history = [*sent("a|w:0", 0), *sent("b|w:1", 1), *sent("c|w:2", 2)]
    last = polled((0, "a|w:0"), (1, "b|w:1"), (2, "c|w:2"))
    assert found(history, *polls, last) == {name: 1}


def test_a_reader_that_assigned_again_may_begin_anywhere() -> None:
    again = [polled((2, "b|w:1"), process="r"), Op("r", "assign", "ok"), polled((0, "a|w:0"), process="r")]
    assert found(GOOD, again) == {}


def test_gaps_without_a_known_value_are_no_skips() -> None:
    assert found(GOOD, polled((0, "a|w:0"), (2, "b|w:1"), process="r")) == {}


def test_acknowledgements_come_in_the_order_of_sends() -> None:
    history = [*sent("a|w:0", 5), *sent("b|w:1", 4), polled((4, "b|w:1"), (5, "a|w:0"))]
    assert found(history) == {"nonmonotonic-send": 1}


def test_a_committed_offset_is_one_that_was_sent_and_none_below_the_acknowledged_one() -> None:
    history = [
        Op("g", "commit", "invoke", key=KEY, offset=3),
        Op("g", "commit", "ok", key=KEY, offset=3),
        Op("g", "commit", "invoke", key=KEY, offset=7),
    ]
    for offset, anomalies in ((2, 1), (3, 0), (7, 0), (8, 1)):
        committed = Op("g", "committed", "ok", key=KEY, offset=offset)
        assert found([*history, committed]).get("lost-commit", 0) == anomalies


def txn(type_: str, *values: str, key: str = KEY) -> Op:
    return Op("t", "txn", type_, records=tuple((key, -1, value) for value in values))


@pytest.mark.parametrize(("outcome", "read", "anomalies"), [
    ("ok", ("a", "b"), {}),
    ("ok", ("a",), {"torn-transaction": 1}),
    ("ok", (), {"torn-transaction": 1}),
    ("info", ("a", "b"), {}),
    ("info", (), {}),
    ("info", ("b",), {"torn-transaction": 1}),
    ("fail", (), {}),
])  # fmt: skip
def test_of_a_transaction_all_can_be_read_or_nothing(
    outcome: str, read: tuple[str, ...], anomalies: dict[str, int]
) -> None:
    # Without offsets, as if the answers with them had been lost.
    sends = [sent(value, type_="fail" if outcome == "fail" else "info") for value in ("a", "b")]
    last = polled(*enumerate(read))
    assert found(*sends, txn(outcome, "a", "b"), last) == anomalies


def test_a_part_of_a_transaction_that_compaction_or_retention_removed_is_not_missed() -> None:
    history = [*sent("a", type_="info"), *sent("b", type_="info"), txn("ok", "a", "b"), polled((1, "b"))]
    assert found(history, compacted=frozenset([KEY])) == {}
    assert found(history, starts={KEY: 1}) == {}


def replaced(code: str, open_ms: int) -> Op:
    return Op("tx", "replaced", "info", value=code, offset=open_ms)


@pytest.mark.parametrize("code", ["_FENCED", "INVALID_TXN_STATE"])
def test_a_producer_whose_transaction_is_in_time_must_not_be_refused(code: str) -> None:
    early, late = replaced(code, TRANSACTION_TIMEOUT_MS - 1), replaced(code, TRANSACTION_TIMEOUT_MS)
    assert found([early]) == {"refused-in-time": 1}
    assert found([late, replaced("", 1), replaced("_TIMED_OUT", 1)]) == {}


def test_where_a_clock_jumped_nothing_tells_what_is_in_time() -> None:
    assert found([Op("server", "clock", "info"), replaced("_FENCED", 1)]) == {}
