"""Five journeys through the web console, by clicks in a real browser; other clients read what they make."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from compat_tests.browser import Watch, launched, opened
from compat_tests.confluent import make_producer, produce
from compat_tests.groups import committed_of, group_consumer, partitions_of, poll_until
from compat_tests.kawal_broker import KawalBroker
from compat_tests.kcat import kcat
from compat_tests.test_web_browser import served
from compat_tests.topics import create_topic

pytestmark = pytest.mark.only_kawal(reason="views and the console beside the gateway are Kawal's")

COLUMNS: Final = {"kawal.columns": "id bigint, carrier string, delay int"}
expect.set_options(timeout=30_000)

LATE: Final = b'{"id":9007199254741051,"carrier":"TP","delay":99}'


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as play:
        found = launched(play)
        yield found
        found.close()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[KawalBroker, str]]:
    broker, origin = served(tmp_path_factory.mktemp("journeys"))
    yield broker, origin
    broker.stop()


@pytest.fixture
def tab(browser: Browser, site: tuple[KawalBroker, str]) -> Iterator[Page]:
    """Yield a page of the console, in which nothing may have gone wrong at the end."""
    with opened(browser, site[1]) as (page, watch):
        yield page
        end(page, watch)


def end(page: Page, watch: Watch) -> None:
    watch.check(page)


def press(page: Page, label: str) -> None:
    page.get_by_role("button", name=label, exact=True).first.click()


def follow(page: Page, label: str) -> None:
    page.get_by_role("main").get_by_role("link", name=label, exact=True).first.click()


def go(page: Page, label: str) -> None:
    page.get_by_role("navigation", name="Pages").get_by_role("link", name=label, exact=True).click()


def main_of(page: Page) -> Any:
    return page.get_by_role("main")


def test_the_first_record_is_sent_by_the_line_of_the_overview_and_the_second_by_hand(
    browser: Browser, tmp_path: Any
) -> None:
    broker, origin = served(tmp_path / "first")
    try:
        with opened(browser, origin) as (page, watch):
            page.goto("/")
            line = page.locator("pre.command").first.inner_text()
            assert broker.bootstrap in line
            follow(page, "make one")
            page.get_by_label("Name").fill("orders")
            page.get_by_label("Partitions").fill("1")
            press(page, "Check")
            press(page, "Create")
            expect(main_of(page)).to_contain_text("created")
            subprocess.run(["bash", "-c", line], check=True, timeout=60)
            go(page, "Topics")
            follow(page, "orders")
            follow(page, "Records")
            expect(main_of(page)).to_contain_text('{"total":12.5}')
            follow(page, "0")
            follow(page, "Produce one like this")
            page.get_by_role("textbox", name="Value text").first.fill('{"total":13.5}')
            press(page, "Preview")
            press(page, "Send 1 record")
            expect(main_of(page)).to_contain_text('{"total":13.5}')
            end(page, watch)
        assert b'7:{"total":13.5}' in kcat(broker, "-C", "-t", "orders", "-e", "-q", "-K:").stdout
    finally:
        broker.stop()


def test_a_late_flight_is_found_and_the_search_is_a_topic_that_kcat_reads(
    tab: Page, site: tuple[KawalBroker, str]
) -> None:
    broker, _ = site
    create_topic(broker, "flights", configs=COLUMNS)
    produce(make_producer(broker), "flights", [b'{"id":%d,"carrier":"LH","delay":3}' % n for n in range(300)])
    produce(make_producer(broker), "flights", [LATE])
    tab.goto("/topics")
    follow(tab, "flights")
    follow(tab, "Records")
    tab.get_by_label("WHERE").fill("delay > 15")
    press(tab, "Show")
    expect(main_of(tab)).to_contain_text("301 of 301 looked at, 1 found")
    expect(tab.locator("tbody tr")).to_have_count(1)
    expect(tab.locator("tbody tr")).to_contain_text("9007199254741051")
    follow(tab, "Save as topic")
    tab.get_by_label("Name", exact=True).fill("late")
    press(tab, "Create…")
    press(tab, "Create late")
    expect(main_of(tab)).to_contain_text("created")
    found = kcat(broker, "-C", "-t", "late", "-e", "-q").stdout
    assert found.strip() == LATE


def test_a_group_is_reset_after_a_preview_of_each_partition(tab: Page, site: tuple[KawalBroker, str]) -> None:
    broker, _ = site
    create_topic(broker, "bills", 2)
    producer = make_producer(broker)
    for partition in range(2):
        produce(producer, "bills", [b"x"] * 10, partition=partition)
    with group_consumer(broker, "billing", "bills") as consumer:
        poll_until(lambda: len(partitions_of(consumer)) == 2, consumer, what="an assignment")
        taken: list[Any] = []
        while len(taken) < 20:
            message = consumer.poll(60)
            if message is not None:
                taken.append(message)
        consumer.commit(asynchronous=False)
    tab.goto("/")
    go(tab, "Groups")
    follow(tab, "billing")
    follow(tab, "Reset offsets…")
    tab.get_by_label("To", exact=True).fill("4")
    press(tab, "Preview")
    expect(main_of(tab)).to_contain_text("6 again")
    before = committed_of(broker, "billing")
    assert set(before.values()) == {10}  # a preview changes nothing
    press(tab, "Reset")
    expect(tab.get_by_role("status").first).to_contain_text("billing")
    assert committed_of(broker, "billing") == {0: 4, 1: 4}


def test_a_view_with_a_typo_is_marked_at_its_place_mended_and_made(
    tab: Page, site: tuple[KawalBroker, str]
) -> None:
    broker, _ = site
    create_topic(broker, "gates", configs=COLUMNS)
    produce(make_producer(broker), "gates", [LATE, b'{"id":1,"carrier":"LH","delay":3}'])
    tab.goto("/")
    go(tab, "SQL")
    statement = tab.get_by_label("Statement")
    statement.press_sequentially("SELECT carrier, delay FROM gates WHERE dely > 15")
    # Without a button: the preview follows what is written.
    mistake = tab.get_by_role("alert")
    expect(mistake).to_contain_text("column 'dely' is unknown")
    mark = mistake.locator("pre").inner_text().split("\n")
    assert mark[0][mark[1].index("^") :].startswith("dely")
    statement.fill("SELECT carrier, delay FROM gates WHERE delay > 15")
    expect(tab.locator("#preview")).to_contain_text("1 of 2 match")
    expect(mistake).to_have_count(0)
    tab.get_by_label("Name", exact=True).fill("gates.late")
    press(tab, "Create…")
    press(tab, "Create gates.late")
    expect(main_of(tab)).to_contain_text("created")
    found = kcat(broker, "-C", "-t", "gates.late", "-e", "-q").stdout
    assert found.strip() == b'{"carrier":"TP","delay":99}'


def test_the_lag_of_a_consumer_that_stalls_is_followed_until_it_goes_on(
    tab: Page, site: tuple[KawalBroker, str]
) -> None:
    broker, _ = site
    create_topic(broker, "trips", 1)
    producer = make_producer(broker)
    produce(producer, "trips", [b"x"] * 10)
    with group_consumer(broker, "stalled", "trips", client_id="slow-one") as consumer:
        poll_until(lambda: partitions_of(consumer) == [0], consumer, what="an assignment")
        read(consumer, 10)
        produce(producer, "trips", [b"x"] * 1_500)
        tab.goto("/groups?sort=-lag")
        follow(tab, "stalled")
        expect(main_of(tab)).to_contain_text("1,500 records")
        expect(main_of(tab)).to_contain_text("slow-one")
        produce(producer, "trips", [b"x"] * 500)
        tab.reload()
        expect(main_of(tab)).to_contain_text("2,000 records")
        # The first record that it has not read is behind a link.
        follow(tab, "10")
        tab.wait_for_url(f"**at={quote('0:10')}*")
        read(consumer, 2_000)
        go(tab, "Groups")
        follow(tab, "stalled")
        expect(main_of(tab)).to_contain_text(re.compile(r"(?<![\d,])0 records"))


def test_new_lag_comes_by_itself_into_an_open_page(tab: Page, site: tuple[KawalBroker, str]) -> None:
    broker, _ = site
    create_topic(broker, "rides", 1)
    producer = make_producer(broker)
    produce(producer, "rides", [b"x"] * 10)
    with group_consumer(broker, "live", "rides") as consumer:
        poll_until(lambda: partitions_of(consumer) == [0], consumer, what="an assignment")
        read(consumer, 10)
        tab.goto("/groups/live/lag")
        expect(main_of(tab)).to_contain_text("0 records")
        tab.evaluate("window.kawalStays = true")
        produce(producer, "rides", [b"x"] * 1_234)
        expect(main_of(tab)).to_contain_text("Behind")
        expect(main_of(tab)).to_contain_text("1,234 records")
        expect(tab.get_by_role("img", name=re.compile("lag in records: now 1,234"))).to_be_visible()
        read(consumer, 1_234)
        expect(main_of(tab)).to_contain_text(re.compile(r"(?<![\d,])0 records at"))
        assert tab.evaluate("window.kawalStays"), "the page was not loaded again"


def read(consumer: Any, count: int) -> None:
    """Read this many records and commit them."""
    taken = 0
    while taken < count:
        taken += len(consumer.consume(count - taken, 5))
    consumer.commit(asynchronous=False)
