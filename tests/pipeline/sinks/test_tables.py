"""The ledger of a job's table, by its kind."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.errors import SetupError
from pipeline.sinks.delta import DeltaLog
from pipeline.sinks.iceberg import IcebergLog
from pipeline.sinks.tables import ledger_of
from tests.pipeline.made import job


@pytest.mark.parametrize(
    ("kind", "log"), [("parquet", type(None)), ("delta", DeltaLog), ("iceberg", IcebergLog)]
)
def test_a_table_has_the_log_of_its_kind(tmp_path: Path, kind: str, log: type) -> None:
    assert type(ledger_of(job(tmp_path, sink={"kind": kind})).log) is log


def test_a_kind_whose_library_is_missing_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.sinks.tables.util.find_spec", lambda _name: None)
    with pytest.raises(SetupError, match=r"pip install 'kawal\[delta\]'"):
        ledger_of(job(tmp_path, sink={"kind": "delta"}))
