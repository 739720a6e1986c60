"""Messages by their ids in a browser."""

from __future__ import annotations

import pytest

from tests.broker.identified import identified
from tests.broker.kit import batch, create, send
from tests.console.web.kit import Web


@pytest.fixture
def web() -> Web:
    found = Web()
    identified(found.broker.client())
    for values in ((b"a",), (b"b", b"c")):
        send(found.broker.client(), "t", batch(*values))
    return found


def test_a_record_shows_its_id_and_the_id_leads_back_to_it(web: Web) -> None:
    (link,) = web.get("/topics/t/records/0/2").links("0:1:0:1")
    answer = web.get(link)
    assert (answer.status, answer.headers["location"]) == (303, "/topics/t/records/0/2")


def test_the_topic_s_page_asks_for_an_id(web: Web) -> None:
    assert 'action="/topics/t/message"' in web.get("/topics/t").html


def test_a_topic_without_ids_shows_none_and_asks_for_none() -> None:
    web = Web()
    create(web.broker.client(), "plain")
    send(web.broker.client(), "plain", batch(b"a"))
    assert "<dt>Id</dt>" not in web.get("/topics/plain/records/0/0").html
    assert "/message" not in web.get("/topics/plain").html


@pytest.mark.parametrize(("text", "status"), [("", 400), ("0:1", 400), ("%3Cb%3E", 400), ("9:9:0:0", 404)])
def test_an_id_of_nothing_is_a_sentence(web: Web, text: str, status: int) -> None:
    page = web.get(f"/topics/t/message?id={text}")
    assert page.status == status
    assert page.problem
