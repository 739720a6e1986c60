"""The process that holds the brokers, `kawal testing-host`: found, started, asked and ended from here.

It is a separate process so that nothing of Kawal's is imported into the tests' own, whose packages may have
the same names.  Commands are lines of JSON on its standard input; the end of that input, or of this process,
ends it.
"""

from __future__ import annotations

import atexit
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from queue import SimpleQueue
from types import TracebackType
from typing import IO, Any

from kawal_pytest.kawal_broker import KawalBroker, KawalError

COMMAND_VARIABLE = "KAWAL_COMMAND"
PROTOCOL = 1
START_SECONDS_MAX = 60
ANSWER_SECONDS_MAX = 60
STOP_SECONDS_MAX = 10


def find_command() -> list[str]:
    """Return the words of the command `kawal`: $KAWAL_COMMAND, this environment's, or the one on PATH.

    Raises: KawalError when there is none.
    """
    named = os.environ.get(COMMAND_VARIABLE)
    if named:
        return shlex.split(named)
    beside = Path(sys.executable).with_name("kawal")
    found = str(beside) if beside.is_file() else shutil.which("kawal")
    if found is None:
        raise KawalError(
            f"there is no command 'kawal' to start a broker with, neither beside {sys.executable} nor on "
            "PATH; install kawal, here or in an environment of its own, or name its command in the variable "
            f"{COMMAND_VARIABLE}"
        )
    return [found]


def _environment() -> dict[str, str]:
    """Return the host's environment, without the import path of the code under test."""
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    return {**kept, "PYTHONSAFEPATH": "1"}


