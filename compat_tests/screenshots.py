"""The pictures of docs/console.md: `make screenshots` takes them from the sample data, in Chromium.

    python -m compat_tests.screenshots [DIRECTORY]

A gateway of its own gets flights, a view of the late ones, and two groups that read them; then each page of
PAGES is opened in a window of always the same size.  Times are those of the day; all else stays as it is, so
a picture changes when its page does.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from playwright.sync_api import Browser, sync_playwright

from compat_tests.broker import HOST, free_port
from compat_tests.browser import launched, opened
from compat_tests.confluent import make_producer
from compat_tests.groups import group_consumer, partitions_of, poll_until
from compat_tests.kawal_broker import KawalBroker
from compat_tests.topics import create_topic
from compat_tests.views import make_view

PICTURES: Final = Path(__file__).parents[1] / "docs" / "pictures"
BYTES_MAX: Final = 100_000
WINDOW: Final = {"width": 1000, "height": 560}

PAGES: Final = {
    "topics": "/topics",
    "records": "/topics/flights/records?where=delay+%3E+112",
    "record": "/topics/flights/records/0/0",
    "group": "/groups/billing",
    "sql": "/sql?q=SELECT+carrier,+delay+FROM+flights+WHERE+delay+%3E+112",
    "map": "/map",
}
"""The address of each picture."""

FLIGHTS: Final = 4_000
HOURS: Final = 6
CARRIERS: Final = ("TP", "LH", "KL", "AF", "FR", "U2")
PORTS: Final = (9092, 9645)
"""The usual ones, if they are free, so that the addresses in pictures stay the same."""


def flight(number: int) -> tuple[str, bytes]:
    """Return key and value of one flight."""
    carrier = CARRIERS[number * 7 % len(CARRIERS)]
    delay = number * 37 % 29 + (90 if number % 83 == 0 else 0)
    value = b'{"id":%d,"carrier":"%s","delay":%d}' % (9007199254740993 + number, carrier.encode(), delay)
    return carrier, value


def busy_at(share: float) -> float:
    """Return how far through the hours a share of all flights has started: more in the middle than else."""
    return (3 * share - 3 * share**2 + share**3) * 0.5 + share**2 * 0.5


def fill(broker: KawalBroker) -> None:
    """Write the sample data."""
    create_topic(broker, "flights", 2, configs={"kawal.columns": "id bigint, carrier string, delay int"})
    create_topic(broker, "gates", 1)
    make_view(broker, "late", "SELECT carrier, delay FROM flights WHERE delay > 90")
    begin_ms = int(time.time() * 1000) - HOURS * 3_600_000
    producer = make_producer(broker)
    for number in range(FLIGHTS):
        key, value = flight(number)
        moment = begin_ms + int(busy_at(number / FLIGHTS) * HOURS * 3_600_000)
        producer.produce("flights", value, key=key, partition=number % 2, timestamp=moment)
    producer.produce("gates", b'{"gate":"A12"}', key="A12")
    assert producer.flush(60) == 0


def read(broker: KawalBroker, group: str, topic: str, count: int) -> Iterator[Any]:
    """Have a member of a group read a number of records, and stay."""
    with group_consumer(broker, group, topic, client_id=f"{group}-1") as consumer:
        taken = poll_until(lambda: bool(partitions_of(consumer)), consumer, what="an assignment")
        while len(taken) < count:
            taken += consumer.consume(count - len(taken), 5)
        consumer.commit(asynchronous=False)
        yield consumer


@contextmanager
def site(ports: Sequence[int] = PORTS) -> Iterator[str]:
    """Serve the sample data, on these ports if they are free; give the address of the console."""
    kafka, web = (port if port and _is_free(port) else free_port() for port in ports)
    with tempfile.TemporaryDirectory() as directory:
        broker = KawalBroker(Path(directory), {"kawal.console.listeners": f"{HOST}:{web}"})
        broker.port = kafka
        broker.start()
        try:
            fill(broker)
            members = [read(broker, "billing", "flights", 2_500), read(broker, "alerts", "late", 10)]
            for member in members:
                next(member)
            yield f"http://{HOST}:{web}"
            for member in members:
                next(member, None)
        finally:
            broker.stop()


SETTLED_MS: Final = 500
"""The time in which a page asks for its parts."""


def _is_free(port: int) -> bool:
    import socket

    with socket.socket() as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind((HOST, port))
        except OSError:
            return False
    return True


def take(browser: Browser, origin: str, directory: Path) -> None:
    """Take all pictures."""
    directory.mkdir(parents=True, exist_ok=True)
    with opened(browser, origin, viewport=WINDOW, color_scheme="light") as (page, watch):
        for name, path in PAGES.items():
            # Not until the network is idle: a page that is live never lets it be.
            page.goto(path, wait_until="load")
            page.wait_for_timeout(SETTLED_MS)
            page.wait_for_function("() => !document.querySelector('.htmx-request')")
            watch.check(page)
            picture = directory / f"console-{name}.png"
            page.screenshot(path=picture)
            size = picture.stat().st_size
            assert size < BYTES_MAX, f"{picture} has {size} bytes"
            print(f"{picture.name} {size:,} bytes")


def main(words: Sequence[str] = (), ports: Sequence[int] = PORTS) -> int:
    """Take the pictures into a directory."""
    directory = Path(words[0]) if words else PICTURES
    with site(ports) as origin, sync_playwright() as play:
        browser = launched(play)
        take(browser, origin, directory)
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
