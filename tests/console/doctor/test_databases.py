"""Numbers of vnodes that do not fit what their databases hold are named."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.doctor.databases import LARGE_BYTES, Holding, check_databases, holdings, judged
from tests.broker.kit import batch, create, send
from tests.console.doctor.test_storage import config
from tests.console.test_wal_orphans import DiskGateway
from wal.disk import OsDisk


def test_a_directory_that_is_none_of_ours_has_no_finding(tmp_path: Path) -> None:
    assert list(check_databases(OsDisk(), config(tmp_path), cores=4)) == []


def test_what_a_database_holds_is_read_while_a_server_has_it_open(tmp_path: Path) -> None:
    gateway = DiskGateway(tmp_path)
    create(gateway.client(), "t", 3)
    create(gateway.client(), "v", -1, kawal_sql="SELECT * FROM t")
    send(gateway.client(), "t", batch(b"x" * 10_000))
    found = {held.name: held for held in holdings(OsDisk(), str(tmp_path))}
    default = found[next(iter(found))]
    assert default.partitions == 3, "views store nothing"
    assert default.vnodes == gateway.config.kawal_vnodes
    assert default.largest_bytes >= 10_000
    (finding,) = check_databases(OsDisk(), config(tmp_path), cores=4)
    assert (finding.check, finding.verdict) == ("vnodes", "ok")
    gateway.stop()


@pytest.mark.parametrize(
    ("held", "cores", "words"),
    [
        (Holding("d", 1, 16, 0), 4, "'d' has 1 vnode for 16 partitions: no more logs than that"),
        (Holding("d", 2, 500, 0), 8, "'d' has 2 vnodes for 500 partitions: no more logs than that"),
        (Holding("d", 64, 3, 0), 4, "'d' has 64 vnodes for 3 partitions: most of them hold nothing"),
        (Holding("d", 2, 4, LARGE_BYTES), 2, "'d' has a vnode of 256 GiB"),
    ],
)
def test_a_number_that_does_not_fit_is_named_with_what_is_held(held: Holding, cores: int, words: str) -> None:
    (finding,) = judged(held, cores=cores)
    assert finding.verdict == "warning"
    assert words in finding.text


@pytest.mark.parametrize(
    ("held", "cores"),
    [
        (Holding("d", 2, 0, 0), 64),
        (Holding("d", 1, 15, 0), 64),
        (Holding("d", 2, 500, 0), 2),
        (Holding("d", 7, 0, 0), 2),
        (Holding("d", 64, 32, LARGE_BYTES - 1), 64),
    ],
)
def test_a_number_that_fits_is_not(held: Holding, cores: int) -> None:
    assert list(judged(held, cores=cores)) == []
