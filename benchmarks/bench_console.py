"""The web console's bars: `make bench ARGS='console [--quick] [--only start]'`.

    first    the first page with all that it loads: bytes as they are sent, requests; its start and memory
    lists    a page of 10,000 topics and of 10,000 groups: bytes, and processor time of console and gateway
    search   a search through 1,000,000 records: processor time of the console and its process
    produce  p99 of records at 1,000 a second while three consoles search, by that without, in turns;
             and beside three processes that only count, of the priority of searches: what the machine adds
    start    the time until `kawal serve` is ready, with the console's address and without, in turns

The gateway is Kawal alone: there is no console in Kafka. Figures are medians of the rounds. Exit code 1: a
bar is not met.
"""

from __future__ import annotations

import http.client
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from statistics import median, quantiles
from typing import Final
from urllib.parse import quote

from benchmarks import proc
from benchmarks.rounds import WORKING_DIRECTORY, Figures, in_rounds, on_new_server, options_of
from benchmarks.servers import Server, ServerKind
from compat_tests.broker import HOST
from compat_tests.confluent import make_producer
from compat_tests.kawal_broker import KAWAL
from compat_tests.topics import create_topic
from compat_tests.waiting import eventually
from compat_tests.wire import RawClient, raw_client
from console.web.search_worker import IDLE_SECONDS
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)

COLUMNS: Final = {"kawal.columns": "id bigint, carrier string, delay int"}
SEARCHES: Final = 3
RATE: Final = 1_000
COUNTING: Final = "from console.web.search_worker import go_last; go_last()\nn = 0\nwhile True: n += 1"
AT_ONCE: Final = 500
"""Topics of one request to create them."""

MOST: Final = {
    "first page, bytes with all it loads": 40 << 10,
    "first page, requests": 8,
    "idle console, MB": 60,
    "list of topics, bytes": 300_000,
    "list of topics, s of processor": 1.0,
    "list of groups, bytes": 300_000,
    "list of groups, s of processor": 1.0,
    "search of 1,000,000 records, s of processor": 2.5,
    "produce p99 beside three searches, by that without": 1.2,
    "ready with the console's address, by without": 1.05,
}
"""The bars: what a figure may be at most."""


class Console:
    """A console in a process of its own."""

    def __init__(self, server: Server, out: Path) -> None:
        command = [KAWAL, "console", "--bootstrap", server.bootstrap, "--listen", f"{HOST}:0"]
        with out.open("wb") as output:
            self.process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)

        def port() -> re.Match[str] | None:
            return re.search(r"^kawal console http://[\d.]+:(\d+)$", out.read_text(), re.MULTILINE)

        self._port = int(eventually(port, waiting_for="the console")[1])

    def get(self, path: str) -> bytes:
        """Return the body of a page as it was sent, compressed."""
        connection = http.client.HTTPConnection(HOST, self._port, timeout=120)
        connection.request("GET", path, headers={"Accept-Encoding": "gzip"})
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        assert answer.status == 200, (path, answer.status, body[:500])
        return body

    def text(self, path: str) -> str:
        """Return a page as text."""
        connection = http.client.HTTPConnection(HOST, self._port, timeout=120)
        connection.request("GET", path)
        body = connection.getresponse().read().decode()
        connection.close()
        return body

    def cpu_seconds(self) -> float:
        """Return the processor time that it has taken."""
        return proc.cpu_seconds(self.process.pid)

    def end(self) -> None:
        """End it."""
        self.process.terminate()
        self.process.wait(20)


@contextmanager
def console_of(server: Server) -> Iterator[Console]:
    """Start a console beside a server."""
    with tempfile.TemporaryDirectory() as directory:
        console = Console(server, Path(directory) / "out")
        try:
            yield console
        finally:
            console.end()


def first(server: Server, quick: bool) -> Figures:
    """Measure the first page, and what the process takes once it has been used."""
    create_topic(server, "flights", configs=COLUMNS)
    began = time.perf_counter()
    with console_of(server) as console:
        page = console.get("/")
        took = time.perf_counter() - began
        html = console.text("/")
        loaded = re.findall(r'(?:href|src)="(/static/[^"]+)"', html)
        size = len(page) + sum(len(console.get(path)) for path in dict.fromkeys(loaded))
        for path in ("/topics", "/groups", "/topics/flights/records", "/sql?q=SELECT+id+FROM+flights"):
            console.get(path)
        searched = proc.memory(console.process.pid).resident_bytes
        eventually(
            lambda: len(proc.tree(console.process.pid)) == 1,
            waiting_for="the end of the process that has searched",
            within_seconds=2 * IDLE_SECONDS,
        )
        return {
            "first page, bytes with all it loads": size,
            "first page, requests": 1 + len(dict.fromkeys(loaded)),
            "first page, s from the start of the process": took,
            "console and the process that has searched, MB": searched / 1e6,
            "idle console, MB": proc.memory(console.process.pid).resident_bytes / 1e6,
        }


