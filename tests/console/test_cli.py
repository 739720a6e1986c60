"""The command line as a whole: commands, codes, sentences, what is imported."""

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from console import cli
from console.cli import COMMANDS, command_module, main, parser_of
from console.errors import FAILED, INTERRUPTED, OK, USAGE, CommandError

ROOT = Path(cli.__file__).resolve().parent.parent


def kawal(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "console.cli", *words],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def imported_by(*words: str) -> set[str]:
    """Return the modules that a command has imported when it ends."""
    code = f"from console.cli import *; main({list(words)!r}); print(*sys.modules, file=sys.stderr)"
    ended = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    return set(ended.stderr.split())


def test_the_version_is_printed() -> None:
    ended = kawal("version")
    assert (ended.returncode, ended.stderr) == (OK, "")
    assert ended.stdout.startswith("kawal ")
    assert ended.stdout == kawal("--version").stdout


def test_the_version_imports_neither_server_nor_client() -> None:
    heavy = {"trio", "kafka", "construct", "msgspec", "zstandard", "cramjam", "broker.core", "wal.log"}
    assert not heavy & imported_by("version")


def test_the_configuration_is_read_without_the_server() -> None:
    heavy = {"trio", "kafka", "construct", "broker.core", "wal.log", "tomllib", "broker.config.kafka_keys"}
    assert not heavy & imported_by("serve", "--print-config")


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == OK
    out = capsys.readouterr().out
    assert all(f"  {name} " in out for name in COMMANDS)
    assert main([]) == USAGE


def test_help_of_a_command_may_be_asked_for_in_front(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", "version"]) == OK
    assert capsys.readouterr().out.startswith("usage: kawal version")


def test_an_unknown_command_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["topcs"]) == USAGE
    assert capsys.readouterr().err == "kawal: 'topcs' is not a command; did you mean 'topics'?\n"
    assert main(["xyzzy"]) == USAGE
    assert "the commands are serve, topics" in capsys.readouterr().err


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_examples(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--help"]) == OK
    out = capsys.readouterr().out
    assert out.startswith(f"usage: kawal {name}")
    assert out.count(f"  kawal {name}") >= 2


def test_a_wrong_argument_points_to_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["version", "--loud"]) == USAGE
    assert capsys.readouterr().err == "kawal: unrecognized arguments: --loud; see 'kawal version --help'\n"


@pytest.mark.parametrize(
    ("raised", "code", "sentence"),
    [
        (CommandError("the thing broke"), FAILED, "kawal: the thing broke\n"),
        (KeyboardInterrupt(), INTERRUPTED, "kawal: interrupted\n"),
    ],
)
def test_a_command_that_fails_ends_with_a_sentence_and_a_code(
    raised: BaseException,
    code: int,
    sentence: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(_: object) -> int:
        raise raised

    monkeypatch.setattr(command_module("version"), "run", fail)
    assert main(["version"]) == code
    assert capsys.readouterr().err == sentence


def test_what_clients_chose_does_not_reach_the_terminal_as_it_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_words: list[str]) -> int:
        raise CommandError("group 'a\x1b[2J\u202eb\udcff' has no offsets\n  t-0: never read")

    monkeypatch.setattr(cli, "_run", fail)
    assert cli.main(["groups"]) == 1
    assert capsys.readouterr().err == (
        "kawal: group 'a\\x1b[2J\\u202eb\\udcff' has no offsets\n  t-0: never read\n"
    )


def test_a_reader_that_leaves_is_no_error() -> None:
    command = f"{sys.executable} -m console.cli config explain | head -1; echo ${{PIPESTATUS[0]}}"
    ended = subprocess.run(
        ["bash", "-c", command], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    assert ended.stdout == "Addresses\n0\n"
    assert ended.stderr == ""


def test_every_module_of_a_command_is_configured_and_run_alike() -> None:
    for name in COMMANDS:
        module: ModuleType = command_module(name)
        assert callable(module.run)
        assert parser_of(name, module).prog == f"kawal {name}"


def test_text_that_no_request_can_hold_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module = ModuleType("module")
    module.configure = lambda _: None  # type: ignore[attr-defined]
    module.run = lambda _: len("a\udcff".encode())  # type: ignore[attr-defined]
    monkeypatch.setattr(cli, "command_module", lambda _: module)
    assert main(["version"]) == FAILED
    assert capsys.readouterr().err == "kawal: 'a\\udcff' is not text in UTF-8\n"
