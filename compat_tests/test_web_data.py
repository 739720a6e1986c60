"""The web console's pages about data, beside any broker: searches, tails, records by hand, masks."""

from __future__ import annotations

import http.client
import json
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest

from compat_tests.broker import HOST, Broker
from compat_tests.conftest import MakeTopic, StartBroker
from compat_tests.kawal_broker import KAWAL
from compat_tests.waiting import eventually

Console = Callable[..., "Site"]


class Site:
    """A console that runs alone."""

    def __init__(self, process: subprocess.Popen[bytes], out: Path) -> None:
        self.process = process

        def port() -> re.Match[str] | None:
            assert process.poll() is None
            return re.search(r"^kawal console http://[\d.]+:(\d+)$", out.read_text(), re.MULTILINE)

        self.port = int(eventually(port, waiting_for="the console")[1])

    def get(self, path: str) -> tuple[int, bytes]:
        return self._ask("GET", path)

    def post(self, path: str, **fields: str) -> tuple[int, bytes]:
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin"}
        return self._ask("POST", path, urlencode(fields), headers)

    def rows(self, path: str) -> list[dict[str, object]]:
        status, body = self.get(f"{path}{'&' if '?' in path else '?'}as=json")
        assert status == 200, body
        found: list[dict[str, object]] = json.loads(body)
        return found

    def _ask(
        self, method: str, path: str, body: str = "", headers: dict[str, str] | None = None
    ) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(HOST, self.port, timeout=60)
        try:
            connection.request(method, path, body or None, headers or {})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()


@pytest.fixture
def console(tmp_path: Path) -> Iterator[Console]:
    """Yield a function that starts a console beside a broker."""
    started: list[subprocess.Popen[bytes]] = []

    def start(broker: Broker, *options: str) -> Site:
        out = tmp_path / f"console-{len(started)}"
        with out.open("wb") as output:
            command = [KAWAL, "console", "--bootstrap", broker.bootstrap, "--listen", f"{HOST}:0", *options]
            started.append(subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT))
        return Site(started[-1], out)

    yield start
    for process in started:
        process.terminate()
        process.wait(60)


def produce(broker: Broker, topic: str, *lines: str) -> None:
    command = [KAWAL, "produce", topic, "--json", "--bootstrap", broker.bootstrap]
    subprocess.run(command, input="\n".join(lines).encode(), check=True, timeout=60, capture_output=True)


def test_a_search_by_what_every_record_has_works_on_any_broker(
    broker: Broker, make_topic: MakeTopic, console: Console
) -> None:
    topic = make_topic(partitions=2)
    produce(
        broker,
        topic,
        *(json.dumps({"key": f"k{n % 7}", "value": f"v{n}", "partition": n % 2}) for n in range(1000)),
    )
    site = console(broker)
    where = quote("_key = 'k3' AND _offset < 100")
    rows = site.rows(f"/topics/{topic}/records?where={where}")
    assert len(rows) == sum(1 for n in range(200) if n % 7 == 3)
    assert {row["key"] for row in rows} == {"k3"}
    status, body = site.get(f"/topics/{topic}/records?where=delay+%3E+3")
    assert status == 400
    assert b"declares no columns" in body


def test_keys_of_any_bytes_and_the_largest_integers_are_shown_as_stored(
    broker: Broker, make_topic: MakeTopic, console: Console
) -> None:
    topic = make_topic()
    produce(broker, topic, '{"key_base64":"/wCA","value":"{\\"n\\":9223372036854775807}"}')
    site = console(broker)
    (row,) = site.rows(f"/topics/{topic}/records?cols=n")
    assert (row["key"], row["value.n"]) == ("base64:/wCA", 9223372036854775807)
    assert b"9223372036854775807" in site.get(f"/topics/{topic}/records/0/0")[1]
    assert site.get(f"/topics/{topic}/records/0/0/key") == (200, b"\xff\x00\x80")


