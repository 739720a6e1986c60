"""The classes in use are told with the failures that they survive, and the object store with its costs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from broker.config.config import Config
from console.doctor.durability import (
    PUTS,
    Sent,
    check_durability,
    check_store,
    classes_in,
    sent_by_server,
    sent_in,
    timed_puts,
)
from console.doctor.finding import Finding
from tests.broker.databases import create_database
from tests.console.doctor.machine import FakeFacts
from tests.console.doctor.test_storage import config
from tests.console.test_wal_orphans import DiskGateway
from wal.disk import OsDisk
from wal.memory_objects import MemoryObjects
from wal.objects import ObjectStoreError, StoreAway, StoreRefuses

STORE = {"kawal_remote_store": "s3://lake/logs"}
METRICS = """\
# TYPE kawal_remote_journal_puts_total counter
kawal_remote_journal_puts_total 500.0
kawal_remote_journal_stored_bytes_total 2e+06
kawal_remote_journal_state{state="open"} 1.0
process_start_time_seconds 1799999900.0
"""


def found(
    path: Path,
    seconds: list[float] | ObjectStoreError,
    sent: Sent | None = None,
    durability: str = "remote",
    price: float = 0.01,
) -> list[Finding]:
    """Return what is found about a store whose requests take so long."""

    def measure(_: Config) -> list[float]:
        if isinstance(seconds, ObjectStoreError):
            raise seconds
        return seconds

    settings: dict[str, Any] = {**STORE, "kawal_durability": durability}
    given = config(path, **settings)
    return list(check_store(FakeFacts(), given, price=price, measure=measure, sent=lambda *_: sent))


def test_before_the_first_start_it_is_the_class_of_the_server(tmp_path: Path) -> None:
    (finding,) = check_durability(OsDisk(), config(tmp_path))
    assert (finding.check, finding.verdict) == ("durability", "ok")
    assert "default: disk: acknowledged records survive a killed process and a power failure" in finding.text


def test_each_class_in_use_is_told_with_its_databases(tmp_path: Path) -> None:
    gateway = DiskGateway(tmp_path)
    for name in ("a", "b", "c"):
        create_database(gateway.client(), name, durability="os")
    assert classes_in(OsDisk(), config(tmp_path)) == {"disk": ["default"], "os": ["a", "b", "c"]}
    disk, os_class = check_durability(OsDisk(), config(tmp_path))
    assert disk.text.startswith("default: disk: ")
    assert os_class.text.startswith("a, b, c: os: acknowledged records survive a killed process;")
    gateway.stop()


def test_a_database_that_waits_for_a_store_that_is_not_named_is_a_problem(tmp_path: Path) -> None:
    gateway = DiskGateway(tmp_path)
    create_database(gateway.client(), "a", durability="disk")
    gateway.stop()
    with_store = config(tmp_path, **STORE, kawal_durability="remote")
    assert [finding.verdict for finding in check_durability(OsDisk(), with_store)] == ["ok", "ok"]
    without = [
        finding
        for finding in check_durability(OsDisk(), _without_store(with_store))
        if finding.verdict == "problem"
    ]
    assert [finding.text for finding in without] == [
        "default: durability 'remote' needs the object store of kawal.remote.store"
    ]


def _without_store(given: Config) -> Config:
    from dataclasses import replace

    return replace(given, kawal_remote_store=None)


def test_without_a_store_nothing_is_measured(tmp_path: Path) -> None:
    assert list(check_store(FakeFacts(), config(tmp_path))) == []


def test_a_copy_alone_costs_no_request_for_each_acknowledgement(tmp_path: Path) -> None:
    (finding,) = found(tmp_path, [0.02, 0.01, 0.03], durability="disk")
    assert (finding.check, finding.verdict) == ("store", "ok")
    assert finding.text == "a PUT takes 20.0 ms (median of 3), 30 ms at most"


def test_the_most_that_a_month_can_cost_follows_from_the_time_of_a_request(tmp_path: Path) -> None:
    store, cost = found(tmp_path, [0.03])
    assert (store.verdict, cost.check) == ("ok", "cost")
    assert cost.text == (
        "durability 'remote' sends at most 100.00 PUTs/s (262.8 million a month, 2,628.00 at 0.01 for 1,000) "
        "if something is written all the time, nothing while nothing is written"
    )


def test_of_a_running_server_it_is_what_it_has_sent(tmp_path: Path) -> None:
    _, cost = found(tmp_path, [0.03], sent=Sent(2.0, 1000.0))
    assert cost.text.startswith(
        "durability 'remote' has sent 2.00 PUTs/s (5.3 million a month, 52.56 at 0.01 for 1,000), and 2.6 GB "
        "a month, on average since the server's start; at most 100.00 PUTs/s"
    )


def test_a_slow_store_is_a_warning_where_acknowledgements_wait_for_it(tmp_path: Path) -> None:
    assert found(tmp_path, [0.3])[0].verdict == "warning"
    assert found(tmp_path, [0.3], durability="disk")[0].verdict == "ok"


@pytest.mark.parametrize(("error", "verdict"), [(StoreRefuses("x"), "problem"), (StoreAway("x"), "warning")])
def test_a_store_that_cannot_be_trusted_or_does_not_answer_is_told(
    tmp_path: Path, error: ObjectStoreError, verdict: str
) -> None:
    (finding,) = found(tmp_path, error)
    assert (finding.check, finding.verdict) == ("store", verdict)


def test_what_is_measured_is_removed_again() -> None:
    objects = MemoryObjects()
    moments = iter(range(100))
    assert timed_puts(objects, "t", lambda: float(next(moments))) == [1.0] * PUTS
    assert list(objects.list("")) == []


def test_the_rate_is_that_since_the_start() -> None:
    assert sent_in(METRICS, 1_800_000_000) == Sent(5.0, 20_000.0)
    assert sent_in("process_start_time_seconds 5.0", 10) is None
    assert sent_in("", 10) is None


def test_without_metrics_there_is_no_rate(tmp_path: Path) -> None:
    assert sent_by_server(config(tmp_path, kawal_http_listen="none"), 10) is None


def test_a_default_that_is_less_safe_than_another_database_is_a_warning(tmp_path: Path) -> None:
    gateway = DiskGateway(tmp_path)
    create_database(gateway.client(), "a", durability="disk")
    gateway.stop()
    given = config(tmp_path, **STORE, kawal_durability="remote")
    assert classes_in(OsDisk(), given) == {"remote": ["default"], "disk": ["a"]}
    assert [finding.verdict for finding in check_durability(OsDisk(), given)] == ["ok", "ok"]
    mixed: dict[str, list[str]] = {"disk": ["default"], "remote": ["a"]}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("console.doctor.durability.classes_in", lambda *_: mixed)
        *_, finding = check_durability(OsDisk(), given)
    assert (finding.check, finding.verdict) == ("durability", "warning")
    assert finding.text.startswith("a: durability 'remote' beside 'default' of durability 'disk'")


def test_a_running_server_that_acknowledges_nothing_more_is_a_problem(tmp_path: Path) -> None:
    text = (
        METRICS
        + 'kawal_remote_journal_state{state="fenced"} 1.0\nkawal_remote_journal_local_failures_total 8.0\n'
    )
    told = sent_in(text, 1_800_000_000.0)
    assert told is not None
    assert (told.has_stopped, told.local_failures) == (True, 8)
    *_, stopped, unreadable = found(tmp_path, [0.01] * 7, told)
    assert (stopped.verdict, unreadable.verdict) == ("problem", "problem")
    assert "acknowledges nothing more of durability 'remote'" in stopped.text
    assert "did not give back 8 times" in unreadable.text
    well = sent_in(METRICS, 1_800_000_000.0)
    assert well is not None
    assert (well.has_stopped, well.local_failures) == (False, 0)


def test_what_workers_have_sent_is_that_of_all() -> None:
    text = (
        'kawal_remote_journal_puts_total{worker="0"} 500.0\n'
        'kawal_remote_journal_puts_total{worker="1"} 300.0\n'
        'kawal_remote_journal_stored_bytes_total{worker="0"} 2e+06\n'
        'kawal_remote_journal_stored_bytes_total{worker="1"} 0\n'
        'kawal_remote_journal_state{worker="1",state="open"} 1.0\n'
        'process_start_time_seconds{worker="0"} 1799999950.0\n'
        'process_start_time_seconds{worker="1"} 1799999900.0\n'
    )
    assert sent_in(text, 1_800_000_000) == Sent(8.0, 20_000.0)
    fenced = text + 'kawal_remote_journal_state{worker="1",state="fenced"} 1.0\n'
    told = sent_in(fenced, 1_800_000_000)
    assert told is not None
    assert told.has_stopped
