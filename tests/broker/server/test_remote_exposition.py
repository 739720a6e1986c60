"""The metrics of the copy in an object store."""

from __future__ import annotations

from broker.server.remote_exposition import remote_families

NUMBERS = {
    "uploaded_bytes": 5, "rounds": 2, "failures": 1, "segments_missing": 3, "stopped": 0, "lag_ms": 1_500,
    "only_segments": 4, "only_bytes": 40, "fetched_bytes": 30, "served_bytes": 20, "read_failures": 6,
    "past_cuts": 7, "ahead_bytes": 15, "unread_bytes": 5,
}  # fmt: skip
JOURNAL = {
    "journal_puts": 9, "journal_stored_bytes": 90, "journal_failures": 2,
    "journal_local_failures": 1, "journal_put_ms": 4_500,
    "journal_waiting_bytes": 8, "journal_in_flight": 3,
    "journal_waiting": 0, "journal_open": 1, "journal_fenced": 0,
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
        "kawal_remote_past_cuts": 7,
        "kawal_remote_read_ahead_bytes": 15,
        "kawal_remote_unread_bytes": 5,
    }


def test_before_the_first_round_there_is_no_lag() -> None:
    names = [family.name for family in remote_families(NUMBERS | {"lag_ms": -1})]
    assert "kawal_remote_lag_seconds" not in names


def test_a_server_without_a_store_has_none_of_them() -> None:
    assert list(remote_families({})) == []


def test_signs_of_life_have_families_of_their_own() -> None:
    beats = {"heartbeat_signs": 12, "heartbeat_failures": 3}
    values = {
        sample.name: sample.value
        for family in remote_families(NUMBERS | beats)
        if family.name.startswith("kawal_remote_heartbeat")
        for sample in family.samples
    }
    assert values == {"kawal_remote_heartbeats_total": 12, "kawal_remote_heartbeat_failures_total": 3}


def test_durability_remote_has_families_of_its_own() -> None:
    families = remote_families(NUMBERS | JOURNAL)
    values = {
        (sample.name, *sample.labels.values()): sample.value
        for family in families
        if family.name.startswith("kawal_remote_journal")
        for sample in family.samples
    }
    assert values == {
        ("kawal_remote_journal_puts_total",): 9,
        ("kawal_remote_journal_stored_bytes_total",): 90,
        ("kawal_remote_journal_put_seconds_total",): 4.5,
        ("kawal_remote_journal_failures_total",): 2,
        ("kawal_remote_journal_local_failures_total",): 1,
        ("kawal_remote_journal_puts_in_flight",): 3,
        ("kawal_remote_journal_waiting_bytes",): 8,
        ("kawal_remote_journal_state", "waiting"): 0,
        ("kawal_remote_journal_state", "open"): 1,
        ("kawal_remote_journal_state", "fenced"): 0,
    }


def test_without_durability_remote_there_are_none_of_those() -> None:
    assert not [family for family in remote_families(NUMBERS) if "journal" in family.name]
