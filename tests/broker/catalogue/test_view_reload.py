"""RELOAD TOPIC in the catalogue: the definition changes with its record, and with nothing less."""

from __future__ import annotations

from broker.catalogue.view_drafts import Draft
from broker.catalogue.view_reload import reload_record
from tests.broker.gateway import Gateway
from tests.broker.kit import create
from tests.broker.views import make_view


def test_a_reload_keeps_the_views_bounds() -> None:
    client = Gateway().client()
    create(client, "t")
    make_view(client, "v", "SELECT * FROM t", **{"kawal.from": "offset 3", "kawal.replay.speed": "2"})
    catalogue = client.gateway.broker.catalogue
    record = reload_record(catalogue.by_name["v"], Draft("SELECT * FROM t WHERE _offset > 7", "v"), catalogue)
    assert (record.view.start, record.view.speed) == ("offset 3", "2")
    assert record.configs["kawal.from"] == "offset 3"
    assert record.configs["kawal.sql"] == "SELECT * FROM t WHERE _offset > 7"
