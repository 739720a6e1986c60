"""A connection: answers leave in request order, memory is bounded, and nothing outlives the client."""

from __future__ import annotations

import struct

import pytest

from broker.loop.stats import Cause
from protocol.errors import Malformed
from tests.broker.connections.links import ANSWER, connection, opened
from tests.broker.gateway import take_outgoing


def correlation_ids(data: bytes) -> list[int]:
    found, position = [], 0
    while position < len(data):
        size, correlation_id = struct.unpack_from(">ii", data, position)
        found.append(correlation_id)
        position += 4 + size
    return found


def test_answers_leave_in_request_order_when_a_later_one_is_ready_first() -> None:
    link = connection()
    calls = [opened(link, number) for number in range(4)]
    for number in (2, 1):
        calls[number].reply(ANSWER)
        assert not link.outgoing
    calls[0].reply(ANSWER)
    assert correlation_ids(take_outgoing(link)) == [0, 1, 2]
    calls[3].reply(ANSWER)
    assert correlation_ids(take_outgoing(link)) == [3]


def test_a_call_without_an_answer_takes_no_place() -> None:
    link = connection()
    first, second, third = (opened(link, number) for number in range(3))
    second.drop()
    third.reply(ANSWER)
    first.reply(ANSWER)
    assert correlation_ids(take_outgoing(link)) == [0, 2]


def test_a_call_is_answered_once() -> None:
    link = connection()
    call = opened(link, 1)
    call.reply(ANSWER)
    with pytest.raises(AssertionError, match="once"):
        call.reply(ANSWER)
    with pytest.raises(AssertionError, match="once"):
        call.drop()


def test_it_is_listed_once_however_many_answers_it_has() -> None:
    link = connection()
    for number in range(3):
        opened(link, number).reply(ANSWER)
    link.close("enough")
    assert link.unsent == [link]


def test_a_partly_sent_buffer_stays_until_its_last_byte_has_left() -> None:
    link = connection()
    opened(link, 1).reply(ANSWER)
    size = link.outgoing_bytes
    for _ in range(size - 1):
        link.sent(1)
        assert len(link.outgoing) == 1
    assert link.head_sent == size - 1
    link.sent(1)
    assert (link.head_sent, len(link.outgoing)) == (0, 0)


def test_more_cannot_be_sent_than_there_was() -> None:
    link = connection()
    opened(link, 1).reply(ANSWER)
    with pytest.raises(AssertionError, match="more was sent"):
        link.sent(link.outgoing_bytes + 1)


def test_the_first_reason_to_close_is_the_one_that_counts() -> None:
    link = connection()
    link.close("first", Cause.ACKS_NONE)
    link.close("second")
    assert (link.close_reason, link.close_cause) == ("first", Cause.ACKS_NONE)


def test_answers_given_before_the_close_are_still_sent() -> None:
    link = connection()
    opened(link, 1).reply(ANSWER)
    link.close("bad bytes")
    assert correlation_ids(take_outgoing(link)) == [1]


def test_an_aborted_connection_sends_nothing_more() -> None:
    link = connection()
    first, second = opened(link, 1), opened(link, 2)
    first.reply(ANSWER)
    link.abort("too slow", Cause.WRITE_TIMEOUT)
    second.reply(ANSWER)
    assert (len(link.outgoing), link.outgoing_bytes, link.memory.answers_bytes) == (0, 0, 0)


def test_a_lost_client_is_told_nothing_and_its_waits_are_withdrawn() -> None:
    class Keeper:
        cancelled: list[object] = []  # noqa: RUF012

        def cancel(self, call: object) -> None:
            self.cancelled.append(call)

    link = connection()
    answered, parked, running = (opened(link, number) for number in range(3))
    parked.holder = Keeper()
    answered.reply(ANSWER)
    link.lost()
    assert Keeper.cancelled == [parked]
    running.reply(ANSWER)
    parked.reply(ANSWER)
    assert (len(link.outgoing), len(link.calls)) == (0, 0)
    assert (link.memory.requests_bytes, link.memory.answers_bytes) == (0, 0)


def test_a_frame_too_short_for_a_header_is_malformed() -> None:
    link = connection()
    with pytest.raises(Malformed):
        link.open_call(memoryview(b"\0\1\0\0\0"), data_owned=True, now_ms=0)
    assert not link.calls


@pytest.mark.parametrize(
    ("peer", "host"),
    [("10.0.0.9:5000", "10.0.0.9"), ("[::1]:5000", "::1"), ("fe80::1%eth0:9", "fe80::1%eth0")],
)
def test_the_host_is_the_peer_without_its_port(peer: str, host: str) -> None:
    link = connection()
    link.peer = peer
    assert link.host == host
