"""Requests that change the catalogue, on a node that is not the controller: they are sent there.

    request --envelope--> controller: gate, handler --answer--> here, once the change is known --> client

If the controller is away, the answer has NOT_CONTROLLER for each thing that was to be changed: clients look
for the controller anew, and try again.  If it does not answer in time, it has REQUEST_TIMED_OUT.  In both
cases the change may have been made.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, Final

from broker.catalogue.asking import Node, ask, ask_bytes
from broker.loop.answers import EncodedAnswer
from broker.loop.call import Call
from broker.loop.slices import Until
from broker.requests.refusals import refusal
from protocol.error_codes import ErrorCode
from protocol.headers import decode_response_header

AWAY: Final = "The controller cannot be reached; try again. The change may have been made."
LATE: Final = "The controller has not answered in time. The change may have been made."


def forward(node: Node, call: Call[Any]) -> Generator[Until, None, Any]:
    """Have the controller answer a call, and return the answer, which was counted and audited there."""
    data = yield from ask_bytes(node, call, call.request, call.api_key, call.version)
    if isinstance(data, ErrorCode):
        return _refused(call, call.request, data)
    _, position = decode_response_header(call.api_key, call.version, data)
    return EncodedAnswer([data[position:]])


def forward_part(node: Node, call: Call[Any], part: Any) -> Generator[Until, None, Any]:
    """Have the controller answer a part of a call's request, and return the response."""
    response = yield from ask(node, call, part, call.api_key, call.version)
    return _refused(call, part, response) if isinstance(response, ErrorCode) else response


def _refused(call: Call[Any], request: Any, code: ErrorCode) -> object:
    return refusal(call.api_key, request, code, LATE if code == ErrorCode.REQUEST_TIMED_OUT else AWAY)