def lists(server: Server, quick: bool) -> Figures:
    """Measure the pages of many topics and groups."""
    count = 500 if quick else 10_000
    found: Figures = {}
    with raw_client(server) as raw:
        for begin in range(0, count, AT_ONCE):
            _create(raw, [f"topic-{number:05}" for number in range(begin, begin + AT_ONCE)])
        for number in range(count):
            raw.send(_commit(f"group-{number:05}", "topic-00000"), 8)
            if number % AT_ONCE == AT_ONCE - 1:
                for _ in range(AT_ONCE):
                    raw.receive()
    with console_of(server) as console:
        console.get("/")
        for noun in ("topics", "groups"):
            console.get(f"/{noun}")
            ours, theirs = console.cpu_seconds(), proc.cpu_seconds(server.pid)
            page = console.text(f"/{noun}?skip=200")
            found[f"list of {noun}, bytes"] = len(page.encode())
            found[f"list of {noun}, s of processor"] = console.cpu_seconds() - ours
            found[f"list of {noun}, s of the gateway's processor"] = proc.cpu_seconds(server.pid) - theirs
            assert f"of {count:,} {noun}" in page
    return found


def _create(raw: RawClient, names: Sequence[str]) -> None:
    topics = [
        CreatableTopic(name=name, num_partitions=1, replication_factor=1, assignments=[], configs=[])
        for name in names
    ]
    answer = raw.call(CreateTopicsRequest(topics=topics, timeout_ms=60_000), 5)
    assert {topic.error_code for topic in answer.topics} == {0}


def _commit(group: str, topic: str) -> OffsetCommitRequest:
    place = OffsetCommitRequestPartition(partition_index=0, committed_offset=0, committed_metadata=None)
    return OffsetCommitRequest(
        group_id=group, member_id="", topics=[OffsetCommitRequestTopic(name=topic, partitions=[place])]
    )


def fill(server: Server, count: int) -> None:
    """Write flights, of which one in a thousand is late."""
    create_topic(server, "flights", 2, configs=COLUMNS)
    producer = make_producer(server, linger_ms=50, queue_buffering_max_messages=1_000_000)
    for number in range(count):
        value = b'{"id":%d,"carrier":"TP","delay":%d}' % (number, 99 if number % 1_000 == 0 else number % 10)
        producer.produce("flights", value, partition=number % 2)
        if number % 10_000 == 0:
            producer.poll(0)
    assert producer.flush(120) == 0


WHERE: Final = f"/topics/flights/records?order=oldest&where={quote('delay > 15')}"


def search(server: Server, quick: bool) -> Figures:
    """Measure a search through all records; where the clock ends it, it goes on by its link."""
    count = 50_000 if quick else 1_000_000
    fill(server, count)
    with console_of(server) as console:
        console.get(WHERE + "&until=10")
        before, began, pages = console.cpu_seconds(), time.perf_counter(), 1
        page = console.text(WHERE)
        while f"{count:,} of {count:,} looked at" not in page:
            (further,) = set(re.findall(r'rel="next" href="([^"]+)"', page))
            page = console.text(further.replace("&amp;", "&"))
            pages += 1
        took = time.perf_counter() - began
        return {
            "search of 1,000,000 records, s of processor": (console.cpu_seconds() - before) * 1e6 / count,
            "search of 1,000,000 records, s": took * 1e6 / count,
            "search, pages": pages,
        }


def paced(server: Server, topic: str, seconds: float) -> list[float]:
    """Produce records of 1 KB at a rate; return the ms until each was acknowledged."""
    times: list[float] = []
    producer = make_producer(server, linger_ms=0)
    began = time.perf_counter()
    for number in range(int(RATE * seconds)):
        while (left := began + number / RATE - time.perf_counter()) > 0:
            producer.poll(min(left, 0.001))
        sent = time.perf_counter()
        producer.produce(topic, bytes(1_000), on_delivery=_noting(times, sent))
        producer.poll(0)
    assert producer.flush(60) == 0
    return times


