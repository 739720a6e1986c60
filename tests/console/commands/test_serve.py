"""`kawal serve`: the settings it gives the server, and its end when the server cannot start."""

from collections.abc import Callable
from pathlib import Path

import pytest

from broker.config.config import Config
from broker.config.config_sources import LoadedConfig
from broker.server import run as server
from broker.server.listeners import StartError
from console.cli import main
from wal.errors import StoreError, StoreInUse


@pytest.mark.parametrize(
    "error",
    [
        StartError("127.0.0.1:9092 is in use"),
        StoreError("the data directory was written by a newer version"),
        StoreInUse("the data directory is in use by process 7", 7),
    ],
)
def test_a_server_that_cannot_start_ends_with_its_sentence(
    error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(config: Config, *, ready: Callable[[str], None], load: object, **_: object) -> int:
        raise error

    monkeypatch.setattr(server, "main", refuse)
    assert main(["serve"]) == 1
    assert capsys.readouterr().err == f"kawal: {error}\n"


def test_the_ready_line_is_printed_when_the_server_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    configs = []

    def serve(config: Config, *, ready: Callable[[str], None], load: object, **_: object) -> int:
        configs.append(config)
        ready("127.0.0.1:4321")
        return 0

    monkeypatch.setattr(server, "main", serve)
    assert main(["serve", "--listen", "127.0.0.1:0", "--data", "/tmp/d", "--set", "kawal.vnodes=3"]) == 0
    assert capsys.readouterr().out == "kawal ready 127.0.0.1:4321\n"
    assert (configs[0].listeners, configs[0].log_dirs) == (("127.0.0.1:0",), "/tmp/d")
    assert configs[0].kawal_vnodes == 3


def test_a_bad_setting_starts_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delattr(server, "main")
    assert main(["serve", "--set", "kawal.vnodes=0"]) == 1
    assert "between 1 and 256" in capsys.readouterr().err


def test_a_key_without_effect_is_warned_of(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--print-config", "--set", "num.io.threads=8"]) == 0
    captured = capsys.readouterr()
    assert captured.err.startswith("kawal: warning: --set num.io.threads: ")
    assert "listeners " in captured.out


def test_the_file_is_read_again_with_the_same_flags(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loads: list[Callable[[], LoadedConfig] | None] = []

    def serve(config: Config, *, load: Callable[[], LoadedConfig] | None, **_more: object) -> int:
        loads.append(load)
        return 0

    monkeypatch.setattr(server, "main", serve)
    monkeypatch.delenv("KAWAL_CONFIG", raising=False)
    file = tmp_path / "kawal.toml"
    file.write_text('"num.partitions" = 8\n')
    assert main(["serve", "--config", str(file), "--set", "broker.rack=r1"]) == 0
    file.write_text('"num.partitions" = 9\n"broker.rack" = "r2"\n')
    (load,) = loads
    assert load is not None
    assert (load().config.num_partitions, load().config.broker_rack) == (9, "r1")
    assert main(["serve"]) == 0
    assert loads[-1] is None


def test_the_first_user_is_handed_to_the_server_without_the_password(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    given: dict[str, dict[str, str]] = {}

    def serve(config: Config, *, users: dict[str, dict[str, str]], **_more: object) -> int:
        given.update(users)
        return 0

    monkeypatch.setattr(server, "main", serve)
    (tmp_path / "secret").write_text("hunter2\n")
    assert main(["serve", "--add-user", "admin", "--password-file", str(tmp_path / "secret")]) == 0
    assert set(given["admin"]) == {"SCRAM_SHA_256", "SCRAM_SHA_512"}
    assert "hunter2" not in str(given)
