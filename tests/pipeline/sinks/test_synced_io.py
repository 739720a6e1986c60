"""Files of a table's metadata that survive a power cut."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.sinks.synced_io import SyncedFileIO


def test_a_file_and_its_name_are_synced_when_it_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[tuple[Path, bytes]] = []
    monkeypatch.setattr(
        "pipeline.sinks.synced_io.sync_path",
        lambda path: synced.append((path, path.read_bytes() if path.is_file() else b"")),
    )
    path = tmp_path / "a folder" / "00001.metadata.json"
    path.parent.mkdir()
    file = SyncedFileIO().new_output(f"file://{path}")
    with file.create() as stream:
        assert stream.write(b"{}") == 2
        assert synced == []
    assert synced == [(path, b"{}"), (path.parent, b"")]
    assert file.exists()
    assert len(file) == 2
    with file.to_input_file().open() as written:
        assert written.read() == b"{}"


def test_a_file_that_is_there_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "there").write_bytes(b"old")
    with pytest.raises(FileExistsError):
        SyncedFileIO().new_output(f"file://{tmp_path}/there").create()
