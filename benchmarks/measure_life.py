"""Start, memory, restart after a kill: the server is started, and ended, by the measurement itself."""

from __future__ import annotations

import time

from benchmarks import proc
from benchmarks.bench import Bench, MeasurementError
from benchmarks.clients import wire
from benchmarks.clients.jobs import ConsumeJob, Figures
from benchmarks.measure_throughput import fill
from benchmarks.scale import MB
from benchmarks.servers import HOST, Server

POLL_SECONDS = 0.001
START_LIMIT_SECONDS = 120.0
READY_LIMIT_SECONDS = 120.0
SMALL_RECORD_BYTES = 100
RECORD = wire.batch([b"x" * SMALL_RECORD_BYTES])
RESTART_PARTITIONS = 4
RESTART_RECORD_BYTES = 1_000
PARTITIONS_PER_TOPIC = 1_000
MANY = "many-{}"


def cold_start(bench: Bench) -> Figures:
    """Time an empty server from its execution to the first answer and to the first record made durable."""
    bench.server.prepare()
    started = time.perf_counter()
    bench.server.launch()
    connection = first_answer(bench.server)
    answered = time.perf_counter()
    connection.create_topic("first", 1)
    frame = wire.produce_request("first", [0], RECORD, acks=-1)
    connection.produce_until_accepted(frame, within_seconds=READY_LIMIT_SECONDS)
    return {"first_answer_s": answered - started, "first_ack_s": time.perf_counter() - started}


def first_answer(server: Server) -> wire.Connection:
    """Connect as soon as possible and wait for the answer to an ApiVersions request.

    Raises: MeasurementError if the process ends or nothing answers in time.
    """
    deadline = time.monotonic() + START_LIMIT_SECONDS
    while True:
        try:
            connection = wire.Connection(HOST, server.port, timeout_seconds=READY_LIMIT_SECONDS)
        except ConnectionRefusedError:
            if server.process.exit_code is not None or time.monotonic() > deadline:
                raise MeasurementError(f"no answer on {server.bootstrap}: {server.process.tail()}") from None
            time.sleep(POLL_SECONDS)
        else:
            connection.call(wire.API_VERSIONS_REQUEST)
            return connection


def idle_memory(bench: Bench) -> Figures:
    """Read the resident memory of a server that was started and left alone."""
    bench.server.start()
    time.sleep(bench.scale.idle_seconds)
    return {"rss_mb": proc.memory(bench.server.pid).resident_bytes / MB}


def many_partitions(bench: Bench, *, partitions: int) -> Figures:
    """Read the resident memory when many partitions exist and each holds a record."""
    bench.server.start()
    return _memory_with(bench, partitions)


def restart(bench: Bench, *, partitions: int = 0) -> Figures:
    """Kill a server with 1 GiB, and `partitions` more; time its return and count what it still has."""
    bench.server.start()
    memory = _memory_with(bench, partitions) if partitions else {}
    records = bench.scale.restart_bytes // RESTART_RECORD_BYTES
    topic = fill(bench, record_bytes=RESTART_RECORD_BYTES, partitions=RESTART_PARTITIONS, records=records)
    bench.server.kill()
    started = time.perf_counter()
    bench.server.launch()
    connection = first_answer(bench.server)
    answered = time.perf_counter()
    frame = wire.produce_request(topic, [0], wire.batch([b"x" * RESTART_RECORD_BYTES]), acks=-1)
    connection.produce_until_accepted(frame, within_seconds=READY_LIMIT_SECONDS)
    acknowledged = time.perf_counter()
    _count_all(bench, topic, RESTART_PARTITIONS, RESTART_RECORD_BYTES, records + 1)
    if partitions:
        _count_all(bench, MANY.format(0), PARTITIONS_PER_TOPIC, SMALL_RECORD_BYTES, PARTITIONS_PER_TOPIC)
    after = proc.memory(bench.server.pid).resident_bytes / MB
    return memory | {
        "first_answer_s": answered - started,
        "first_ack_s": acknowledged - started,
        "rss_after_restart_mb": after,
    }


def _memory_with(bench: Bench, partitions: int) -> Figures:
    """Create topics of 1,000 partitions, write one record to every partition, read the memory."""
    connection = wire.Connection(HOST, bench.server.port, timeout_seconds=READY_LIMIT_SECONDS)
    names = [MANY.format(place) for place in range(partitions // PARTITIONS_PER_TOPIC)]
    started = time.perf_counter()
    for name in names:
        connection.create_topic(name, PARTITIONS_PER_TOPIC)
    for name in names:
        frame = wire.produce_request(name, range(PARTITIONS_PER_TOPIC), RECORD, acks=-1)
        connection.produce_until_accepted(frame, within_seconds=READY_LIMIT_SECONDS)
    connection.close()
    create_and_write = time.perf_counter() - started
    time.sleep(bench.scale.idle_seconds)
    resident = proc.memory(bench.server.pid).resident_bytes
    return {"create_and_write_s": create_and_write, "rss_mb": resident / MB}


def _count_all(bench: Bench, topic: str, partitions: int, record_bytes: int, records: int) -> None:
    """Read a topic back; the load fails unless exactly `records` are there."""
    job = ConsumeJob(
        **bench.address, topic=topic, partitions=partitions, record_bytes=record_bytes, records=records
    )
    bench.run("consume", job)
