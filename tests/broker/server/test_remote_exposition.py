"""The metrics of the copy in an object store."""

from __future__ import annotations

from broker.server.remote_exposition import remote_families

NUMBERS = {
    "uploaded_bytes": 5, "rounds": 2, "failures": 1, "segments_missing": 3, "stopped": 0, "lag_ms": 1_500,
    "only_segments": 4, "only_bytes": 40, "fetched_bytes": 30, "served_bytes": 20, "read_failures": 6,
}  # fmt: skip


def test_every_number_has_its_family() -> None:
    values = {family.name: family.samples[0].value for family in remote_families(NUMBERS)}
    assert values == {
        "kawal_remote_uploaded_bytes": 5,
        "kawal_remote_rounds": 2,
        "kawal_remote_failures": 1,
        "kawal_remote_segments_missing": 3,
        "kawal_remote_stopped": 0,
        "kawal_remote_lag_seconds": 1.5,
        "kawal_remote_only_segments": 4,
        "kawal_remote_only_bytes": 40,
        "kawal_remote_fetched_bytes": 30,
        "kawal_remote_served_bytes": 20,
        "kawal_remote_read_failures": 6,
    }


def test_before_the_first_round_there_is_no_lag() -> None:
    names = [family.name for family in remote_families(NUMBERS | {"lag_ms": -1})]
    assert "kawal_remote_lag_seconds" not in names


def test_a_server_without_a_store_has_none_of_them() -> None:
    assert list(remote_families({})) == []
