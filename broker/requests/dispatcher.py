"""The way of a request from its bytes to its handler: version check, decoding, the gate, the answer.

request bytes --decode--> Call --gate--> handler --> response        encoded and sent
                                                 --> PARKED          its keeper answers later
                                                 --> generator       the scheduler runs its slices
                                                 --> an exception    our own bug: its connection ends
"""

from __future__ import annotations

import logging
import sys
from functools import partial
from types import GeneratorType
from typing import Any, Final

from broker.connections.memory_limits import HEAVY_FRAME_BYTES
from broker.connections.message_codecs import NARROW_ELEMENTS
from broker.connections.message_weight import message_weight
from broker.handlers import APIS, Api
from broker.loop.call import PARKED, Call
from broker.loop.internal_errors import ErrorPlace
from broker.loop.loop import Loop
from broker.loop.slices import WaitingSteps, in_thread
from broker.loop.stats import Cause
from broker.requests.gate import Checks, Gate, GateClosed, Held, Refused, WriteGate
from broker.requests.repeated_produce import RepeatedProduces
from protocol.api_keys import ApiKey
from protocol.errors import ProtocolError, TooManyElements, UnsupportedVersion
from protocol.schema import declaration
from protocol.wire import decode, decode_narrow

logger = logging.getLogger("kawal.broker")

WIDE_FRAME_BYTES: Final = 4 << 10
"""Frames below this size are decoded on the event loop, whatever they hold: in 4 ms at most."""

SLOW_FRAME_BYTES: Final = 1 << 10
"""The same for messages whose codecs are not generated, and take ten times as long."""

COPIED_FRAME_BYTES: Final = 1 << 20
"""Larger ones, but for Produce, whose records are not copied, are decoded by a thread: a field of 15 MiB
takes 40 ms with the first touch of its pages."""

LONG_FRAME_BYTES: Final[dict[int, int]] = {ApiKey.PRODUCE: sys.maxsize, ApiKey.JOIN_GROUP: 16 << 10}
"""The same for some APIs: records are not copied, and what members say of themselves is read there, too."""

LISTS: Final = frozenset(
    {
        ApiKey.CONSUMER_GROUP_DESCRIBE,
        ApiKey.DESCRIBE_ACLS,
        ApiKey.DESCRIBE_CLIENT_QUOTAS,
        ApiKey.DESCRIBE_DELEGATION_TOKEN,
        ApiKey.DESCRIBE_GROUPS,
        ApiKey.DESCRIBE_LOG_DIRS,
        ApiKey.DESCRIBE_TRANSACTIONS,
        ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS,
        ApiKey.ELECT_LEADERS,
        ApiKey.LIST_CONFIG_RESOURCES,
        ApiKey.LIST_GROUPS,
        ApiKey.LIST_TRANSACTIONS,
        ApiKey.SHARE_GROUP_DESCRIBE,
    }
)
"""The APIs that list what exists, however small the request: long answers are made one after another."""


