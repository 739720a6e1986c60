"""The files of one task: row groups of several batches, and no more files open than there may be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.errors import SinkError
from pipeline.sinks import task_files
from pipeline.sinks.task_files import FileKey, Layout, TaskFiles


def rows(*numbers: int) -> Any:
    return pa.RecordBatch.from_pydict({"a": pa.array(numbers, pa.int64())})


def key(folders: str) -> FileKey:
    return FileKey("t", 0, folders)


def content(files: list[dict[str, Any]]) -> list[tuple[str, int, list[int]]]:
    """Return of each file its folders, its number, and its rows."""
    return [
        (file["folders"], file["serial"], pq.ParquetFile(file["path"]).read()["a"].to_pylist())
        for file in files
    ]


def test_batches_share_a_row_group_until_they_are_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_files, "BUFFER_BYTES", 32)
    files = TaskFiles(str(tmp_path), Layout())
    for number in range(0, 10, 2):
        files.add(key(""), number, rows(number, number + 1))
    [file] = files.finished(bad=False)
    parquet = pq.ParquetFile(file["path"])
    groups = [parquet.metadata.row_group(at).num_rows for at in range(parquet.num_row_groups)]
    assert (groups, parquet.read()["a"].to_pylist()) == ([4, 4, 2], list(range(10)))


def test_a_file_ends_after_its_most_rows_wherever_batches_end(tmp_path: Path) -> None:
    files = TaskFiles(str(tmp_path), Layout(max_rows_per_file=3))
    files.add(key(""), 10, rows(0, 1))
    files.add(key(""), 12, rows(2, 3, 4, 5, 6))
    made = files.finished(bad=True)
    assert content(made) == [("", 0, [0, 1, 2]), ("", 1, [3, 4, 5]), ("", 2, [6])]
    assert [(file["first"], file["bad"]) for file in made] == [(10, True)] * 3


def test_rows_of_many_folders_keep_few_files_open_and_come_into_further_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_files, "OPEN_FILES_MAX", 2)
    monkeypatch.setattr(task_files, "BUFFER_BYTES", 3 * 8)
    files = TaskFiles(str(tmp_path), Layout())
    for number in range(6):
        files.add(key("abc"[number % 3]), number, rows(number))
        assert len(files._open) <= 2
    assert sorted(content(files.finished(bad=False))) == [
        *(("a", 0, [0]), ("a", 1, [3])),
        *(("b", 0, [1]), ("b", 1, [4])),
        *(("c", 0, [2]), ("c", 1, [5])),
    ]


def test_a_folder_that_takes_no_files_is_named_with_the_reason(tmp_path: Path) -> None:
    folder = tmp_path / "a file"
    folder.touch()
    files = TaskFiles(str(folder), Layout())
    files.add(key(""), 0, rows(1))
    with pytest.raises(SinkError, match=f"rows cannot be written to {folder}: File exists"):
        files.finished(bad=False)


def test_a_full_disk_is_told_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "Error writing bytes to file. Detail: [errno 28] No space left on device")

    monkeypatch.setattr(pq.ParquetWriter, "write_table", full)
    files = TaskFiles(str(tmp_path), Layout())
    files.add(key(""), 0, rows(1))
    with pytest.raises(SinkError, match=": No space left on device"):
        files.finished(bad=False)


def test_without_rows_there_is_no_folder(tmp_path: Path) -> None:
    assert TaskFiles(str(tmp_path / "none"), Layout()).finished(bad=False) == []
    assert not (tmp_path / "none").exists()
