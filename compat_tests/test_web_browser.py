"""The web console in a real browser: every page, empty and full, with hostile content, and without scripts.

The pages are those of the console's own table of routes, so a new page is tested by itself; its pattern needs
values in NAMES.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, sync_playwright

from compat_tests.broker import HOST, free_port
from compat_tests.browser import judged, launched, opened
from compat_tests.confluent import make_producer
from compat_tests.groups import group_consumer, partitions_of, poll_until
from compat_tests.hostile_texts import HANDLERS, TEXTS
from compat_tests.kawal_broker import KawalBroker
from compat_tests.topics import create_topic
from compat_tests.views import make_view
from console import queue_changes
from console.web.routes import ROUTES

pytestmark = pytest.mark.only_kawal(reason="the console is the gateway's own")

TOPIC: Final = "orders"
GROUP: Final = TEXTS[0]
LARGEST: Final = 9223372036854775807

NAMES: Final[dict[str, str]] = {
    "topic": TOPIC,
    "partition": "0",
    "offset": "0",
    "group": GROUP,
    "queue": "workers",
    "transaction": "<i>billing</i>",
    "user": "alice",
    "database": "default",
    "vnode": "vnode-1",
    "segment": f"{0:020d}.wal",
}
"""The value of each name in the patterns of routes."""

NO_PAGES: Final = (
    "/acls/remove",
    "/hanging/abort",
    "/topics/{topic}/message",
    "/topics/{topic}/records/{partition}/{offset}/{part}",
    "/sql/preview",
)
"""Routes that give a file, a part of a page, or need a query."""

WIDTHS: Final = {"wide": {"width": 1280, "height": 900}, "narrow": {"width": 390, "height": 800}}


def paths() -> list[str]:
    """Return the path of each page that only shows."""
    found = []
    for route in ROUTES:
        if route.method == "GET" and not route.streams and route.pattern not in NO_PAGES:
            missing = set(re.findall(r"{(\w+)}", route.pattern)) - NAMES.keys()
            assert not missing, f"{route.pattern}: name values for {missing} in NAMES"
            found.append(re.sub(r"{(\w+)}", lambda match: quote(NAMES[match[1]], safe=""), route.pattern))
    return found


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as play:
        found = launched(play)
        yield found
        found.close()


def served(directory: Any) -> tuple[KawalBroker, str]:
    """Start a gateway; return it and the address of its console."""
    port = free_port()
    broker = KawalBroker(directory, {"kawal.console.listeners": f"{HOST}:{port}"})
    broker.start()
    return broker, f"http://{HOST}:{port}"


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield the address of a console whose broker has nothing."""
    broker, origin = served(tmp_path_factory.mktemp("empty"))
    yield origin
    broker.stop()


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield the address of a console whose broker has hostile content wherever a client may put it."""
    broker, origin = served(tmp_path_factory.mktemp("full"))
    create_topic(broker, TOPIC, configs={"kawal.columns": "id bigint, note string"})
    make_view(broker, "late", f"SELECT id, '<script>' AS note FROM {TOPIC} WHERE id > 1")
    producer = make_producer(broker)
    producer.produce(TOPIC, b'{"id":%d,"note":"<b>"}' % LARGEST, key="k", headers=[("h", "v")])
    for text in TEXTS:
        data = text.encode("utf-8", "surrogatepass")
        producer.produce(TOPIC, data, key=data, headers=[(text.replace("\x00", "") or "h", data)])
    producer.produce(TOPIC, bytes(range(256)) * 3_800, key=b"\xff\xfe", headers=[("binary", b"\x00\xff")])
    assert producer.flush(60) == 0
    with group_consumer(broker, GROUP, TOPIC, client_id=HANDLERS[0]) as consumer:
        read: list[Any] = []
        while not read:
            read = poll_until(lambda: bool(partitions_of(consumer)), consumer, what="an assignment")
            read += [message for message in [consumer.poll(60)] if message is not None]
        consumer.commit(message=read[0], asynchronous=False)
    transactional = make_producer(broker, transactional_id=NAMES["transaction"])
    transactional.init_transactions(60)
    queue_changes.move(broker.bootstrap, NAMES["queue"], [queue_changes.Move(TOPIC, 0, None, 0)])
    yield origin
    broker.stop()


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("content", ["empty", "full"])
def test_every_page_is_sound(
    browser: Browser, content: str, scheme: str, width: str, request: pytest.FixtureRequest
) -> None:
    origin = request.getfixturevalue(content)
    wrong: list[str] = []
    with opened(browser, origin, color_scheme=scheme, viewport=WIDTHS[width]) as (page, watch):
        for path in paths():
            answer = page.goto(path)
            assert answer is not None
            # What an empty broker does not have is not found, with a sentence.
            assert answer.status in ((200,) if content == "full" else (200, 404)), f"{path}: {answer.status}"
            watch.check(page)
            wide = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
            if wide > 0:
                wrong.append(f"{path}: {wide} pixels wider than the window")
            if width == "wide":
                wrong += [f"{path}: {found}" for found in judged(page)]
    assert not wrong, "\n".join(wrong)


def test_records_are_reached_by_links_without_scripts(browser: Browser, full: str) -> None:
    with opened(browser, full, java_script_enabled=False) as (page, _):
        page.goto("/")
        page.get_by_role("link", name="Topics", exact=True).first.click()
        page.get_by_role("link", name=TOPIC, exact=True).first.click()
        page.get_by_role("link", name="Records", exact=True).first.click()
        page.get_by_role("link", name="0", exact=True).first.click()
        assert page.url.endswith(f"/topics/{TOPIC}/records/0/0")
        assert str(LARGEST) in page.locator("main").inner_text()


def test_rows_are_walked_and_opened_by_keys(browser: Browser, full: str) -> None:
    with opened(browser, full) as (page, watch):
        page.goto("/")
        page.keyboard.press("g")
        page.keyboard.press("t")
        page.wait_for_url("**/topics")
        page.keyboard.press("/")
        assert page.evaluate("document.activeElement.hasAttribute('data-search')")
        page.evaluate("document.activeElement.blur()")
        for _ in range(2):
            page.keyboard.press("j")
        page.keyboard.press("k")
        name = page.locator("tr[data-at] a").first.inner_text()
        page.keyboard.press("Enter")
        page.wait_for_url(f"**/topics/{quote(name)}")
        page.keyboard.press("?")
        assert page.locator("#keys").is_visible()
        watch.check(page)


@pytest.mark.parametrize("path", ["/", "/topics"])
def test_the_first_page_is_light(browser: Browser, full: str, path: str) -> None:
    with opened(browser, full) as (page, watch):
        sizes: list[int] = []
        session = page.context.new_cdp_session(page)
        session.send("Network.enable")
        session.on("Network.loadingFinished", lambda event: sizes.append(int(event["encodedDataLength"])))
        page.goto(path, wait_until="networkidle")
        watch.check(page)
        assert len(sizes) <= 8
        assert sum(sizes) <= 40 << 10, sizes
