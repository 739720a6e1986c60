"""A server's figures, read from outside: memory, processor time, and what it tells of itself."""

from __future__ import annotations

import re
import urllib.request
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from prometheus_client.parser import text_string_to_metric_families

from compat_tests.broker import HOST, Broker

INTERNAL_ERRORS = "kawal_internal_errors_total"
TOOK_LONG = "turn of the event loop took long"
TURN = re.compile(
    TOOK_LONG + r"(?: \(\d+ more like it were left out\))?"
    r"(?: worker=\d+)? turn_ms=\d+ cpu_ms=(?P<cpu>\d+) work=(?P<work>\S+) .*\bpiece=(?P<piece>\S+)"
)
REQUEST = re.compile(
    r"kawal\.request\S*: (?P<api>\S+) .*client=(?P<client>\S+) .*total_ms=(?P<total>[\d.]+)(?P<phases>.*)"
)
PLACE_CHARS = 240


def memory_of(broker: Broker) -> float:
    """Return the memory that the broker's processes hold now, in MiB."""
    return _status(broker, "VmRSS")


def peak_memory_of(broker: Broker) -> float:
    """Return the most memory that it held since its start or since `forget_peak`, in MiB."""
    return _status(broker, "VmHWM")


def forget_peak(broker: Broker) -> None:
    """Let the peak of the memory count from now on.  Source: Linux, proc(5), /proc/PID/clear_refs."""
    for pid in processes_of(broker):
        Path(f"/proc/{pid}/clear_refs").write_text("5")


def processes_of(broker: Broker) -> list[int]:
    """Return the broker's workers; without any, its process.

    The parent of workers does nothing but watch, and what it has they share.
    """
    pid = broker.process.pid
    if getattr(broker, "workers", 0) < 2:
        return [pid]
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _status(broker: Broker, name: str) -> float:
    """Return a figure of all processes; the pages that workers share count once."""
    pids = processes_of(broker)
    found = sum(status_mib(Path(f"/proc/{pid}/status").read_text(), name) for pid in pids)
    return found - (sum(map(_shared_mib, pids)) if len(pids) > 1 else 0.0)


def _shared_mib(pid: int) -> float:
    """Return by how much a process's memory is more than its part of it.  Source: Linux, smaps_rollup."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return status_mib(text, "Rss") - status_mib(text, "Pss")


def status_mib(status: str, name: str) -> float:
    """Return a figure of a process by the text of its `/proc/PID/status`, in MiB."""
    found = re.search(rf"^{name}:\s+(\d+) kB", status, re.MULTILINE)
    assert found, "a process that has ended holds no memory"
    return int(found[1]) / 1024


def loop_seconds(pid: int) -> float:
    """Return the processor time of the event loop, which is the process's first thread.

    The kernel brings the figure up to date every 1 to 4 ms.
    Source: Linux, Documentation/scheduler/sched-stats.rst: running ns, waiting ns, time slices.
    """
    return int(Path(f"/proc/{pid}/task/{pid}/schedstat").read_text().split()[0]) / 1e9


Metrics = dict[tuple[str, tuple[tuple[str, str], ...]], float]
"""The value of each sample by its name and labels."""


def metrics_of(http_port: int, *, within_seconds: float = 60.0) -> Metrics:
    """Return what the server's /metrics shows."""
    url = f"http://{HOST}:{http_port}/metrics"
    with urllib.request.urlopen(url, timeout=within_seconds) as answer:
        text = answer.read().decode()
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def internal_errors(metrics: Metrics) -> dict[str, int]:
    """Return how many errors of its own the server has met, by their place; none is the only good answer."""
    found: Counter[str] = Counter()
    for (name, labels), value in metrics.items():
        if name == INTERNAL_ERRORS and value:
            found[dict(labels)["place"]] += int(value)
    return dict(found)


class Turn(NamedTuple):
    """A turn of the event loop that the server's watchdog has logged."""

    cpu_ms: int
    work: str
    """The API or kind of work that took the most of it."""
    place: str
    """The end of its stack."""
    piece: str = ""
    """The longest piece of work in it."""


def long_turns(log: str) -> list[Turn]:
    """Return the turns in a server's output, those that took the most processor time first.

    The server logs those that took more processor than its limit, and those that were stopped for long.
    """
    found = [
        Turn(int(match["cpu"]), match["work"], line[-PLACE_CHARS:], match["piece"])
        for line in log.splitlines()
        if (match := TURN.search(line))
    ]
    return sorted(found, reverse=True)


def slowest_requests(log: str, client_id: str, count: int) -> list[str]:
    """Return the requests of a client that took longest, with their phases, from a server's request log."""
    found = [
        (float(match["total"]), f"{match['api']} {match['total']} ms:{match['phases']}")
        for match in REQUEST.finditer(log)
        if match["client"] == client_id
    ]
    return [text for _, text in sorted(found, reverse=True)[:count]]