def test_a_value_of_nearly_a_mebibyte_is_found_cut_and_downloaded_whole(
    broker: Broker, make_topic: MakeTopic, console: Console
) -> None:
    topic = make_topic()
    value = "x" * 1_000_000
    produce(broker, topic, json.dumps({"value": value}), '{"value":"small"}')
    site = console(broker)
    status, page = site.get(f"/topics/{topic}/records?where=_offset+%3D+0")
    assert status == 200
    assert len(page) < 20_000
    assert site.get(f"/topics/{topic}/records/0/0/value") == (200, value.encode())


def test_a_record_like_another_is_stored(broker: Broker, make_topic: MakeTopic, console: Console) -> None:
    topic = make_topic()
    produce(broker, topic, '{"key":"k","value":"v","headers":{"trace":"1"}}')
    site = console(broker)
    assert b'value="trace"' in site.get(f"/topics/{topic}/produce?like=0:0")[1]
    line = '{"key":"k","value":"w","headers":{"trace":"1"}}'
    status, preview = site.post(f"/topics/{topic}/produce/preview", kind="lines", lines=line)
    assert status == 200
    assert b"Send 1 record" in preview
    assert site.post(f"/topics/{topic}/produce", lines=line)[0] == 303
    assert [row["value"] for row in site.rows(f"/topics/{topic}/records")] == ["w", "v"]


def test_what_is_masked_leaves_no_console(broker: Broker, make_topic: MakeTopic, console: Console) -> None:
    topic = make_topic()
    produce(broker, topic, '{"key":"4111","value":{"number":"4111","amount":1}}')
    site = console(broker, "--mask", f"{topic}:number", "--mask", f"{topic}:key")
    for path in ("records", "records?as=csv", "records/0/0", "records/0/0?as=json", "tail", "columns"):
        status, body = site.get(f"/topics/{topic}/{path}")
        assert status == 200
        assert b"4111" not in body
    for path in ("records/0/0/key", "records/0/0/value", "produce?like=0:0"):
        status, body = site.get(f"/topics/{topic}/{path}")
        assert status == 403
        assert b"4111" not in body


def test_a_tail_goes_on_when_the_broker_comes_back(start_broker: StartBroker, console: Console) -> None:
    broker = start_broker(num_partitions="1")
    produce(broker, "t", '{"value":"before"}')
    site = console(broker)
    connection = http.client.HTTPConnection(HOST, site.port, timeout=60)
    connection.request("GET", "/topics/t/tail/events?at=0:0")
    answer = connection.getresponse()
    assert answer.headers["Content-Type"] == "text/event-stream"
    read_until(answer, "before")
    broker.stop()
    read_until(answer, "the broker is away")
    broker.restart()
    produce(broker, "t", '{"value":"after"}')
    event = read_until(answer, "after")
    assert "id: 0:2" in event
    connection.close()


def read_until(answer: http.client.HTTPResponse, words: str) -> str:
    """Return the event that has these words."""
    event = ""
    while True:
        line = answer.readline().decode()
        assert line, f"the stream ended before {words!r}"
        event += line
        if line == "\n":
            if words in event:
                return event
            event = ""


@pytest.mark.only_kawal(reason="columns and views are Kawal's")
def test_a_late_flight_is_found_and_the_search_saved_as_a_topic(
    broker: Broker, make_topic: MakeTopic, console: Console
) -> None:
    topic = make_topic(partitions=2, kawal_columns="id bigint, carrier string, delay int")
    flights = [{"id": n, "carrier": "TP", "delay": 99 if n == 321 else n % 10} for n in range(500)]
    produce(broker, topic, *(json.dumps({"value": flight}) for flight in flights))
    site = console(broker)
    (row,) = site.rows(f"/topics/{topic}/records?where=delay+%3E+15")
    assert row["value.id"] == 321
    sql = f"SELECT carrier, id FROM `{topic}` WHERE delay > 15"
    name = f"{topic}.late"
    status, plan = site.get(f"/new/view?{urlencode({'sql': sql, 'name': name})}")
    assert status == 200
    assert b"1 of 500 match" in plan
    assert site.post("/new/view", sql=sql, name=name)[0] == 303
    assert [row["value"] for row in site.rows(f"/topics/{name}/records")] == ['{"carrier":"TP","id":321}']
