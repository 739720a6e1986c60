"""Topics as searches see them: columns and kinds, out of configurations."""

from __future__ import annotations

import pytest

from console.web.masks import EVERYTHING, Masks, parse_mask
from console.web.sources import Source, source_of
from tests.broker.kit import create
from tests.console.web.kit import ADDRESS, Web


@pytest.fixture
def web() -> Web:
    web = Web()
    client = web.broker.client()
    create(client, "flights", 1, kawal_columns="id bigint, delay int", cleanup_policy="compact")
    create(client, "late", -1, kawal_sql="SELECT id, delay * 2 AS twice FROM flights")
    create(client, "all", -1, kawal_sql="SELECT * FROM flights WHERE delay > 15")
    create(client, "other", -1, kawal_alias_of="flights")
    create(client, "everything", -1, kawal_sql="DATABASE default")
    return web


def source(web: Web, topic: str, *masks: str) -> Source:
    with web.at_work():
        return source_of(ADDRESS, topic, Masks(map(parse_mask, masks)))


@pytest.mark.parametrize(
    ("topic", "columns", "reads"),
    [
        ("flights", "id bigint, delay int", ""),
        ("late", "id bigint, twice bigint", "flights"),
        ("all", "id bigint, delay int", "flights"),
        ("other", "id bigint, delay int", "flights"),
        ("everything", "None", "default"),
    ],
)
def test_columns_are_those_that_records_have(web: Web, topic: str, columns: str, reads: str) -> None:
    found = source(web, topic)
    assert (str(found.columns), found.reads, found.is_view) == (columns, reads, reads != "")
    assert found.counts_offsets


def test_a_topic_whose_configurations_are_not_told_is_masked_as_a_whole(web: Web) -> None:
    assert source(web, "absent").problem
    assert source(web, "absent", "flights:delay").mask == EVERYTHING
    assert not source(web, "absent").mask


def test_the_masks_of_a_view_are_those_of_its_source_and_its_own(web: Web) -> None:
    found = source(web, "late", "flights:delay", "late:id")
    assert found.mask.columns == {"delay", "twice", "id"}
    assert source(web, "everything", "flights:delay").mask == EVERYTHING
