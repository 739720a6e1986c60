"""A request counts when the last byte of its answer has left, or its connection has ended."""

from __future__ import annotations

from typing import Any

import pytest

from broker.connections.departures import Departures
from broker.loop.call import Call
from broker.loop.stats import Stats
from protocol.headers import decode_request_header, encode_request_header


class Link:
    """A connection, as far as a call needs it to be made."""

    def __init__(self) -> None:
        self.now_ns = 0
        self.stats = Stats(lambda: self.now_ns)

    def call(self) -> Call[Any]:
        data = encode_request_header(api_key=3, api_version=9, correlation_id=1, client_id=None)
        connection: Any = self
        return Call(connection, decode_request_header(memoryview(data)), 0, len(data), False)

    @property
    def counted(self) -> int:
        found = self.stats.requests.get(3 << 16 | 9)
        return 0 if found is None else found.count


@pytest.fixture
def link() -> Link:
    return Link()


def test_an_answer_counts_when_its_last_byte_has_left(link: Link) -> None:
    departures = Departures(link.stats)
    departures.add(link.call(), size_bytes=10, unsent_bytes=10, now_ns=5)
    departures.add(link.call(), size_bytes=20, unsent_bytes=30, now_ns=6)
    departures.sent(9)
    assert link.counted == 0
    link.now_ns = 15
    departures.sent(1)
    assert link.counted == 1
    departures.add(link.call(), size_bytes=1, unsent_bytes=21, now_ns=16)
    link.now_ns = 26
    departures.sent(21)
    assert link.counted == 3
    send = link.stats.apis[3].phases()["send"]
    assert (send.count, send.total) == (3, 10 + 20 + 10)
    assert link.stats.apis[3].response_bytes == 31


def test_a_request_without_an_answer_counts_at_once(link: Link) -> None:
    departures = Departures(link.stats)
    departures.add(link.call(), size_bytes=0, unsent_bytes=7, now_ns=5)
    assert link.counted == 1


def test_answers_of_a_lost_connection_count_once(link: Link) -> None:
    departures = Departures(link.stats)
    departures.add(link.call(), size_bytes=10, unsent_bytes=10, now_ns=5)
    departures.add(link.call(), size_bytes=10, unsent_bytes=20, now_ns=5)
    departures.sent(10)
    departures.lost()
    departures.lost()
    assert link.counted == 2


def test_a_call_on_its_way_out_keeps_no_request(link: Link) -> None:
    call = link.call()
    call.request = b"large"
    Departures(link.stats).add(call, size_bytes=10, unsent_bytes=10, now_ns=5)
    assert call.request is None