class Dispatcher:
    """The dispatcher of requests to the handlers of their APIs."""

    def __init__(self, broker: Any, loop: Loop, gate: Gate) -> None:
        """`broker` is the first argument of every handler."""
        self._broker = broker
        self._loop = loop
        self._gate = gate
        self._repeats = RepeatedProduces(broker, loop, gate) if isinstance(gate, WriteGate) else None

    def serve(self, call: Call[Any], data: memoryview, position: int) -> None:
        """Decode the request whose body begins at `position` of the data, and have it answered.

        Raises: ProtocolError, when the bytes are not a request that is served.
        """
        api = APIS.get(call.api_key)
        if api is None or not (api.minimum <= call.version <= api.maximum or _is_for_nodes(api, call)):
            if call.api_key != ApiKey.API_VERSIONS:
                raise UnsupportedVersion(call.api_key, call.version)
            self._list_versions(call)
            return
        if call.version not in api.ready:
            self._serve_from_thread(api, call, data, position)
            return
        if len(data) >= LONG_FRAME_BYTES.get(call.api_key, COPIED_FRAME_BYTES):
            self._serve_from_thread(api, call, data, position)
            return
        request_type = api.request_type()
        try:
            if len(data) < SLOW_FRAME_BYTES or (
                len(data) < WIDE_FRAME_BYTES and declaration(request_type).hot
            ):
                call.request, _ = decode(request_type, call.version, data, position)
            else:
                call.request, _ = decode_narrow(request_type, call.version, data, position, NARROW_ELEMENTS)
        except TooManyElements:
            self._serve_from_thread(api, call, data, position)
            return
        self._decoded(api, call, data, position, message_weight(call.request, len(data)))

    def _list_versions(self, call: Call[Any]) -> None:
        """Answer ApiVersions of a version that is not served with those to choose from, in v0 (KIP-511)."""
        call.version = 0
        if call.connection.login is not None:
            call.connection.login.versions_refused()
        api = APIS[ApiKey.API_VERSIONS]
        if call.version in api.ready:
            call.reply(api.function("unsupported")(self._broker))
        else:
            call.request = None  # it cannot be decoded
            call.connection.begin_work(call)
            self._loop.scheduler.begin(call, self._versions_loaded(api))

    def _versions_loaded(self, api: Api) -> WaitingSteps:
        yield from in_thread(self._loop.scheduler.offload, partial(api.load, (0,)))
        return api.function("unsupported")(self._broker)

    @property
    def repeats(self) -> RepeatedProduces | None:
        """The Produce requests that may be repeated; None while a feature is turned off."""
        return None if self._broker.catalogue.feature_levels else self._repeats

    def _serve_from_thread(self, api: Api, call: Call[Any], data: memoryview, position: int) -> None:
        """Have a thread import what the first request of an API needs, and decode a wide one.

        Later requests of the connection wait for it.  Heavy requests are decoded and weighed one by one:
        otherwise several of them would be in memory before it is known how much they take.
        """
        connection = call.connection
        if not call.data_owned:
            data, call.data_owned = memoryview(bytearray(data)), True
        refused: list[ProtocolError] = []
        weighed: list[int] = []

        def prepare() -> None:
            api.load((call.version,))
            try:
                call.request, _ = decode(api.request_type(), call.version, data, position)
                weighed.append(message_weight(call.request, len(data)))
                api.prepare(call.request)
            except ProtocolError as error:
                # What was decoded until then is freed here.
                refused.append(error.with_traceback(None))

        def prepared(error: Exception | None) -> None:
            if connection.closed or not weighed:
                connection.parked()
            if connection.closed:
                return
            turns = connection.stats.turns
            before = turns.enter(call)
            connection.decoded(call)
            try:
                if error is not None:
                    raise error
                if refused:
                    raise refused[0]
                self._decoded(api, call, data, position, weighed[0])
            except ProtocolError as wrong:
                logger.info("connection %d from %s closed: %s", connection.identity, connection.peer, wrong)
                connection.close(str(wrong), Cause.PROTOCOL)
            except Exception as fault:  # noqa: BLE001  (it ends the connection)
                self.failed(call, fault)
            turns.leave(before)

        connection.begin_work(call)
        if len(data) < HEAVY_FRAME_BYTES:
            self._loop.scheduler.offload(prepare, prepared)
        else:
            begin = partial(self._loop.scheduler.offload, prepare, prepared)
            connection.decode_heavy(begin)

    def _decoded(self, api: Api, call: Call[Any], data: memoryview, position: int, weight_bytes: int) -> None:
        connection = call.connection
        if call.api_key == ApiKey.PRODUCE and (repeats := self.repeats) is not None:
            repeats.learn(call, data, position, weight_bytes)
        connection.weigh(call, call.weight_bytes + weight_bytes)
        connection.decoded_heavy()
        if self.admit(api, call, call.received_ms) and not call.data_owned:
            # The call outlives the receive buffer, in which its records may lie.
            call.request, _ = decode(api.request_type(), call.version, memoryview(bytearray(data)), position)
            call.data_owned = True

    def admit(self, api: Api, call: Call[Any], now_ms: int) -> bool:
        """Bring a call to the gate, and handle it if it passes; True if it outlives its frame."""
        if self._broker.catalogue.feature_levels and (refused := self._feature_refusal(call)) is not None:
            return self._refuse(call, refused)
        try:
            verdict = self._gate.admit(call, now_ms)
        except GateClosed as closed:
            call.connection.close(str(closed), Cause.REFUSED)
            return False
        if verdict is None:
            self.handle(api, call)
        elif isinstance(verdict, Held):
            _HeldCall(self, api, call).hold(self._loop, verdict.until_ms)
            return True
        elif isinstance(verdict, Refused):
            return self._refuse(call, verdict)
        elif type(verdict) is GeneratorType:
            call.connection.begin_work(call)
            self._loop.scheduler.begin(call, self._checked(api, call, verdict))
            return True
        else:
            call.reply(verdict)
        return False

    def _refuse(self, call: Call[Any], refused: Refused) -> bool:
        """Refuse a call; True if a thread makes the answer, which is as wide as the request."""
        if call.size_bytes < WIDE_FRAME_BYTES:
            call.reply(refused.make())
            return False
        call.connection.begin_work(call)
        self._loop.scheduler.begin(call, in_thread(self._loop.scheduler.offload, refused.make))
        return True

    def _feature_refusal(self, call: Call[Any]) -> Refused | None:
        """Return the verdict on a request of a feature that was turned off."""
        from broker.requests.features_off import refusal

        return refusal(call, self._broker.catalogue.feature_levels)

    def _checked(self, api: Api, call: Call[Any], checks: Checks) -> WaitingSteps:
        """Go on with the checks of a request, then with its handler."""
        refused = yield from checks
        if isinstance(refused, Refused):
            return (yield from in_thread(self._loop.scheduler.offload, refused.make))
        if refused is not None:
            return refused
        response = api.handler()(self._broker, call)
        if type(response) is GeneratorType:
            response = yield from self._made(call, response)
        return response

    def _made(self, call: Call[Any], steps: WaitingSteps) -> WaitingSteps:
        """Return the steps that make an answer; where it is as large as what exists, others come first."""
        return self._broker.memory.wide.made(call.api_key, steps) if call.api_key in LISTS else steps

    def handle(self, api: Api, call: Call[Any]) -> None:
        """Run the handler."""
        try:
            response = api.handler()(self._broker, call)
        except Exception as error:  # noqa: BLE001  (it ends the connection)
            self.failed(call, error)
            return
        if type(response) is GeneratorType:
            call.connection.begin_work(call)
            self._loop.scheduler.begin(call, self._made(call, response))
        elif response is PARKED:
            call.connection.parked()
        else:
            call.reply(response)

    def failed(self, call: Call[Any], error: Exception) -> None:
        """Close the connection of a call whose handler has raised; other clients are served on."""
        connection, name = call.connection, APIS[call.api_key].name
        self._loop.internal_errors.note(
            ErrorPlace.REQUEST,
            f"connection {connection.identity} is closed: api={name} v{call.version}"
            f" correlation={call.correlation_id}",
            error,
        )
        connection.close("internal error", Cause.BUG)


class _HeldCall:
    """The holder of a call that waits at the gate."""

    __slots__ = ("_api", "_call", "_dispatcher", "_timer")

    def __init__(self, dispatcher: Dispatcher, api: Api, call: Call[Any]) -> None:
        self._dispatcher = dispatcher
        self._api = api
        self._call = call

    def hold(self, loop: Loop, until_ms: int) -> None:
        """Wait until this moment."""
        self._call.holder = self
        self._timer = loop.timers.add(until_ms, self._again)

    def _again(self, now_ms: int) -> None:
        self._call.holder = None
        turns = self._call.connection.stats.turns
        before = turns.enter(self._call)
        self._dispatcher.admit(self._api, self._call, now_ms)
        turns.leave(before)

    def cancel(self, _call: Call[Any]) -> None:
        """Forget the call: its client has left."""
        self._timer.cancel()


def _is_for_nodes(api: Api, call: Call[Any]) -> bool:
    """Whether a version that clients are not served is one that nodes of a cluster send each other."""
    return call.connection.from_peer and api.maximum < call.version <= api.nodes_maximum
