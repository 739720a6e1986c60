"""The broker with faults in it: those a test has asked for stand between a request and its handler."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from types import GeneratorType
from typing import Any, Final

from broker.core import Broker
from broker.handlers import Api
from broker.loop.call import PARKED, Call
from broker.loop.slices import Steps
from broker.loop.stats import Cause
from broker.requests.dispatcher import Dispatcher
from broker.server.testing.clock import Clock
from broker.server.testing.faults import Fault, Faults
from protocol.api_keys import ApiKey
from protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)

OWN_CLIENT_ID: Final = "kawal-testing"
"""The client id of the commands' own client, which meets no faults."""

Ending = Callable[["FaultyCall", Any], None]


class FaultyCall(Call[Any]):
    """A call whose answer goes to `ending` instead of its client."""

    __slots__ = ("ending",)

    def __init__(self, call: Call[Any], ending: Ending) -> None:
        for name in Call.__slots__:
            if hasattr(call, name):
                setattr(self, name, getattr(call, name))
        self.ending = ending

    def reply(self, response: object) -> None:
        """Hand the answer over."""
        self.holder = None
        self.ending(self, response)


class FaultyDispatcher(Dispatcher):
    """Passes requests to their handlers, faults permitting."""

    def handle(self, api: Api, call: Call[Any]) -> None:
        """Apply the faults that were asked for to the request, then handle the rest of it."""
        broker: FaultyBroker = self._broker
        if call.client_id == OWN_CLIENT_ID:
            super().handle(api, call)
            return
        broker.counts[call.api_key] += 1
        faults = broker.faults.of_request(call.api_key)
        met = [fault for fault in faults if fault.kind != "fail_produce" or _meets(broker, fault, call)]
        delay_ms = sum(fault.delay_ms for fault in met)
        decisive = next((fault for fault in met if fault.kind != "slow"), None)
        for fault in met:
            if fault.kind == "slow" or fault is decisive:
                fault.hits += 1
        if decisive is not None and decisive.kind == "drop":
            call.connection.abort("a test wants it dropped", Cause.CLIENT)
        elif not met:
            super().handle(api, call)
        else:
            self._handle_faulty(api, call, decisive, delay_ms)

    def _handle_faulty(self, api: Api, call: Call[Any], decisive: Fault | None, delay_ms: int) -> None:
        broker: FaultyBroker = self._broker
        refused: list[TopicProduceResponse] = []

        def end(ended: FaultyCall, response: Any) -> None:
            if decisive is not None and decisive.kind == "lose_answer":
                ended.connection.abort("a test wants its answer lost", Cause.CLIENT)
                return
            if refused:
                _merge(response, refused)
            if delay_ms:
                due_ms = broker.steady.now_ms() + delay_ms
                broker.timers.add(due_ms, lambda _now_ms: Call.reply(ended, response))
            else:
                Call.reply(ended, response)

        faulty = FaultyCall(call, end)
        broker.connections[call.connection.identity].calls[-1] = faulty
        if decisive is not None and decisive.kind == "fail_produce":
            refused += take_refused(broker, decisive, faulty.request)
            if faulty.request.acks == 0:
                # Such a client learns of it by the end of its connection, as from any broker.
                faulty.connection.close("a produce without an answer failed", Cause.ACKS_NONE)
        if not refused or faulty.request.topic_data:
            super().handle(_Api(api), faulty)
        elif faulty.request.acks == 0:
            faulty.drop()
        else:
            faulty.reply(ProduceResponse(responses=[]))


class FaultyBroker(Broker):
    """A broker that applies its faults to each request, and whose time may stand still."""

    dispatcher = FaultyDispatcher

    faults: Faults
    steady: Clock
    counts: Counter[int]
    """Requests of clients since the start, by API key; the commands' own are not counted."""

    def next_deadline(self, *, of_logs: bool = True) -> int | None:
        """Return the next deadline; while the clock is stopped, only one that is due already."""
        deadline_ms = super().next_deadline(of_logs=of_logs)
        if deadline_ms is None or (self.steady.is_stopped and deadline_ms > self.steady.now_ms()):
            return None
        return deadline_ms

    def next_due_ms(self) -> int | None:
        """Return the next deadline, whether or not the clock will reach it by itself."""
        return super().next_deadline()


class _Api(Api):
    """An API whose long answers, like its short ones, go through the call."""

    __slots__ = ()

    def __init__(self, api: Api) -> None:
        for name in Api.__slots__:
            setattr(self, name, getattr(api, name))

    def handler(self) -> Callable[..., Any]:
        handle = super().handler()

        def handled(broker: Broker, call: Call[Any]) -> Any:
            response = handle(broker, call)
            return replied(call, response) if type(response) is GeneratorType else response

        return handled


def replied(call: Call[Any], steps: Steps) -> Steps:
    """Run the steps, and give their response through the call."""
    response = yield from steps
    if response is not PARKED:
        call.reply(response)
    return PARKED


def _meets(broker: Broker, fault: Fault, call: Call[Any]) -> bool:
    """Whether a fault of produces meets a partition of this request."""
    if call.api_key != ApiKey.PRODUCE:
        return False
    request: ProduceRequest = call.request
    return any(
        _is_meant(fault, _topic_name(broker, data), partition)
        for data in request.topic_data
        for partition in data.partition_data
    )


def _is_meant(fault: Fault, topic: str, data: PartitionProduceData) -> bool:
    return fault.topic in (None, topic) and fault.partition in (None, data.index)


def _topic_name(broker: Broker, data: Any) -> str:
    topic = broker.catalogue.find_id(data.topic_id)
    return data.name or (topic.name if topic is not None else "")


def take_refused(broker: Broker, fault: Fault, request: ProduceRequest) -> list[TopicProduceResponse]:
    """Take the partitions that a fault means out of a request, and return their answers."""
    refused = []
    for data in request.topic_data:
        name = _topic_name(broker, data)
        meant = [partition for partition in data.partition_data if _is_meant(fault, name, partition)]
        if meant:
            data.partition_data = [
                partition for partition in data.partition_data if not _is_meant(fault, name, partition)
            ]
            answers = [
                PartitionProduceResponse(
                    index=partition.index,
                    error_code=fault.error,
                    base_offset=-1,
                    error_message="a test wants this produce to fail",
                )
                for partition in meant
            ]
            refused.append(
                TopicProduceResponse(name=data.name, topic_id=data.topic_id, partition_responses=answers)
            )
    request.topic_data = [data for data in request.topic_data if data.partition_data]
    return refused


def _merge(response: ProduceResponse, refused: list[TopicProduceResponse]) -> None:
    """Add the refused partitions to the answers of their topics."""
    for topic in refused:
        for other in response.responses:
            if (other.name, other.topic_id) == (topic.name, topic.topic_id):
                other.partition_responses += topic.partition_responses
                break
        else:
            response.responses.append(topic)
