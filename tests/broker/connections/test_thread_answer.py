"""The thread's part of a wide answer: encoded as on the loop, counted, and nothing of it kept."""

from __future__ import annotations

from typing import Any

from broker.connections.answer_encoding import encode_answer
from broker.connections.thread_answer import ThreadAnswer
from broker.loop.call import Call
from protocol.api_keys import ApiKey
from protocol.headers import RequestHeader
from protocol.messages.delete_topics import DeletableTopicResult, DeleteTopicsRequest, DeleteTopicsResponse
from tests.broker.connections.links import connection


def response() -> DeleteTopicsResponse:
    codes = (3, 0, 3, 17)
    return DeleteTopicsResponse(
        responses=[
            DeletableTopicResult(name=f"t{number}", error_code=code) for number, code in enumerate(codes)
        ]
    )


def call_of(request: Any) -> Call[Any]:
    header = RequestHeader(
        api_key=ApiKey.DELETE_TOPICS, api_version=4, correlation_id=7, client_id="c", size_bytes=20
    )
    call: Call[Any] = Call(connection(), header, 0, 100, True)
    call.request = request
    return call


def test_the_answer_is_encoded_and_its_errors_are_counted() -> None:
    call = call_of(DeleteTopicsRequest(topic_names=["t"], timeout_ms=0))
    work = ThreadAnswer(call, response())
    work.encode()
    assert b"".join(work.output) == b"".join(encode_answer(call, response()))
    assert call.errors == [3, 3, 17]
    assert work.error_counts == {3: 2, 17: 1}


def test_nothing_of_the_request_is_kept() -> None:
    call = call_of(DeleteTopicsRequest(topic_names=["t"], timeout_ms=0))
    ThreadAnswer(call, response()).encode()
    assert call.request is None
