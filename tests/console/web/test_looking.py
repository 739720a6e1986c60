"""A search as a job that can be sent to another process."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from console.web.errors import PageError
from console.web.looking import look_for
from console.web.looks import Look
from console.web.masks import Masks, parse_mask
from console.web.preview import preview_of
from console.web.ranges import Asked
from console.web.search_bounds import Bounds
from console.web.sources import source_of
from tests.broker.kit import batch, create, send
from tests.console.web.kit import ADDRESS, Web

LARGEST = 9223372036854775807


@pytest.fixture
def web() -> Web:
    found = Web()
    client = found.broker.client()
    create(client, "t", kawal_columns="id bigint, note string")
    send(client, "t", batch(b'{"id":%d,"note":"\xc3\xa9"}' % LARGEST, b'{"id":1}', b"\xff"))
    return found


def sent(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


@pytest.mark.parametrize("order", ["newest", "oldest"])
def test_what_a_search_takes_and_finds_can_be_sent(web: Web, order: str) -> None:
    with web.at_work():
        source = source_of(ADDRESS, "t", Masks(map(parse_mask, ["t:key"])))
        asked = Asked("t", "", "", (), order, {})
        args = (
            ADDRESS,
            asked,
            source,
            "SELECT * FROM `t` WHERE\nid > 1",
            Look(source.mask, ("id",)),
            Bounds(),
        )
        found, span = look_for(*args)
        again, span_again = sent(look_for(*sent(args)))
    assert [row.offset for row in again.rows] == [0]
    assert again.rows == found.rows
    assert (again.looked, again.total, span_again) == (3, 3, span)


@pytest.mark.parametrize(
    "text", ["SELECT id FROM t WHERE id > 1", "SELECT dely FROM t", "DATABASE d", "UNFIT t"]
)
def test_what_a_preview_takes_and_tells_can_be_sent(web: Web, text: str) -> None:
    with web.at_work():
        told = preview_of(ADDRESS, text, Masks(()), Bounds())
        again = sent(preview_of(*sent((ADDRESS, text, Masks(()), Bounds()))))
    assert again.definition == told.definition
    assert again.mistake == told.mistake
    assert again.columns == told.columns
    assert (again.found is None) == (told.found is None)
    if told.found is not None:
        assert again.found.rows == told.found.rows


def test_a_statement_that_is_wrong_is_a_sentence_there_too(web: Web) -> None:
    asked = Asked("t", "", "", (), "newest", {})
    with web.at_work():
        source = source_of(ADDRESS, "t", Masks(()))
        with pytest.raises(PageError, match="dely"):
            look_for(ADDRESS, asked, source, "SELECT dely FROM t", Look(), Bounds())
