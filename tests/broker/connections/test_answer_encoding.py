"""An answer is one buffer with its size and header, and payloads of their own."""

from __future__ import annotations

import struct
from typing import Any

from broker.connections.answer_encoding import COPIED_BYTES_MAX, encode_answer, part_size_bytes
from protocol.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from tests.broker.gateway import Gateway, request_frame


def test_size_and_header_share_a_buffer_with_the_body(gateway: Gateway) -> None:
    connection = gateway.client().connection
    data = request_frame(FindCoordinatorRequest(key="g"), 1, 77)[4:]
    call, _ = connection.open_call(memoryview(data), data_owned=True, now_ms=7)
    (part,) = encode_answer(call, FindCoordinatorResponse(node_id=1, host="h", port=2))
    size, correlation_id = struct.unpack_from(">ii", part)
    assert (size, correlation_id) == (len(part) - 4, 77)
    assert part_size_bytes(part) == len(part)


def test_a_large_body_is_not_copied_behind_its_header(gateway: Gateway) -> None:
    connection = gateway.client().connection
    data = request_frame(FindCoordinatorRequest(key="g"), 1, 77)[4:]
    call, _ = connection.open_call(memoryview(data), data_owned=True, now_ms=7)
    coordinators = [Coordinator(key="k" * 1_000, node_id=1, host="h", port=2) for _ in range(300)]
    call.version = 4
    head, body = encode_answer(call, FindCoordinatorResponse(coordinators=coordinators))
    assert len(body) > COPIED_BYTES_MAX
    size, correlation_id = struct.unpack_from(">ii", head)
    assert (size, correlation_id) == (len(head) - 4 + len(body), 77)


def test_a_file_range_has_the_size_that_it_puts_on_the_wire() -> None:
    class Range:
        size_bytes = 12

    part: Any = Range()
    assert [part_size_bytes(part), part_size_bytes(memoryview(b"abc"))] == [12, 3]
