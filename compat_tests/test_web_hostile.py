"""Hostile content in the web console: 60 texts in every field, in a real browser that watches them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Final
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, sync_playwright

from compat_tests.broker import HOST, free_port
from compat_tests.browser import launched, opened
from compat_tests.hostile_fields import COLUMNS, CROWD, QUEUE, SESSIONS, TOPIC, fill, refused_name
from compat_tests.hostile_texts import TEXTS
from compat_tests.kawal_broker import KawalBroker
from compat_tests.test_web_browser import paths
from compat_tests.wire import raw_client

pytestmark = pytest.mark.only_kawal(reason="the console is the gateway's own")

LISTS: Final = (
    "/groups?sort=-lag",
    f"/groups/{CROWD}",
    f"/groups/{CROWD}/members",
    f"/topics/{TOPIC}/records?order=oldest",
    f"/topics/{TOPIC}/records?where=id+%3D+1",
    f"/topics/{TOPIC}/records?cols=id,note",
    f"/topics/{TOPIC}/unfit",
    f"/topics/{TOPIC}/tail?from=earliest",
    f"/topics/{TOPIC}/delete",
    f"/topics/{COLUMNS}",
    f"/topics/{COLUMNS}/records",
    f"/topics/{COLUMNS}/config",
    "/map",
    "/transactions",
    "/queues",
    f"/map?focus={TOPIC}",
    "/topics",
    f"/queues/{QUEUE}",
    f"/queues/{QUEUE}/peek",
    f"/topics/{SESSIONS}/records/0/0",
    f"/topics/{SESSIONS}/config",
    "/audit",
    "/topics/__kawal_audit/records?cols=client_id,user,resource,before,after&order=newest",
)
"""Pages that show what was written, beside those of the table of routes."""

WRITTEN: Final = (
    "/sql?q={}",
    "/new/view?sql=SELECT+*+FROM+orders&name={}",
    "/new/topic?name={}&partitions=1&config={}",
    "/topics?q={}",
    "/groups?q={}&state={}",
    "/map?focus={}",
    f"/topics/{TOPIC}/records?where=note+%3D+'{{}}'&cols={{}}",
    f"/topics/{TOPIC}/records?from={{}}&until={{}}&p={{}}",
    f"/topics/{TOPIC}/tail?where={{}}",
    f"/topics/{TOPIC}/message?id={{}}",
    f"/topics/{TOPIC}/splits?partition={{}}",
    f"/groups/{CROWD}/lag?since={{}}",
    f"/topics/{TOPIC}/config?name=retention.ms&value={{}}&action=set",
    "/topics/{}",
    "/topics/{}/records",
    "/groups/{}",
    "/groups/{}/reset?to={}&topic={}",
    "/groups/{}/delete",
    "/databases/{}",
)
"""Pages that show what is in their address."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as play:
        found = launched(play)
        yield found
        found.close()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[KawalBroker, str]]:
    """Yield a gateway that is full of them, and the address of its console."""
    port = free_port()
    settings = {
        "kawal.console.listeners": f"{HOST}:{port}",
        "group.initial.rebalance.delay.ms": "100",
        "kawal.audit.topic": "true",
        # Share members send no further heartbeats.
        "group.share.max.session.timeout.ms": "1800000",
        "group.share.session.timeout.ms": "1800000",
    }
    broker = KawalBroker(tmp_path_factory.mktemp("hostile"), settings)
    broker.start()
    with ExitStack() as stack:
        fill(broker, stack)
        yield broker, f"http://{HOST}:{port}"
    broker.stop()


def test_what_clients_wrote_is_shown_and_does_nothing(
    browser: Browser, site: tuple[KawalBroker, str]
) -> None:
    with opened(browser, site[1]) as (page, watch):
        for path in (*LISTS, *paths()):
            answer = page.goto(path)
            assert answer is not None
            assert answer.status < 500, path
            watch.check(page)
        page.goto("/groups")
        assert "<script>window." in page.get_by_role("main").inner_text()
        page.goto(f"/queues/{QUEUE}")
        assert "<script>window." in page.get_by_role("main").inner_text()
        page.goto(f"/groups/{CROWD}/members")
        assert "<script>window." in page.get_by_role("main").inner_text()


def test_every_group_record_and_view_is_shown_alone_and_does_nothing(
    browser: Browser, site: tuple[KawalBroker, str]
) -> None:
    with opened(browser, site[1]) as (page, watch):
        for index, text in enumerate(TEXTS):
            page.goto(f"/groups/{quote(text, safe='')}")
            assert page.get_by_role("heading", level=1).count() == 1
            watch.check(page)
            page.goto(f"/topics/{TOPIC}/records/0/{2 * index}")
            watch.check(page)
            if index % 4 == 0:
                page.goto(f"/topics/view-{index}/{('', 'records', 'config')[index % 3]}".rstrip("/"))
                watch.check(page)


def test_what_is_written_in_an_address_is_shown_and_does_nothing(
    browser: Browser, site: tuple[KawalBroker, str]
) -> None:
    with opened(browser, site[1]) as (page, watch):
        for index, text in enumerate(TEXTS):
            for step in range(2):  # every page gets eight of them, every text two pages
                pattern = WRITTEN[(index * 2 + step) % len(WRITTEN)]
                answer = page.goto(pattern.replace("{}", quote(text, safe="")))
                assert answer is not None
                assert answer.status in (200, 400, 404), f"{answer.status} {answer.url}"
                watch.check(page)


def test_what_is_written_into_a_form_by_hand_does_nothing(
    browser: Browser, site: tuple[KawalBroker, str]
) -> None:
    with opened(browser, site[1]) as (page, watch):
        page.goto("/sql")
        for text in TEXTS[::3]:
            with page.expect_response("**/sql/preview*"):
                page.get_by_label("Statement").fill(f"SELECT '{text}' FROM {TOPIC}")
            watch.check(page)


def test_no_topic_can_have_such_a_name(site: tuple[KawalBroker, str]) -> None:
    with raw_client(site[0]) as raw:
        allowed = [text for text in TEXTS if not refused_name(raw, text)]
    assert allowed == ["9223372036854775807"]
