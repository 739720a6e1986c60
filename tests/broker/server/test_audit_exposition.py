"""The metrics of the audit log."""

from __future__ import annotations

from broker.server.audit_exposition import audit_families


def test_a_server_without_an_audit_log_has_no_metrics_of_it() -> None:
    assert list(audit_families({})) == []


def test_events_are_counted_by_what_became_of_them() -> None:
    counts = {"written": 5, "dropped": 1, "left_out": 2, "waiting": 3, "failing": 1}
    found = {
        (sample.name, sample.labels.get("outcome")): sample.value
        for family in audit_families(counts)
        for sample in family.samples
    }
    assert found == {
        ("kawal_audit_events_total", "written"): 5,
        ("kawal_audit_events_total", "dropped"): 1,
        ("kawal_audit_events_total", "left_out"): 2,
        ("kawal_audit_waiting_events", None): 3,
        ("kawal_audit_failing", None): 1,
    }
