"""`kawal wal`."""

import json
from pathlib import Path
from shutil import rmtree

import pytest

from console.cli import main
from tests.console.stored import segment_of, spoil
from tests.wal.stores import open_store
from wal.disk import OsDisk


def test_inspect_shows_every_segment_in_a_line(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["wal", "inspect", str(data)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == [str(segment_of(data))]
    assert main(["wal", "inspect", str(data), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["records"] == 6


def test_inspect_shows_the_frames_of_a_segment(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["wal", "inspect", str(segment_of(data)), "--entries"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("    POSITION  KIND")
    assert "stream 7 data: offsets 3 to 3" in out
    assert main(["wal", "inspect", str(segment_of(data)), "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[0])["sequence"] == 0


def test_inspect_shows_the_entries_of_a_whole_log(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["wal", "inspect", str(data / "default" / "vnode-0"), "--entries"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"{segment_of(data)}:\n    POSITION")
    assert "stream 7 data: offsets 0 to 2" in out


def test_a_file_that_is_no_segment_is_told(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    segment_of(data).write_bytes(b"hello")
    assert main(["wal", "inspect", str(segment_of(data))]) == 1
    assert "not a segment" in capsys.readouterr().err
    assert main(["wal", "inspect", str(data)]) == 0
    assert "not a segment" in capsys.readouterr().out
    assert main(["wal", "inspect", str(data), "--json"]) == 0
    assert "not a segment" in json.loads(capsys.readouterr().out)["problem"]


def test_a_good_directory_is_verified(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["wal", "verify", str(data)]) == 0
    assert capsys.readouterr().out.count(": good; ") == 3
    assert main(["wal", "verify", str(segment_of(data))]) == 0


def test_a_vnode_that_lost_its_files_or_its_directory_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = open_store(OsDisk(), str(tmp_path / "data"))
    for number in range(3):
        store.create_vnode("default", number)
        store.open_vnode("default", number, now_ms=0).close(0)
    store.close(0)
    vnodes = tmp_path / "data" / "default"
    rmtree(vnodes / "vnode-1")
    rmtree(vnodes / "vnode-2")
    (vnodes / "vnode-2").mkdir()
    assert main(["wal", "verify", str(tmp_path / "data")]) == 1
    out = capsys.readouterr().out
    assert "vnode-1: this vnode was in use, but its directory is missing; restore it" in out
    assert "vnode-2: this vnode was in use, but all its files are missing" in out
    assert out.count("good") == 2
    assert main(["wal", "verify", str(tmp_path / "data"), "--json"]) == 1
    goodness = [json.loads(line)["good"] for line in capsys.readouterr().out.splitlines()]
    assert goodness == [False, False, True, True]


def test_damage_is_named_once_and_is_the_exit_code(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spoil(data)
    assert main(["wal", "verify", str(data)]) == 1
    out = capsys.readouterr().out
    assert out.count("  damage: ") == 1
    assert f"  damage: {segment_of(data)}: bytes 1024 to " in out
    assert main(["wal", "verify", str(data), "--json"]) == 1
    goodness = [json.loads(line)["good"] for line in capsys.readouterr().out.splitlines()]
    assert goodness == [True, False, False]


def test_damage_is_mended_only_when_the_loss_is_accepted(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spoil(data)
    assert main(["wal", "repair", str(data)]) == 1
    captured = capsys.readouterr()
    assert "vnode-0: damage: " in captured.out
    assert "nothing was changed" in captured.err
    assert main(["wal", "repair", str(data), "--accept-loss"]) == 0
    assert "vnode-0: repaired, 1 frames given up; what was there is kept in " in capsys.readouterr().out
    assert main(["wal", "verify", str(data)]) == 0


def test_a_directory_in_use_is_not_repaired(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = open_store(OsDisk(), str(data))
    assert main(["wal", "repair", str(data), "--accept-loss"]) == 1
    assert "in use by " in capsys.readouterr().err
    store.close(0)


@pytest.mark.parametrize("action", ["inspect", "verify", "repair"])
def test_a_path_without_a_log_is_told(
    action: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["wal", action, str(tmp_path / "missing")]) == 1
    assert "does not exist" in capsys.readouterr().err
    (tmp_path / "file").touch()
    assert main(["wal", action, str(tmp_path / "file")]) == 1
    assert capsys.readouterr().err.startswith("kawal: ")


def test_describe_shows_the_marks_of_every_log(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["wal", "describe", str(data)]) == 0
    out = capsys.readouterr().out
    assert out.count("  journal: ") == 2
    assert "the next start" in out
    assert main(["wal", "describe", str(data / "default" / "vnode-0"), "--json"]) == 0
    tree = json.loads(capsys.readouterr().out)
    assert [segment["path"] for segment in tree["segments"]] == [str(segment_of(data))]
    assert tree["journal"]["next_sequence"] == tree["segments"][0]["next_sequence"]


def test_describe_needs_a_whole_log(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["wal", "describe", str(segment_of(data))]) == 1
    assert "name its folder" in capsys.readouterr().err