def _noting(times: list[float], sent: float) -> Callable[[object, object], None]:
    def note(error: object, _message: object) -> None:
        assert error is None, error
        times.append((time.perf_counter() - sent) * 1_000)

    return note


def produce(server: Server, quick: bool) -> Figures:
    """Measure p99 in turns, without searches and beside them."""
    fill(server, 50_000 if quick else 1_000_000)
    create_topic(server, "paced", 1)
    seconds, turns = (2, 1) if quick else (10, 3)
    with ExitStack() as stack:
        consoles = [stack.enter_context(console_of(server)) for _ in range(SEARCHES)]
        paced(server, "paced", 1)
        besides: dict[str, Callable[[], AbstractContextManager[None]]] = {
            "": nullcontext,
            " beside three searches": partial(searching, consoles),
            " beside three that count": counting,
        }
        p99: dict[str, list[float]] = {beside: [] for beside in besides}
        for _ in range(turns):
            for beside, load in besides.items():
                with load():
                    p99[beside].append(quantiles(paced(server, "paced", seconds), n=100)[98])
    found = {beside: median(times) for beside, times in p99.items()}
    ratios = {
        f"produce p99{beside}, by that without": found[beside] / found[""] for beside in found if beside
    }
    return {f"produce p99{beside}, ms": value for beside, value in found.items()} | ratios


@contextmanager
def counting() -> Iterator[None]:
    """Have as many processes count all the time, with the priority of searches."""
    commands = [[sys.executable, "-c", COUNTING]] * SEARCHES
    processes = [subprocess.Popen(command) for command in commands]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


@contextmanager
def searching(consoles: Sequence[Console]) -> Iterator[None]:
    """Have each console search all the time."""
    ended = threading.Event()

    def work(console: Console) -> None:
        while not ended.is_set():
            console.get(WHERE)

    threads = [threading.Thread(target=work, args=[console]) for console in consoles]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        for thread in threads:
            thread.join()


def start(server: Server, quick: bool) -> Figures:
    """Measure starts of gateways on empty directories, one after the other."""
    times: dict[str, list[float]] = {f"{HOST}:0": [], "none": []}
    for _ in range(2 if quick else 10):
        for address, found in times.items():
            found.append(_ready_after(address))
    own, without = (median(found) for found in times.values())
    return {
        "ready, s": without,
        "ready with the console's address, s": own,
        "ready with the console's address, by without": own / without,
    }


def _ready_after(address: str) -> float:
    with tempfile.TemporaryDirectory(dir=WORKING_DIRECTORY) as directory:
        command = [KAWAL, "serve", "--listen", f"{HOST}:0", "--http", "none", "--data", f"{directory}/data"]
        command += ["--set", f"kawal.console.listeners={address}"]
        began = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert process.stdout is not None
        line = process.stdout.readline()
        took = time.perf_counter() - began
        process.terminate()
        process.communicate(timeout=20)
        assert line.startswith(b"kawal ready "), line
    return took


PARTS: Final[dict[str, Callable[[Server, bool], Figures]]] = {
    "first": first,
    "lists": lists,
    "search": search,
    "produce": produce,
    "start": start,
}


def measure(kind: ServerKind, part: str, quick: bool) -> Figures:
    """Measure one part on a server of its own."""
    return on_new_server(kind, lambda server: PARTS[part](server, quick))


def main(words: Sequence[str] | None = None) -> int:
    """Measure what the arguments say; return 1 if a bar is not met."""
    options = options_of("benchmarks.bench_console", __doc__, words, parts=PARTS, servers=["kawal"])
    return 0 if report(in_rounds(options, measure)) else 1


def report(found: dict[str, dict[str, list[float]]]) -> bool:
    """Print medians with their bars; return whether all are met."""
    all_met = True
    for name, by_server in found.items():
        figure = median(by_server["kawal"])
        line = f"{name:60}{figure:14,.2f}"
        if name in MOST:
            met = figure <= MOST[name]
            all_met &= met
            line += f"   (at most {MOST[name]:,}: {'met' if met else 'NOT MET'})"
        print(line, flush=True)
    return all_met


if __name__ == "__main__":
    sys.exit(main())
