"""Asking the controller in the name of a client, on a node that follows it.

A request that changes the catalogue goes to the controller in an envelope; its answer is passed on once this
node knows of the change: clients read what they have written.
Source: KIP-590; Kafka's ForwardingManager.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, Final, Protocol

from broker.catalogue.followed_log import FollowedLog
from broker.catalogue.metadata import Metadata
from broker.connections.answer_encoding import is_wide
from broker.connections.envelopes import (
    VERSION,
    VERSION_TAG,
    WAIT,
    WAIT_TAG,
    Sender,
    address_bytes,
    principal_bytes,
    tags_of,
)
from broker.loop.call import Call
from broker.loop.latch import Latch
from broker.loop.loop import Loop
from broker.loop.muting import mute
from broker.loop.slices import Until, in_thread
from protocol.error_codes import ErrorCode
from protocol.headers import decode_response_header, encode_request_header
from protocol.messages import response_type
from protocol.wire import decode, encode

DECODED_HERE_BYTES_MAX: Final = 16 << 10
"""An answer with more bytes is decoded in a thread: it may take 10 ms for each 64 KiB."""

LONGEST_MS: Final = 30_000
"""How long the controller's answer is waited for at most, as in Kafka (request.timeout.ms of its brokers)."""


class Node(Metadata, Loop, Protocol):
    """A node that asks."""


def ask(node: Node, call: Call[Any], request: Any, api_key: int, version: int) -> Generator[Until, None, Any]:
    """Have the controller answer a request in the name of a call's client.

    Return the response, or the error as `ask_bytes`.
    """
    data = yield from ask_bytes(node, call, request, api_key, version)
    if isinstance(data, ErrorCode):
        return data
    return (yield from response_in(node, data, api_key, version))


def response_in(node: Node, data: memoryview, api_key: int, version: int) -> Generator[Until, None, Any]:
    """Return the response that the answer to an envelope holds."""

    def decoded() -> Any:
        _, position = decode_response_header(api_key, version, data)
        response, _ = decode(response_type(api_key), version, data, position)
        return response

    if len(data) <= DECODED_HERE_BYTES_MAX:
        return decoded()
    return (yield from in_thread(node.scheduler.offload, decoded))


def _timeout_ms(request: Any) -> int:
    asked: int = getattr(request, "timeout_ms", LONGEST_MS)
    return min(asked, LONGEST_MS) if asked > 0 else LONGEST_MS


def ask_bytes(
    node: Node, call: Call[Any], request: Any, api_key: int, version: int
) -> Generator[Until, None, memoryview | ErrorCode]:
    """Return the bytes of the controller's answer once this node knows what has changed, or the error:

    NOT_CONTROLLER, REQUEST_TIMED_OUT or, if the controller would close the connection, UNKNOWN_SERVER_ERROR.
    """
    until_ms = call.received_ms + _timeout_ms(request)
    answers: Latch[Any] = Latch()
    envelope = yield from envelope_of(node, call, request, api_key, version)
    node.nodes.peers.call(node.nodes.controller_id, envelope, 0, answers.set)
    found = yield from answers.wait(node.timers, until_ms)
    if not found:
        return ErrorCode.REQUEST_TIMED_OUT
    answer = found[0]
    if answer is None or answer.error_code == ErrorCode.NOT_CONTROLLER:
        return ErrorCode.NOT_CONTROLLER
    if answer.error_code:
        return ErrorCode.UNKNOWN_SERVER_ERROR
    (wait_ms,) = WAIT.unpack(answer.unknown_tags[WAIT_TAG])
    if wait_ms:
        # Source: KafkaApis.sendForwardedResponse, which throttles by the time of the controller's answer.
        mute(call.connection, node.clock.turn_ms + wait_ms, node.timers)
    (version,) = VERSION.unpack(answer.unknown_tags[VERSION_TAG])
    yield from known_here(node, version, until_ms)
    return memoryview(bytes(answer.response_data))


def envelope_of(
    node: Node, call: Call[Any], request: Any, api_key: int, version: int
) -> Generator[Until, None, Any]:
    """Return the envelope in which another node gets a request of a call's client."""
    from protocol.messages.envelope import EnvelopeRequest

    connection = call.connection
    login = connection.login
    controller = node.nodes.node_at(node.nodes.controller_id, connection)
    sender = Sender(
        principal=connection.principal,
        by_token=login is not None and login.by_token,
        host=connection.host,
        listener=connection.listener,
        controller=connection.advertised if controller is None else (controller.host, controller.port),
    )
    header = encode_request_header(
        api_key=api_key, api_version=version, correlation_id=call.correlation_id, client_id=call.client_id
    )

    def encoded() -> bytes:
        return b"".join((header, *encode(request, version)))  # type: ignore[arg-type]

    offload = node.scheduler.offload
    envelope: Any = EnvelopeRequest(
        request_data=(yield from in_thread(offload, encoded)) if is_wide(request) else encoded(),
        request_principal=principal_bytes(sender),
        client_host_address=address_bytes(sender.host),
    )
    envelope.unknown_tags = tags_of(sender)
    return envelope


def known_here(node: Node, version: int, until_ms: int) -> Generator[Until, None, bool]:
    """Wait until this node knows the catalogue up to a version of another; return whether it does in time."""
    log = node.metadata_log
    if not isinstance(log, FollowedLog):
        return True  # the controller's own
    known: Latch[None] = Latch()
    log.when_reached(version, lambda: known.set(None))
    return bool((yield from known.wait(node.timers, until_ms)))
