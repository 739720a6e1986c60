"""A call is answered or dropped, once, and then has no holder any more."""

from __future__ import annotations

from typing import Any

from broker.loop.call import PARKED, Call, Parked
from broker.loop.stats import Stats
from protocol.headers import decode_request_header, encode_request_header


class Recorder:
    """A connection, as far as calls use it."""

    def __init__(self) -> None:
        self.told: list[tuple[str, Any]] = []
        self.stats = Stats()

    def answer(self, call: Call[Any], response: object) -> None:
        self.told.append(("answer", response))

    def answer_nothing(self, call: Call[Any]) -> None:
        self.told.append(("nothing", None))


def call_on(connection: Any) -> Call[Any]:
    data = encode_request_header(api_key=1, api_version=4, correlation_id=3, client_id="me")
    return Call(connection, decode_request_header(memoryview(data)), 5, len(data), False)


def test_a_reply_reaches_the_connection_and_frees_the_holder() -> None:
    connection = Recorder()
    call = call_on(connection)
    call.holder = object()
    call.reply("response")
    assert connection.told == [("answer", "response")]
    assert call.holder is None


def test_a_dropped_call_frees_its_place_and_its_holder() -> None:
    connection = Recorder()
    call = call_on(connection)
    call.holder = object()
    call.drop()
    assert connection.told == [("nothing", None)]
    assert call.holder is None


def test_a_call_is_unanswered_at_first() -> None:
    call = call_on(Recorder())
    assert (call.output, call.holder, call.data_owned) == (None, None, False)
    assert (call.api_key, call.version, call.correlation_id, call.client_id) == (1, 4, 3, "me")


def test_parked_is_no_response() -> None:
    assert isinstance(PARKED, Parked)
