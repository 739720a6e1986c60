"""The process that holds the brokers, played by a script that repeats its commands."""

from __future__ import annotations

import atexit
import os
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from kawal_pytest import KawalError
from kawal_pytest import host as module
from kawal_pytest.host import Host, broker, find_command

SCRIPT = """#!{python}
import json, os, sys
print("a warning", file=sys.stderr)
{first}
for line in sys.stdin:
    command = json.loads(line)
    do = command["do"]
    if do == "die":
        sys.exit("out of luck")
    if do == "refuse":
        answer = {{"error": "not today"}}
    elif do == "open":
        answer = {{"result": {{"broker": "broker-1", "port": 4711, **command["settings"]}}}}
    else:
        answer = {{"result": [sys.argv[1:], os.environ.get("PYTHONPATH"), command]}}
    if do != "silence":
        print(json.dumps({{"id": command["id"], **answer}}), flush=True)
"""

HELLO = 'print(json.dumps({"ready": 1, "version": "1", "pid": os.getpid()}), flush=True)'


def script(folder: Path, first: str = HELLO) -> str:
    path = folder / "kawal"
    path.write_text(SCRIPT.format(python=sys.executable, first=first))
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def executable(tmp_path: Path) -> str:
    return script(tmp_path)


def test_a_command_is_answered_and_the_tests_import_path_kept_out(
    executable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", "/somewhere")
    with Host([executable]) as host:
        assert host.pid is None
        assert host.ask({"do": "x", "a": 1}) == [["testing-host"], None, {"id": 1, "do": "x", "a": 1}]
        assert host.pid is not None


def test_settings_may_be_words_or_keys(executable: str) -> None:
    with Host([executable]) as host:
        broker = host.broker({"broker": "b"}, port=5)
        assert (broker.name, broker.port) == ("b", 5)


def test_a_refusal_is_an_error_with_its_sentence(executable: str) -> None:
    with Host([executable]) as host, pytest.raises(KawalError, match=r"^not today$"):
        host.ask({"do": "refuse"})


def test_threads_share_it(executable: str) -> None:
    results: list[Any] = []
    with Host([executable]) as host:
        threads = [
            threading.Thread(target=lambda: results.append(host.ask({"do": "x"})[2]["id"])) for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(results) == [1, 2, 3, 4, 5, 6, 7, 8]


def test_its_last_words_are_told_when_it_dies(executable: str) -> None:
    with Host([executable]) as host:
        with pytest.raises(KawalError, match=r"(?s)has ended: a warning\nout of luck"):
            host.ask({"do": "die"})
        with pytest.raises(KawalError, match="has ended"):
            host.ask({"do": "x"})


def test_one_that_does_not_start_says_why(tmp_path: Path) -> None:
    host = Host([script(tmp_path, "sys.exit('no room')")])
    with pytest.raises(KawalError, match=r"(?s)testing-host did not start: .*no room"):
        host.ask({"do": "x"})


def test_one_of_another_version_is_refused(tmp_path: Path) -> None:
    host = Host([script(tmp_path, HELLO.replace('"ready": 1', '"ready": 2'))])
    with pytest.raises(KawalError, match="of another version"):
        host.ask({"do": "x"})


def test_one_that_cannot_be_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(KawalError, match=r"cannot run '.*/missing': No such file"):
        Host([str(tmp_path / "missing")]).ask({"do": "x"})


def test_silence_is_an_error_after_a_while(executable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ANSWER_SECONDS_MAX", 0.01)
    with Host([executable]) as host, pytest.raises(KawalError, match="did not answer for"):
        host.ask({"do": "silence"})


def test_a_fork_may_not_use_the_pipes_of_its_parent(executable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    host = Host([executable])
    host.ask({"do": "x"})
    with monkeypatch.context() as in_fork:
        in_fork.setattr(os, "getpid", lambda: 1)
        with pytest.raises(KawalError, match="this is its fork 1"):
            host.ask({"do": "x"})
    assert host.ask({"do": "x"})
    host.close()


def test_closing_twice_is_allowed(executable: str) -> None:
    host = Host([executable])
    host.ask({"do": "x"})
    host.close()
    host.close()


def test_the_command_is_named_by_the_environment_or_found_beside_python(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("KAWAL_COMMAND", "uvx 'kawal ' --quiet")
    assert find_command() == ["uvx", "kawal ", "--quiet"]
    monkeypatch.delenv("KAWAL_COMMAND")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path / "elsewhere"))
    with pytest.raises(KawalError, match=r"there is no command 'kawal' .* in the variable KAWAL_COMMAND"):
        find_command()
    (tmp_path / "elsewhere").mkdir()
    on_path = script(tmp_path / "elsewhere")
    assert find_command() == [on_path]
    beside = script(tmp_path)
    assert find_command() == [beside]


def test_without_pytest_brokers_share_a_host_and_end_with_their_block(
    monkeypatch: pytest.MonkeyPatch, executable: str
) -> None:
    monkeypatch.setenv("KAWAL_COMMAND", executable)
    hosts: list[Host] = []
    monkeypatch.setattr(atexit, "register", lambda close: hosts.append(close.__self__))
    module._host_of.cache_clear()
    try:
        with broker(port=5) as first, broker() as second:
            assert (first.port, second.port) == (5, 4711)
        assert [made.is_closed for made in (first, second)] == [True, True]
        assert len(hosts) == 1
    finally:
        module._host_of.cache_clear()
        for host in hosts:
            host.close()