class Host:
    """The host process; started by the first `broker`.  Threads may share it.

    The fixture `kawal` uses one for the whole test run, and `broker` one for the whole program.
    """

    def __init__(self, command: Sequence[str] | None = None) -> None:
        """Take the words of the command to run, by default those that `find_command` finds."""
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None
        self._errors: IO[bytes] | None = None
        self._owner_pid = 0
        self._starting = threading.Lock()
        self._writing = threading.Lock()
        # True once nothing more will be answered; changed by the reader, under `_writing`.
        self._has_ended = False
        self._last_id = 0
        self._waiting: dict[int, SimpleQueue[dict[str, Any] | None]] = {}
        self._first: SimpleQueue[dict[str, Any] | None] = SimpleQueue()

    def __enter__(self) -> Host:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def pid(self) -> int | None:
        """The process id, None before the first broker."""
        return None if self._process is None else self._process.pid

    def broker(self, settings: Mapping[str, object] | None = None, /, **more: object) -> KawalBroker:
        """Start a new, empty broker on a free port of 127.0.0.1.

        Settings are those of `kawal serve`, such as {"num.partitions": 3} or num_partitions=3.
        Raises: KawalError.
        """
        named = dict(settings or {})
        named.update({name.replace("_", "."): value for name, value in more.items()})
        opened = self.ask({"do": "open", "settings": named})
        return KawalBroker(self, opened["broker"], opened["port"])

    def ask(self, command: dict[str, Any]) -> Any:
        """Send a command and return its result.  Raises: KawalError with the host's sentence."""
        self._check_process()
        process = self._started()
        answers: SimpleQueue[dict[str, Any] | None] = SimpleQueue()
        with self._writing:
            if self._has_ended:
                raise KawalError(self._end_of_host())
            self._last_id += 1
            number = self._last_id
            self._waiting[number] = answers
            assert process.stdin is not None
            try:
                process.stdin.write(json.dumps({"id": number, **command}).encode() + b"\n")
                process.stdin.flush()
            except OSError as error:
                raise KawalError(self._end_of_host()) from error
        try:
            answer = _get(answers, ANSWER_SECONDS_MAX)
        finally:
            with self._writing:
                del self._waiting[number]
        if answer is None:
            raise KawalError(self._end_of_host())
        if "error" in answer:
            raise KawalError(answer["error"])
        return answer["result"]

    def close(self) -> None:
        """End the process and every broker in it; harmless when it has ended."""
        process, self._process = self._process, None
        if process is None or self._owner_pid != os.getpid():
            return
        assert process.stdin is not None
        try:
            process.stdin.close()
            process.wait(STOP_SECONDS_MAX)
        except (OSError, subprocess.TimeoutExpired):
            process.kill()
            process.wait()
        self._close_pipes(process)

    def _close_pipes(self, process: subprocess.Popen[bytes]) -> None:
        for pipe in (process.stdin, process.stdout, self._errors):
            if pipe is not None:
                pipe.close()

    def _check_process(self) -> None:
        """Raise KawalError in a fork of the process that started the host: two cannot share the pipes."""
        if self._process is not None and self._owner_pid != os.getpid():
            raise KawalError(
                f"the brokers were started by process {self._owner_pid}, and this is its fork {os.getpid()}: "
                "it may use their addresses, but only the other process may act on them"
            )

    def _started(self) -> subprocess.Popen[bytes]:
        with self._starting:
            if self._process is None:
                self._process = self._start()
            return self._process

    def _start(self) -> subprocess.Popen[bytes]:
        command = [*(self._command or find_command()), "testing-host"]
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  (closed with the host)
        try:
            process = subprocess.Popen(  # noqa: S603  (the command of this environment, or its owner's choice)
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                env=_environment(),
            )
        except OSError as error:
            self._errors.close()
            raise KawalError(f"cannot run {command[0]!r}: {error.strerror or error}") from error
        self._first = SimpleQueue()
        self._has_ended = False
        self._owner_pid = os.getpid()
        threading.Thread(target=self._read, args=(process,), name="kawal-host", daemon=True).start()
        hello = _get(self._first, START_SECONDS_MAX)
        if hello is not None and hello.get("ready") == PROTOCOL:
            return process
        process.kill()
        process.wait()
        words = self._last_words()
        self._close_pipes(process)
        if hello is None:
            raise KawalError(f"{shlex.join(command)} did not start: {words}")
        raise KawalError(
            f"{shlex.join(command)} is of another version ({hello.get('version')}) than kawal-pytest, and "
            "they do not understand each other; install the same version of both"
        )

    def _read(self, process: subprocess.Popen[bytes]) -> None:
        """Hand every answer to the thread that waits for it, and None to all when the host has ended."""
        assert process.stdout is not None
        first = self._first
        try:
            for line in process.stdout:
                answer = json.loads(line)
                waiting = first if "ready" in answer else self._waiting.get(answer["id"])
                if waiting is not None:
                    waiting.put(answer)
        except ValueError:
            # The pipe was closed under the reader: the run ends.
            return
        finally:
            first.put(None)
            with self._writing:
                self._has_ended = True
                for waiting in self._waiting.values():
                    waiting.put(None)

    def _end_of_host(self) -> str:
        return f"the process of the brokers has ended: {self._last_words()}"

    def _last_words(self) -> str:
        if self._errors is None or self._errors.closed:
            return "it was closed"
        self._errors.seek(0)
        return self._errors.read().decode(errors="replace").strip()[-2000:] or "it said nothing"


def broker(settings: Mapping[str, object] | None = None, /, **more: object) -> KawalBroker:
    """Start a new, empty broker, for programs without pytest; `with` or `close()` ends it.

    The brokers of a program share one host process, which ends with the program.  Raises: KawalError.
    """
    return _host_of(os.getpid()).broker(settings, **more)


@cache
def _host_of(_pid: int) -> Host:
    """Return the host of this process; a fork has another."""
    host = Host()
    atexit.register(host.close)
    return host


def _get(answers: SimpleQueue[dict[str, Any] | None], seconds: float) -> dict[str, Any] | None:
    from queue import Empty

    try:
        return answers.get(timeout=seconds)
    except Empty:
        raise KawalError(f"the process of the brokers did not answer for {seconds} s") from None
