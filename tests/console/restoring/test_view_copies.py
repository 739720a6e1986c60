"""The views of a restored database are the same views, or are left out with a reason."""

from __future__ import annotations

import pytest

from console.errors import CommandError
from console.restoring.view_copies import ViewCopies, views_of
from tests.broker.gateway import Client, Gateway
from tests.broker.kit import create
from tests.console.restoring.servers import HERE, THERE, sessions, two_servers


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch) -> dict[str, Gateway]:
    gateways = two_servers(monkeypatch)
    for gateway in gateways.values():
        create(gateway.client(), "t", 2, kawal_columns="v int")
    return gateways


def copied(*, same_names: bool = True) -> ViewCopies:
    here, there = sessions()
    copies = ViewCopies(here, there)
    copies.make(views_of(here.topics(), "default"), same_names=same_names)
    return copies


def view(client: Client, name: str, **configs: str) -> None:
    create(client, name, -1, **configs)


def test_views_of_every_kind_are_made_again(servers: dict[str, Gateway]) -> None:
    client = servers[HERE].client()
    view(client, "query", kawal_sql="SELECT v FROM t WHERE v > 1", kawal_from="2026-01-01T00:00:00Z")
    view(client, "stable", kawal_sql="STABLE t WITH META")
    view(client, "alias", kawal_alias_of="t", kawal_replay_speed="60")
    view(client, "all", kawal_sql="DATABASE default")
    view(client, "kawal.restore.x", kawal_sql="DATABASE default")
    copies = copied()
    assert (sorted(copies.made), copies.left_out) == (["alias", "all", "query", "stable"], {})
    catalogues = [servers[name].broker.catalogue.by_name for name in (HERE, THERE)]
    for name in copies.made:
        here, there = (catalogue[name].view for catalogue in catalogues)
        assert here is not None
        assert there is not None
        assert (here.kind, here.statement, here.start, here.speed) == (
            there.kind,
            there.statement,
            there.start,
            there.speed,
        )


def test_what_would_be_another_view_is_left_out_with_the_reason(servers: dict[str, Gateway]) -> None:
    client = servers[HERE].client()
    view(client, "first", kawal_alias_of="t", kawal_to="offset 1")
    view(client, "query", kawal_sql="SELECT v FROM t")
    assert copied().left_out == {"first": "it is bounded by offsets, which are others in the copy"}
    renamed = copied(same_names=False)
    assert renamed.made == []
    assert set(renamed.left_out) == {"first", "query"}


def test_a_view_that_exists_already_must_be_the_same(servers: dict[str, Gateway]) -> None:
    view(servers[HERE].client(), "query", kawal_sql="SELECT v FROM t")
    view(servers[THERE].client(), "query", kawal_sql="SELECT v FROM t")
    assert copied().made == ["query"]
    view(servers[HERE].client(), "other", kawal_sql="SELECT v FROM t")
    view(servers[THERE].client(), "other", kawal_sql="SELECT v FROM t WHERE v > 1")
    with pytest.raises(CommandError, match=r"'other' and its copy differ in kawal\.sql"):
        copied()
