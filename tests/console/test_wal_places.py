"""The logs and segments that a path names."""

from pathlib import Path

import pytest

from console.errors import CommandError
from console.wal_places import find_place, segment_paths
from tests.console.stored import segment_of
from wal.disk import OsDisk
from wal.disk_errors import DiskError


def test_a_data_directory_names_its_logs(data: Path) -> None:
    assert find_place(OsDisk(), f"{data}/").logs == (f"{data}/meta", f"{data}/default/vnode-0")


def test_a_folder_of_a_log_names_itself_even_without_segments(data: Path) -> None:
    segment = segment_of(data)
    log = str(segment.parent)
    assert find_place(OsDisk(), log).logs == (log,)
    assert segment_paths(OsDisk(), log) == [str(segment)]
    segment.unlink()
    assert find_place(OsDisk(), log).logs == (log,)
    assert segment_paths(OsDisk(), log) == []


def test_a_segment_file_names_itself(data: Path) -> None:
    segment = str(segment_of(data))
    place = find_place(OsDisk(), segment)
    assert (place.segment, place.logs) == (segment, ())


def test_what_names_no_log_is_told(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="does not exist"):
        find_place(OsDisk(), str(tmp_path / "missing"))
    with pytest.raises(CommandError, match=r"holds no log; name a data directory"):
        find_place(OsDisk(), str(tmp_path))
    (tmp_path / "file").touch()
    with pytest.raises(DiskError, match="not a directory"):
        find_place(OsDisk(), str(tmp_path / "file"))
