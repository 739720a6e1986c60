"""The gateway as the broker under test: started by its command, as a user would."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

from compat_tests.broker import Broker, chosen_workers, free_port
from compat_tests.process import ServerProcess

READY = "kawal ready "

SECRETS = ("jaas.config", "secret.key", "keystore.key", "certificate.chain", "truststore.certificates")
"""Ends of the keys whose values are secret."""

KAWAL = str(Path(sys.executable).with_name("kawal"))
"""The command installed beside the interpreter that runs the tests."""


class KawalBroker(Broker):
    """`kawal serve` with its defaults."""

    kind = "kawal"

    workers = 0
    """Its workers, if a test says how many."""

    wrap: Callable[[list[str]], list[str]] | None = None
    """Makes another command line of its own, if it is to run under something."""

    def start(self) -> None:
        """Start and wait for the ready line."""
        self.directory.mkdir(parents=True, exist_ok=True)
        workers = self.workers or chosen_workers()
        self.port = self.port or free_port(workers)
        command = [
            KAWAL,
            "serve",
            "--listen",
            self._listeners(workers),
            "--data",
            str(self.directory / "data"),
        ]
        if workers > 1:
            command += ["--workers", str(workers)]
        if "kawal.http.listen" not in self.settings:
            # Many gateways run at once, and only one of them could have the default port.
            command += ["--http", "none"]
        if "kawal.console.listeners" not in self.settings:
            command += ["--set", "kawal.console.listeners=none"]
        secrets = {key: value for key, value in self.settings.items() if key.endswith(SECRETS)}
        if secrets:
            # Others can read command lines, so the gateway takes no secrets from them.
            file = self.directory / "kawal.toml"
            file.write_text(
                "".join(f"{json.dumps(key)} = {json.dumps(text)}\n" for key, text in secrets.items())
            )
            command += ["--config", str(file)]
        for key, value in self.settings.items():
            if key not in secrets:
                command += ["--set", f"{key}={value}"]
        if self.wrap is not None:
            command = self.wrap(command)
        self._process = ServerProcess(command, log_path=self.directory / "broker.log", environment={})
        self._process.wait_for_line(READY)
