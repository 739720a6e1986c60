"""The last fetch of a connection: the partitions that it reads, as far as they are kept."""

from __future__ import annotations

from broker.loop.last_fetch import CLIENT_ID_KEPT, PLACES_KEPT, LastFetch, kept_id
from tests.broker.gateway import Gateway
from tests.broker.kit import create, fetching


def test_a_fetch_reads_its_partitions() -> None:
    fetch = LastFetch(1, "c", [("t", 0)])
    assert fetch.reads({("t", 0), ("u", 0)})
    assert not fetch.reads({("t", 1), ("u", 0)})
    assert not fetch.reads(set())


def test_a_long_client_id_is_cut() -> None:
    assert kept_id("c" * CLIENT_ID_KEPT) == "c" * CLIENT_ID_KEPT
    assert kept_id("c" * 32_767) == "c" * CLIENT_ID_KEPT
    assert kept_id(None) is None


def test_a_connection_keeps_a_few_places_of_a_fetch_of_very_many_and_none_that_do_not_exist() -> None:
    client = Gateway(kawal_vnodes=1).client()
    create(client, "t", 2 * PLACES_KEPT)
    client.send(fetching({("t", index): 0 for index in range(2 * PLACES_KEPT)}), 12)
    fetch = client.connection.last_fetch
    assert fetch is not None
    assert list(fetch.places) == [("t", index) for index in range(PLACES_KEPT)]
    client.send(fetching({("not there", 0): 0}), 12)
    fetch = client.connection.last_fetch
    assert fetch is not None
    assert list(fetch.places) == []


def test_a_connection_keeps_no_long_client_id() -> None:
    client = Gateway(kawal_vnodes=1).client()
    create(client, "t")
    client.send_under_name(b"c" * 15_000, fetching({("t", 0): 0}), 12)
    fetch = client.connection.last_fetch
    assert fetch is not None
    assert len(fetch.client_id) == CLIENT_ID_KEPT
    assert client.connection.client.client_id == fetch.client_id
