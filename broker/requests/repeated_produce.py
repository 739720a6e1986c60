"""Produce requests that repeat each other: one batch for one partition, again and again.

The requests of most producers differ in their batch alone (`protocol/produce_form.py` has the picture).  The
first with a head is served as any other; if nothing about its topic is special, the partition is remembered
under the head, with the bytes of the answer.  Those that follow are neither decoded nor passed from hand to
hand, and those of one client that have come together are one piece of work, a run:

    request request request ... --serve--> batches in the log's open frame, one call --appended--> all answers

The batch is judged as on the ordinary way, without what their topics never ask (`append_plain`), and one that
is refused takes that way from the start, which answers it.

What was remembered counts as long as the topic and its settings are the same objects.  It holds no right: the
gate is asked about the client of each run, and one that it would hold back takes the ordinary way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from broker.catalogue.catalogue_records import TopicDeleted
from broker.catalogue.queue_lengths import has_length
from broker.config.kawal_topic_keys import CODECS
from broker.errors import RequestError
from broker.loop.answers import WholeAnswer
from broker.loop.call import CALL_BYTES, SMALL_BYTES, Call
from broker.requests.known_head import KnownHead, Stored
from broker.storage.append import append_plain
from protocol.api_keys import ApiKey
from protocol.errors import RequestTooLarge
from protocol.produce_form import TOPIC_IDS_SINCE_VERSION, RequestForm, head_end, maybe_form
from protocol.records import HEADER_BYTES, TRANSACTIONAL

if TYPE_CHECKING:
    from broker.catalogue.catalogue_records import CatalogueRecord
    from broker.catalogue.metadata import Metadata
    from broker.catalogue.topics import Topic
    from broker.connections.connection import Connection
    from broker.loop.loop import Loop
    from broker.requests.gate import WriteGate
    from broker.requests.request_log import RequestLog
    from broker.storage.vnode import Vnode
    from protocol.error_codes import ErrorCode

HEADS_MAX: Final = 4_096
"""The heads that are remembered, 1 KB each; when there are more, all are learned anew."""

_ATTRIBUTES_AT: Final = 22


class ProduceRun:
    """Requests of one client, one after the other, whose batches wait for the disk."""

    __slots__ = ("_call", "_known", "_log_start", "size_bytes", "stored")

    def __init__(self, known: KnownHead) -> None:
        self._known = known
        self._log_start = known.partition.log_start
        self._call: Call[Any]
        self.stored: list[Stored] = []
        self.size_bytes = 0

    def take(
        self,
        connection: Connection,
        form: RequestForm,
        data: memoryview,
        wall_ms: int,
        *,
        most: int,
        ends_ns: int,
    ) -> memoryview | None:
        """Append the batches of at most so many requests, from `data` on; return what `serve` does."""
        known, stored, reader, clock_ns = (
            self._known,
            self.stored,
            connection.reader,
            connection.stats.clock_ns,
        )
        room_bytes = connection.memory.connection_bytes_max - connection.request_bytes
        while True:
            kind, correlation_id, client, head = form.parts(data)
            if head != known.head or client != form.client or kind != form.kind:
                return data
            batch = form.batch_in(data, form.end)
            if batch is None or batch[_ATTRIBUTES_AT] & TRANSACTIONAL:
                return data
            try:
                added = append_plain(
                    known.partition, batch, known.settings, wall_ms, owned=reader.owned, zstd=form.knows_zstd
                )
            except RequestError:
                return data
            stored.append(Stored(correlation_id, added.base_offset, added.append_time_ms, added.version))
            self.size_bytes += len(data)
            room_bytes -= len(data) + CALL_BYTES + known.weight_bytes
            if room_bytes <= 0 or len(stored) >= most or clock_ns() > ends_ns:
                return None
            try:
                following = reader.next_request()
            except RequestTooLarge:
                return None  # it is raised again
            if following is None or not form.end + HEADER_BYTES <= len(following) < SMALL_BYTES:
                return following
            data = following

    def wait(self, call: Call[Any], now_ms: int) -> None:
        """Answer with this call, which stands for all requests, when the batches are safe."""
        self._call = call
        call.correlation_id = self.stored[0].correlation_id
        self._known.partition.vnode.wait_durable(self.stored[-1].version, self, now_ms)

    def appended(self, vnode: Vnode, error: ErrorCode | None, _now_ms: int) -> None:
        """Answer."""
        call, known, stored = self._call, self._known, self.stored
        if error is None:
            call.reply(WholeAnswer(known.answers(stored, self._log_start)))
        elif len(stored) == 1:
            call.reply(known.refusal(error, stored[0].append_time_ms, self._log_start))
        else:
            # A frame that was full took those before it, and may have reached the disk.
            end = vnode.log.next_version if vnode.is_confirmed else 0
            safe = [batch for batch in stored if batch.version < end]
            lost = stored[len(safe) :]
            call.errors = [int(error)] * len(lost)
            call.connection.stats.failed(call.api_key, call.version, call.errors)
            found = known.answers(safe, self._log_start) + known.refusals(error, lost, self._log_start)
            call.reply(WholeAnswer(found))


class RepeatedProduces:
    """The heads that are known, by version and bytes."""

    def __init__(self, metadata: Metadata, loop: Loop, gate: WriteGate) -> None:
        self._metadata = metadata
        self._loop = loop
        self._gate = gate
        self._known: dict[tuple[int, bytes], KnownHead] = {}
        # Their keys by topic: a topic that was deleted is let go at once, not when its head is seen again.
        self._of_topic: dict[UUID, set[tuple[int, bytes]]] = {}
        # The log of the catalogue is opened after the dispatcher is made.
        self._listens = False

    def _catalogue_changed(self, record: CatalogueRecord, _now_ms: int) -> None:
        if isinstance(record, TopicDeleted):
            for key in self._of_topic.pop(UUID(hex=record.topic_id), ()):
                self._known.pop(key, None)

    def serve(
        self, connection: Connection, data: memoryview, now_ms: int, ends_ns: int, log: RequestLog | None
    ) -> memoryview | None:
        """Append the batches of requests with a known head: that of `data`, and others of the connection.

        Return the next request, if it has another head or is to be refused: it was taken from the buffer, and
        nothing else was done.  None: there is none, a limit of the connection is reached, or it is after
        `ends_ns`.  Given a `log`, requests are served one by one, and it decides which are logged.
        """
        form = connection.produce_form
        known = None if form is None else self._known_in(form, data)
        if known is None and (form := maybe_form(data)) is not None:
            known = self._known_in(form, data)
        if (
            form is None
            or known is None
            or not self._counts(known)
            or not self._passes(connection, known, now_ms)
        ):
            return data
        connection.produce_form = form
        turns = self._loop.stats.turns
        before = turns.enter(turns.apis[ApiKey.PRODUCE])
        began_ns = turns.mark_ns
        one_by_one = log is not None or connection.stats.audit is not None or len(data) >= SMALL_BYTES
        most = 1 if one_by_one else connection.memory.connection_requests_max - connection.unanswered
        run = ProduceRun(known)
        wall_ms = self._loop.clock.wall_ms(now_ms)
        left = run.take(connection, form, data, wall_ms, most=most, ends_ns=ends_ns)
        if count := len(run.stored):
            call = connection.open(form.header, run.size_bytes, data_owned=True, now_ms=now_ms, count=count)
            call.began_ns, call.request = began_ns, None
            if log is not None:
                call.logged = log.wants(call)
            turns.task = call  # the time since `began_ns` is its own
            connection.weigh(call, call.weight_bytes + count * known.weight_bytes)
            run.wait(call, now_ms)
            connection.parked()
        turns.leave(before)
        return left

    def _known_in(self, form: RequestForm, data: memoryview) -> KnownHead | None:
        """Return the head of a request, if that has this form and the head is known."""
        if len(data) < form.end + HEADER_BYTES:
            return None
        kind, _, client, head = form.parts(data)
        # A head tells where it ends, so one that is known ends there wherever it is found.
        return self._known.get((form.version, head)) if client == form.client and kind == form.kind else None

    def _counts(self, known: KnownHead) -> bool:
        """Whether a head means what it did; if not, it is forgotten."""
        topic = known.topic
        if topic.settings is known.settings and self._metadata.catalogue.find(topic.name) is topic:
            return True
        del self._known[known.version, known.head]
        return False

    def _passes(self, connection: Connection, known: KnownHead, now_ms: int) -> bool:
        """Whether the client may write to the topic at this moment."""
        login = connection.login
        if login is not None and not login.lets_pass(ApiKey.PRODUCE, now_ms):
            return False
        return self._gate.lets_write(connection, known.topic.name)

    def learn(self, call: Call[Any], data: memoryview, position: int, weight_bytes: int) -> None:
        """Remember the head of a decoded request if nothing about it is special."""
        end = head_end(call.version, data, position)
        if end < 0 or call.request.acks not in (-1, 1):
            return
        (named,) = call.request.topic_data
        topic = self._find(named.name, named.topic_id, call.version)
        index = named.partition_data[0].index
        if topic is None or not 0 <= index < topic.partition_count or not self._is_plain(topic):
            return
        if not self._gate.lets_write(call.connection, topic.name):
            return
        if not self._listens:
            self._listens = True
            self._metadata.metadata_log.listen(self._catalogue_changed)
        if len(self._known) >= HEADS_MAX:
            self._known.clear()
            self._of_topic.clear()
        topics = self._metadata.topics
        if (partition := topics.here(topic, index)) is not None:
            key = (call.version, bytes(data[position:end]))
            self._known[key] = KnownHead(*key, partition, topics.settings(topic), weight_bytes)
            self._of_topic.setdefault(topic.topic_id, set()).add(key)

    def _find(self, name: str, topic_id: Any, version: int) -> Topic | None:
        catalogue = self._metadata.catalogue
        return catalogue.find_id(topic_id) if version >= TOPIC_IDS_SINCE_VERSION else catalogue.find(name)

    def _is_plain(self, topic: Topic) -> bool:
        """Whether a batch that `append_plain` accepts, with these settings, may be stored as it is."""
        if topic.view is not None or topic.internal:
            return False
        settings = self._metadata.topics.settings(topic)
        return not (
            settings.opens_batches
            or settings.routes_records
            or settings.kawal_read_only
            or settings.kawal_session_headers
            or settings.kawal_codecs_allowed is not CODECS
            or settings.kawal_max_partition_bytes >= 0
            or settings.kawal_partition_write_bytes_per_sec > 0
            or has_length(self._metadata, topic)
        )
