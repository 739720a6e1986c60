"""Negative answers of workers, and the letters that have them."""

from __future__ import annotations

import pytest

from protocol.compression import Codec
from protocol.record_reader import Record
from protocol.record_writer import encode_batch
from protocol.records import renew_crc
from tests.broker.dead_letters import Tail
from tests.broker.kit import create, send
from tests.broker.shares import REJECT


def answering(partitions: int = 1) -> Tail:
    tail = Tail()
    create(tail.gateway.client(), "answers", partitions)
    tail.settings(kawal_share_answers_topic="answers")
    return tail


def answer(tail: Tail, headers: dict[str, str], index: int = 0) -> None:
    """Write an answer as a worker does; it is about the first record unless told otherwise."""
    told = {"topic": "jobs", "partition": "0", "offset": "0", **headers}
    pairs = tuple((f"kawal-{name}", value.encode()) for name, value in told.items())
    batch = encode_batch([Record(0, tail.gateway.now_ms, None, b"", pairs)])
    send(tail.gateway.client(), "answers", batch, index)


def reject(tail: Tail, count: int = 1) -> list[dict[str, bytes | None]]:
    """Have so many records rejected, and return the headers of their letters."""
    member = tail.member()
    tail.produce(*[b"x"] * count)
    member.fetch(tail.place)
    member.acknowledge(tail.place, (0, count - 1, [REJECT]))
    return [dict(letter.headers) for letter in tail.letters()]


def test_a_letter_has_code_and_reason_of_the_last_answer_about_its_record() -> None:
    tail = answering(partitions=2)
    answer(tail, {"code": "Early", "reason": "first try"})
    tail.gateway.advance(10)
    answer(tail, {"code": "BadInput", "reason": "no such customer"}, index=1)
    first, second = reject(tail, 2)
    assert (first["kawal-code"], first["kawal-reason"]) == (b"BadInput", b"no such customer")
    assert first["__dlq.errors.message"] == b"Offset rejected by client."
    assert "kawal-code" not in second


@pytest.mark.parametrize(
    "about", [{"topic": "other"}, {"partition": "1"}, {"offset": "7"}, {"offset": "x"}, {"group": "other"}]
)
def test_answers_about_other_records_are_not_taken(about: dict[str, str]) -> None:
    tail = answering()
    answer(tail, {"code": "1", **about})
    (letter,) = reject(tail)
    assert "kawal-code" not in letter


def test_an_answer_may_name_its_group_and_leave_out_its_reason() -> None:
    tail = answering()
    answer(tail, {"code": "1", "group": "g"})
    (letter,) = reject(tail)
    assert letter["kawal-code"] == b"1"
    assert "kawal-reason" not in letter


def test_a_topic_of_answers_that_is_missing_or_damaged_keeps_no_letter(
    caplog: pytest.LogCaptureFixture,
) -> None:
    tail = Tail()
    tail.settings(kawal_share_answers_topic="answers")
    assert len(reject(tail)) == 1
    create(tail.gateway.client(), "answers")
    broken = encode_batch([Record(0, 1, None, b"x" * 50)], codec=Codec.GZIP)
    broken[61:] = bytes(len(broken) - 61)
    renew_crc(broken)
    send(tail.gateway.client(), "answers", broken)
    member = tail.member("m2")
    tail.produce(b"y")
    member.fetch(tail.place)
    member.acknowledge(tail.place, (1, 1, [REJECT]))
    assert len(tail.letters()) == 2
    assert "cannot be read" in caplog.text
