"""The demo's processes; the programs here are shell scripts that behave as kawal does."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from pipeline.demo import processes
from pipeline.errors import PipelineError, SetupError


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that replaces the command kawal by a shell script."""

    def put(text: str) -> None:
        path = tmp_path / "kawal"
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        monkeypatch.setattr(processes, "kawal_command", lambda: str(path))

    return put


def alive(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_gateway_is_there_while_inside_and_gone_after(program: Any, tmp_path: Path) -> None:
    program(f'echo $$ > {tmp_path}/pid; echo "kawal ready 127.0.0.1:4711"; exec cat < {tmp_path}/fifo')
    os.mkfifo(tmp_path / "fifo")
    with processes.gateway(tmp_path) as address:
        process_id = int((tmp_path / "pid").read_text())
        assert address == "127.0.0.1:4711"
        assert alive(process_id)
    assert not alive(process_id)


def test_a_gateway_that_does_not_start_is_told_with_its_words(program: Any, tmp_path: Path) -> None:
    program("echo the port is in use >&2; exit 1")
    with (
        pytest.raises(PipelineError, match="the gateway did not start: the port is in use"),
        processes.gateway(tmp_path),
    ):
        pass


def test_a_driver_that_ends_by_itself_gives_its_exit_code(program: Any, tmp_path: Path) -> None:
    program("""echo '{"event":"note"}'; echo '{"event":"summary"}'; exit 3""")
    events: list[str] = []

    def note(event: processes.Event) -> bool:
        events.append(event["event"])
        return False

    code = processes.run_job(tmp_path / "j.toml", "b:1", note)
    assert (code, events) == (3, ["note", "summary"])


def test_a_driver_is_killed_with_its_children_in_the_middle(program: Any, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "alive")
    alive_pipe = os.open(tmp_path / "alive", os.O_RDONLY | os.O_NONBLOCK)
    os.mkfifo(tmp_path / "never")
    program(f"""exec 3> {tmp_path}/alive; (cat < {tmp_path}/never) & echo '{{"event":"note"}}'; wait""")
    assert processes.run_job(tmp_path / "j.toml", "b:1", lambda _event: True) is None
    os.set_blocking(alive_pipe, True)
    assert os.read(alive_pipe, 1) == b"", (
        "the end of a pipe is read when its last writer, the child, has ended"
    )
    os.close(alive_pipe)


def test_a_missing_command_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(SetupError, match="the command kawal is not installed"):
        processes.kawal_command()
