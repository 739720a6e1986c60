"""SIGHUP and changed files with certificates: all is read before any of it is in effect."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import pytest
import trio
import trio.testing

from broker.config.config_sources import LoadedConfig, load
from broker.server.reload import WATCH_SECONDS, Reloader
from broker.server.tls_listeners import TlsListeners
from tests.broker.gateway import Gateway
from tests.broker.server.pems import CLIENT, CLIENT_KEY, SERVER, SERVER_KEY


class Server:
    """A broker with a configuration file and a certificate."""

    def __init__(self, folder: Path) -> None:
        self.pem, self.file = folder / "server.pem", folder / "kawal.toml"
        self.write(SERVER_KEY + SERVER, 1)
        self.configure(4)
        read = self.load().config
        self.gateway = Gateway(listeners=read.listeners, ssl_keystore_location=read.ssl_keystore_location)
        self.tls = TlsListeners()
        self.tls.accept(self.tls.prepare(read))
        self.reloader = Reloader(self.gateway.broker, self.load, self.tls)

    def write(self, pem: str, second: int) -> None:
        self.pem.write_text(pem)
        os.utime(self.pem, (second, second))

    def configure(self, partitions: int) -> None:
        self.file.write_text(
            f'"log.dirs" = "/data"\n"listeners" = "SSL://127.0.0.1:0"\n"num.partitions" = {partitions}\n'
            f'"ssl.keystore.location" = "{self.pem}"\n'
        )

    def load(self) -> LoadedConfig:
        return load(file=str(self.file), environment={})

    @property
    def subject(self) -> str:
        return self.tls.current["SSL"].subject


@pytest.fixture
def server(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> Server:
    caplog.set_level(logging.INFO, logger="kawal.server")
    return Server(tmp_path)


def test_a_wrong_certificate_changes_nothing_not_even_other_settings(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    server.write(SERVER_KEY, 2)
    server.configure(9)
    trio.run(server.reloader.reload)
    assert "SIGHUP: the configuration was not changed: the listener SSL cannot be served" in caplog.text
    assert server.subject == "CN=localhost,O=lab"
    assert server.gateway.broker.config.num_partitions == 4


def test_a_new_certificate_and_new_settings_are_in_effect_together(server: Server) -> None:
    server.write(CLIENT_KEY + CLIENT, 2)
    server.configure(9)
    trio.run(server.reloader.reload)
    assert server.subject == "CN=Dave,OU=dev,O=lab"
    assert server.gateway.broker.config.num_partitions == 9
    assert server.gateway.broker.stats.certificates_until_s == {"SSL": server.tls.current["SSL"].until_s}


def test_without_a_configuration_file_sighup_still_reads_certificates(server: Server) -> None:
    server.write(CLIENT_KEY + CLIENT, 2)
    trio.run(Reloader(server.gateway.broker, None, server.tls).reload)
    assert server.subject == "CN=Dave,OU=dev,O=lab"


def test_a_changed_file_is_noticed_by_itself_and_a_wrong_one_is_told_once(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    async def watch() -> None:
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(server.reloader.watch_certificates)
                server.write("", 2)
                await trio.sleep(3 * WATCH_SECONDS + 1)
                assert server.subject == "CN=localhost,O=lab"
                server.write(CLIENT_KEY + CLIENT, 3)
                await trio.sleep(WATCH_SECONDS + 1)
                scope.cancel()

    clock = trio.testing.MockClock(autojump_threshold=0.05)
    trio.run(watch, clock=clock)
    assert server.subject == "CN=Dave,OU=dev,O=lab"
    assert caplog.text.count("the certificates in use were kept") == 1
