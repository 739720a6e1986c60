"""One client connection without its socket: requests in, calls out, replies back in request order.

    bytes --RequestReader--> request --open_call--> Call --broker--> answer --encode--> outgoing buffers

Kafka's clients pipeline and match answers by position (kafka-python ends at an out-of-order correlation id),
so an answer given early waits until all before it are given.  A produce with acks=0 has no place among them.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Final

from broker.connections.answer_encoding import (
    IN_MEMORY,
    cannot_be_written,
    encode_answer,
    is_wide,
    part_size_bytes,
)
from broker.connections.client_record import ClientRecord
from broker.connections.departures import Departures
from broker.connections.freeing import FREED_BYTES_MIN, free_in_thread, free_request
from broker.connections.memory_limits import HEAVY_FRAME_BYTES, MemoryLimits
from broker.connections.metered_connection import MeteredConnection
from broker.connections.response_errors import count_errors, errors_of
from broker.connections.thread_answer import ThreadAnswer
from broker.loop.answers import EncodedAnswer, WholeAnswer
from broker.loop.call import SMALL_BYTES, Call
from broker.loop.last_fetch import LastFetch, kept_id
from broker.loop.slices import Offload, run_here
from broker.loop.stats import Cause, Stats
from protocol.errors import Unencodable
from protocol.framing import PRODUCE, REQUEST_BYTES_MAX, BufferPool, RequestReader
from protocol.headers import RequestHeader, decode_request_header

if TYPE_CHECKING:
    from broker.connections.login import Login
    from broker.loop.turns import Task
    from broker.security.rights import Rights
    from protocol.produce_form import RequestForm

ANONYMOUS: Final = "User:ANONYMOUS"
"""The principal of a client that has not shown who it is, as in Kafka."""


class Connection(MeteredConnection):
    """One client's connection, as the broker sees it.

    `outgoing` holds the buffers to be sent, in order: bytes-like objects and file ranges (anything with
    `size_bytes`); of the first, `head_sent` bytes were sent.  The shell reports what it has sent by `sent`.
    """

    __slots__ = (
        "aborted",
        "active_ms",
        "advertised",
        "client_software",
        "close_cause",
        "close_reason",
        "departures",
        "descriptor",
        "dirty",
        "forwarded",
        "from_peer",
        "head_sent",
        "identity",
        "last_fetch",
        "listener",
        "login",
        "offload",
        "outgoing",
        "peer",
        "principal",
        "produce_form",
        "ready_by_ms",
        "received_ns",
        "rights",
        "stalled",
        "stats",
        "told_moves",
        "unsent",
        "unsent_since_ms",
    )

    def __init__(
        self,
        *,
        identity: int,
        peer: str,
        request_bytes_max: int,
        plain_request_bytes_max: int = REQUEST_BYTES_MAX,
        pool: BufferPool,
        unsent: list[Connection],
        memory: MemoryLimits[Connection],
        stats: Stats,
        offload: Offload = run_here,
        now_ms: int = 0,
        advertised: tuple[str, int] = ("127.0.0.1", 9092),
        descriptor: int = -1,
    ) -> None:
        self.identity, self.peer = identity, peer
        reader = RequestReader(pool, request_bytes_max, plain_request_bytes_max)
        super().__init__(memory, self.host, reader, now_ms, ClientRecord(stats.software, now_ms))
        # The shell's number of the socket, and the address it tells this client to connect to.
        self.descriptor, self.advertised = descriptor, advertised
        self.principal = ANONYMOUS
        self.rights: Rights | None = None
        # The name of the listener that it came to; whether it is another node, or stands for a client of one.
        self.listener, self.from_peer, self.forwarded = "", False, False
        # The client's login, on listeners that demand one; it judges every request.
        self.login: Login | None = None
        # The moment at which the client must be ready to send requests; None: it is.
        self.ready_by_ms: int | None = None
        self.stats = stats
        # Runs work in a thread.
        self.offload = offload
        self.outgoing: deque[Any] = deque()
        self.head_sent, self.departures, self.client_software = 0, Departures(stats), ("", "")
        # Set: the shell sends what is outgoing, then closes and logs this reason.
        self.close_reason: str | None = None
        self.close_cause = Cause.CLIENT
        # True: the shell closes now, and sends nothing more.
        self.aborted = False
        # True while the connection is listed with the broker as having something to send.
        self.dirty, self.unsent = False, unsent
        # True: it was not read, or not to the end, while saturated; reading resumes when it no longer is.
        self.stalled = False
        # The turn in which bytes were last received: the requests in the buffer were complete then.
        self.received_ns = stats.turns.began_ns
        self.last_fetch: LastFetch | None = None
        self.produce_form: RequestForm | None = None  # of its last Produce that repeated another
        self.told_moves = 0  # up to which move of a node it was told of them (catalogue/moves.py)
        # When bytes were last received or sent, and since when the client has taken nothing of what is
        # outgoing; the shell sets it.
        self.active_ms = self.unsent_since_ms = now_ms

    @property
    def host(self) -> str:
        """The peer's address without its port."""
        return self.peer.rpartition(":")[0].strip("[]")

    def note_refused(self, why: str) -> None:
        """Note that the client was not let in; the shell closes the connection."""
        self.close_cause = Cause.SETUP
        self.stats.refused_clients.note(self.host, why, self.stats.turns.clock_ns())
        if self.stats.audit is not None:
            self.stats.audit.refused(self, why)

    def identify(self, name: str, version: str) -> None:
        """Note the software that the client has given for itself."""
        self.client_software = (name, version)
        self.client.identify(name, version)

    def begin_work(self, call: Call[Any]) -> None:
        """Serve no later request until this one is answered or parked.

        Kafka does so for every request.  Here it bounds what one connection can have made in slices.
        """
        self.working = call

    def work_done(self, call: Call[Any]) -> None:
        """Serve later requests again, after an answer or when the call has been parked."""
        self.parked()
        self.decoded(call)

    def decoded(self, call: Call[Any]) -> None:
        """Serve later requests again, too, after a call was decoded that is not answered yet."""
        if self.working is call:
            self.working = None
            self._serve_again()

    def rest(self) -> None:
        """Serve no more requests in this turn: they have taken their share of it."""
        self.resting = True
        self.stalled = True

    def rested(self) -> None:
        """Serve requests again."""
        self.resting = False
        self._serve_again()

    def _serve_again(self) -> None:
        if self.stalled and not self.closed and not self.dirty:
            self._list_unsent()

    def wait_for_heavy(self) -> bool:
        """Whether its next request has to wait: it may be as heavy as one that is in work."""
        memory = self.memory
        if (memory.heavy is None and memory.heavy_next is None) or memory.may_be_heavy(self):
            return False
        head = self.reader.large_head
        if len(head) < HEAVY_FRAME_BYTES or head[: len(PRODUCE)] == PRODUCE:
            return False
        memory.heavy_waiting[self] = self.rested
        self.rest()
        return True

    def open_call(self, data: memoryview, *, data_owned: bool, now_ms: int) -> tuple[Call[Any], int]:
        """Return the call of a request, which takes a place in the order of answers, and its body's position.

        Raises: Malformed, when the request is too short for a header or the lengths of its strings are wrong.
        """
        header = decode_request_header(data)
        return self.open(header, len(data), data_owned=data_owned, now_ms=now_ms), header.size_bytes

    def open(
        self, header: RequestHeader, size_bytes: int, *, data_owned: bool, now_ms: int, count: int = 1
    ) -> Call[Any]:
        """Return the call of a request with this header, which takes a place in the order of answers.

        It may stand for several alike, whose sizes are summed.
        """
        call: Call[Any] = Call(self, header, now_ms, size_bytes, data_owned, count)
        call.received_ns = self.received_ns
        self.client.client_id = kept_id(header.client_id)
        self.client.request_count += count
        self.unanswered += count
        if size_bytes >= SMALL_BYTES:
            self.large_at = self.client.request_count
        self.calls.append(call)
        self.request_bytes += call.weight_bytes
        return call

    def answer(self, call: Call[Any], response: object) -> None:
        """Encode the call's answer, a wide one in a thread, and send all that is now in order."""
        whole = response.parts if type(response) is WholeAnswer else None
        if whole is None and is_wide(response):
            self.answer_in_thread(call, response, self.offload)
            return
        assert call.output is None, "a call is answered once"
        if self.closed or self.aborted:
            call.output = []
            return
        before = self._answered(call)
        self._release(call, self._encoded(call, response) if whole is None else whole)
        if before is not None:
            self.stats.turns.leave(before)

    def _encoded(self, call: Call[Any], response: object) -> list[Any]:
        call.errors = errors_of(response)
        count_errors(call, response)
        try:
            return encode_answer(call, response)
        except Unencodable as error:
            cannot_be_written(call, error)
            return []

    def _answered(self, call: Call[Any]) -> Task | None:
        """Note the moment of the answer, and work for the call; a task that is returned needs a `leave`."""
        turns = self.stats.turns
        if turns.task is call:
            now_ns = call.answered_ns = turns.clock_ns()
            call.handled_ns = call.local_ns + now_ns - turns.mark_ns
            return None
        before = turns.enter(call)
        call.answered_ns = turns.mark_ns
        call.handled_ns = call.local_ns
        return before

    def answer_in_thread(self, call: Call[Any], response: object, offload: Offload) -> None:
        """Answer the call as `answer` does, but encode the response, a large one, in a thread."""
        if isinstance(response, EncodedAnswer):
            self.answer(call, response)
            return
        assert call.output is None, "a call is answered once"
        audited = [] if self.stats.audit is None else [response]  # is looked at afterwards, and freed then
        work = ThreadAnswer(call, response, is_kept=bool(audited))
        del response

        def done(error: Exception | None) -> None:
            if self.closed or self.aborted:
                call.output = []
            else:
                if error is not None:
                    cannot_be_written(call, error)
                count_errors(call, audited[0] if audited else None, work.error_counts)
                self._release(call, work.output)
            free_in_thread(audited, offload)

        if not self.closed:
            before = self._answered(call)
            self.memory.wide.add(call, work, offload, done)
            if before is not None:
                self.stats.turns.leave(before)

    def answer_nothing(self, call: Call[Any]) -> None:
        """Free the call's place in the order of the answers."""
        assert call.output is None, "a call is answered once"
        before = self._answered(call)
        self._release(call, [])
        if before is not None:
            self.stats.turns.leave(before)

    def _release(self, call: Call[Any], output: list[Any]) -> None:
        call.output = output
        if self.working is call:
            self.working = None
        calls, outgoing = self.calls, self.outgoing
        now_ns = self.stats.turns.clock_ns()
        while calls and (output := calls[0].output) is not None:  # type: ignore[assignment]
            done = calls.popleft()
            self.request_bytes -= done.weight_bytes
            self.unanswered -= done.count
            if done.weight_bytes - done.size_bytes > FREED_BYTES_MIN and done.request is not None:
                free_request(done, self.offload)
            before_bytes = unsent_bytes = self.outgoing_bytes
            for part in output:
                outgoing.append(part)
                if type(part) in IN_MEMORY:
                    size = len(part)
                    self.memory_bytes += size
                else:
                    size = part.size_bytes
                unsent_bytes += size
            self.outgoing_bytes = unsent_bytes
            self.departures.add(
                done, size_bytes=unsent_bytes - before_bytes, unsent_bytes=unsent_bytes, now_ns=now_ns
            )
        if self.memory_bytes > self.accounted_answers_bytes + SMALL_BYTES:
            # At once: the fetches of other connections in this turn have less room.
            self.account()
        if not self.dirty and (self.outgoing or self.stalled):
            self._list_unsent()

    def _list_unsent(self) -> None:
        self.dirty = True
        self.unsent.append(self)

    def close(self, reason: str, cause: Cause = Cause.PROTOCOL) -> None:
        """Ask the shell to close the connection once everything answered so far is sent."""
        if self.close_reason is None:
            self.close_reason = reason
            self.close_cause = cause
            if not self.dirty:
                self._list_unsent()

    def abort(self, reason: str, cause: Cause) -> None:
        """Ask the shell to close the connection at once, whatever is still to be sent."""
        self.close_reason = None
        self.close(reason, cause)
        self.aborted = True
        self._forget_outgoing()

    def sent(self, size_bytes: int) -> None:
        """Remove the bytes that were sent from `outgoing`."""
        self.outgoing_bytes -= size_bytes
        assert self.outgoing_bytes >= 0, "more was sent than was outgoing"
        self.stats.sent_bytes += size_bytes
        self.departures.sent(size_bytes)
        if not self.outgoing_bytes:
            self._forget_outgoing()
            return
        outgoing = self.outgoing
        left = self.head_sent + size_bytes
        while left >= (size := part_size_bytes(outgoing[0])):
            left -= size
            if type(outgoing.popleft()) in IN_MEMORY:
                self.memory_bytes -= size
        self.head_sent = left
        self.account()

    def put_buffer(self, index: int, data: bytes) -> None:
        """Send these bytes instead of the file range at `index` of `outgoing`, which has them."""
        part = self.outgoing[index]
        assert type(part) not in IN_MEMORY, "what is in memory needs no other buffer"
        assert part.size_bytes == len(data), "an answer has the length that its head says"
        self.outgoing[index] = data
        self.memory_bytes += len(data)
        self.account()

    def _forget_outgoing(self) -> None:
        self.outgoing.clear()
        self.outgoing_bytes = self.head_sent = self.memory_bytes = 0
        self.account()

    def lost(self) -> None:
        """Withdraw every parked call and forget what was to be sent: the client has left."""
        self.closed = True
        self.departures.lost()
        self.client.lost()
        self.reader.release_buffer()
        self._forget_outgoing()
        for call in self.calls:
            if call.holder is not None:
                call.holder.cancel(call)
                call.holder = None
            self.memory.wide.forget(call)
        self.calls.clear()
        self.unanswered = 0
        # It names this connection, too: a cycle, which the collector might never look at.
        self.login = None
        self.request_bytes = self.unfinished_bytes = 0
        self.finished()
        self.memory.leave_heavy(self)
        self.account()
        self.memory.leave(self.use)
