"""The audit log of a running server: its trail, its file and topic, and the places that tell it of events."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from broker.catalogue.audited_changes import ChangeAudit
from broker.config.config import Config
from broker.core import Broker
from broker.requests.audit_observer import AuditObserver
from broker.security.audit_trail import AuditTrail, Batch, Done, Sink
from broker.server.audit_file import AuditFile, line_of
from broker.server.listeners import Listener, StartError
from broker.server.workers import AUDIT_STOP_SECONDS, DiskWorkers

if TYPE_CHECKING:
    from broker.server.among import Seat

logger = logging.getLogger("kawal.audit")

Submit = Callable[[Callable[[], object], Callable[[Exception | None], None]], None]
"""Runs work in a thread, then calls back with its error."""


def start_audit(
    broker: Broker,
    config: Config,
    listeners: list[Listener],
    workers: DiskWorkers,
    *,
    file: AuditFile | None,
    added: Iterable[str] = (),
) -> Callable[[], None]:
    """Record logins, denied requests and changes from now on; return what writes the rest at the end.

    `added` are users whom the operator has added at this start.
    """
    trail = make_trail(broker, config, line_maker(file, workers.submit_audit))
    trail.record("server.started", listeners=[f"{each.name}://{each.bound.text}" for each in listeners])
    for name in added:
        AuditObserver(trail, broker).user_added(name)

    def finish() -> None:
        trail.record("server.stopped")
        events = trail.rest()
        if file is None or trail.distress:
            return
        last = threading.Thread(target=_write_rest, args=(file, events), daemon=True)
        last.start()
        last.join(AUDIT_STOP_SECONDS)

    return finish


def _write_rest(file: AuditFile, events: list[dict[str, object]]) -> None:
    try:
        file.write(map(line_of, events))
        file.close()
    except OSError as error:
        logger.error("%d events were not written to %s: %s", len(events), file.path, error)


def open_audit_file(config: Config, place: Seat | None = None) -> AuditFile | None:
    """Open the file of the audit log if there is one.  Raises: StartError."""
    path = config.kawal_audit_file
    if path is None:
        return None
    if place is not None:
        path = place.own_path(path)
    try:
        return AuditFile(
            path,
            max_bytes=config.kawal_audit_file_max_bytes,
            count=config.kawal_audit_file_count,
            sync=config.kawal_audit_sync == "batch",
        )
    except OSError as error:
        raise StartError(
            f"the audit log {path} (kawal.audit.file) cannot be written: {error.strerror or error}; name"
            " another file, or let this user write there"
        ) from error


def make_trail(broker: Broker, config: Config, first: Sink) -> AuditTrail:
    """Make the trail of a broker, and have it told of all events; the first sink makes their lines."""
    clock = broker.clock

    def after(delay_ms: int, action: Callable[[], None]) -> None:
        broker.timers.add(clock.turn_ms + delay_ms, lambda _now_ms: action())

    sinks = [first]
    if config.kawal_audit_topic:
        sinks.append(_topic_sink(broker))
    trail = AuditTrail(
        sinks,
        refuses=config.kawal_audit_when_full == "refuse",
        now_ms=lambda: clock.turn_ms,
        wall_ms=lambda: clock.wall_ms(clock.turn_ms),
        after=after,
        node=broker.nodes.own_id if broker.nodes.count > 1 else None,
    )
    broker.stats.audit = AuditObserver(trail, broker)
    broker.metadata_log.audit = ChangeAudit(trail, broker.catalogue, broker.stats.turns)
    return trail


def _topic_sink(broker: Broker) -> Sink:
    """Return the sink that has events stored in the topic."""
    if broker.nodes.count > 1:
        from broker.upkeep.audit_elsewhere import AuditElsewhere

        return AuditElsewhere(broker, broker, broker.producer_ids).write
    from broker.upkeep.audit_topic import AuditTopic

    return AuditTopic(broker, broker).write


def line_maker(file: AuditFile | None, submit: Submit) -> Sink:
    """Return the sink that makes lines of events and writes them into the file, in a thread."""

    def write(batch: Batch, done: Done) -> None:
        def work() -> None:
            if batch.lines is None:
                batch.lines = list(map(line_of, batch.events))
            if file is not None:
                file.write(batch.lines)

        def worked(error: Exception | None) -> None:
            where = "" if file is None else f"{file.path}: "
            done(None if error is None else f"{where}{getattr(error, 'strerror', None) or error}")

        submit(work, worked)

    return write
