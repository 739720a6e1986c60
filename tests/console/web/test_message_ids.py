"""Ids of messages, found at the broker."""

from __future__ import annotations

import pytest

from console.errors import CommandError
from console.web.errors import PageError
from console.web.message_ids import id_at, place_of
from console.web.record_rows import Place
from tests.broker.identified import identified
from tests.broker.kit import batch, create, send
from tests.console.web.kit import ADDRESS, Web


@pytest.fixture
def web() -> Web:
    found = Web()
    identified(found.broker.client())
    for values in ((b"a",), (b"b", b"c")):
        send(found.broker.client(), "t", batch(*values))
    return found


def test_an_id_leads_to_the_place_that_has_it(web: Web) -> None:
    with web.at_work():
        text = id_at(ADDRESS, Place("t", 0), 2)
        assert text == "0:1:0:1"
        found = place_of(ADDRESS, "t", text)
        assert (found.partition_index, found.offset) == (0, 2)
        assert id_at(ADDRESS, Place("t", 0), 99) == ""


@pytest.mark.parametrize(("text", "status"), [("9:9:0:0", 404), ("0:1", 400), ("<b>", 400), ("", 400)])
def test_what_leads_nowhere_is_a_sentence(web: Web, text: str, status: int) -> None:
    with web.at_work(), pytest.raises(PageError) as caught:
        place_of(ADDRESS, "t", text)
    assert caught.value.status == status


def test_a_topic_without_ids_is_refused_in_the_broker_s_words(web: Web) -> None:
    create(web.broker.client(), "plain")
    with web.at_work(), pytest.raises(CommandError, match="plain"):
        place_of(ADDRESS, "plain", "0:0:0:-1")
