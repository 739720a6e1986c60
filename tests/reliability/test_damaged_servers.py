"""A simulated store is written to a real directory as it is; servers on it are compat_tests' matter."""

from __future__ import annotations

from pathlib import Path

from reliability.damaged_servers import write_out
from tests.sim.damage import made


def test_a_store_is_written_out_with_all_its_files(tmp_path: Path) -> None:
    disk = made("stopped").disk
    write_out(disk, tmp_path)
    written = {f"/data/{path.relative_to(tmp_path)}" for path in tmp_path.rglob("*") if path.is_file()}
    assert written == set(disk.files())
    for path in written:
        assert (tmp_path / path.removeprefix("/data/")).read_bytes() == disk.contents(path)
