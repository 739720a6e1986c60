"""SIGHUP: the file is read again, the log says what changed, and an error changes nothing."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

import pytest
import trio

from broker.catalogue.catalogue_records import BrokerConfigs
from broker.config.config_sources import LoadedConfig, load
from broker.server import logs
from broker.server import reload as module
from broker.server.reload import Reloader
from tests.broker.gateway import Gateway
from tests.broker.kit import create


class Server:
    """A broker with a configuration file."""

    def __init__(self, file: Path, caplog: pytest.LogCaptureFixture) -> None:
        self.file = file
        self.gateway = Gateway()
        self.reloader = Reloader(self.gateway.broker, self.load)
        self._caplog = caplog

    def load(self) -> LoadedConfig:
        return load(file=str(self.file), environment={})

    def hang_up(self, text: str) -> list[str]:
        """Write the file, send SIGHUP, and return the new lines of the log."""
        self.file.write_text(f'"log.dirs" = "/data"\n{text}')
        self._caplog.clear()
        trio.run(self.reloader.reload)
        return [record.getMessage() for record in self._caplog.records]


@pytest.fixture
def server(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> Server:
    caplog.set_level(logging.INFO, logger="kawal.server")
    server = Server(tmp_path / "kawal.toml", caplog)
    server.hang_up("")
    return server


def test_changed_keys_take_effect_and_are_named(server: Server) -> None:
    lines = server.hang_up('"num.partitions" = 7\n"message.max.bytes" = 5000\n')
    assert lines == [
        "SIGHUP: the configuration was read again; changed: num.partitions 4 -> 7, "
        "message.max.bytes 1048588 -> 5000"
    ]
    client = server.gateway.client()
    create(client, "t", partitions=-1)
    assert server.gateway.broker.catalogue.by_name["t"].partition_count == 7
    assert server.hang_up('"num.partitions" = 7\n"message.max.bytes" = 5000\n') == [
        "SIGHUP: the configuration was read again; changed: nothing"
    ]


def test_topics_take_the_new_defaults(server: Server) -> None:
    client = server.gateway.client()
    create(client, "t")
    topics = server.gateway.broker.topics
    assert topics.settings(server.gateway.broker.catalogue.by_name["t"]).retention_ms == 604_800_000
    server.hang_up('"log.retention.hours" = 1\n')
    assert topics.settings(server.gateway.broker.catalogue.by_name["t"]).retention_ms == 3_600_000


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('"num.partitions" = 9\n"num.partitons" = 9\n', ("kawal.toml:3", "'num.partitions'")),
        ('"num.partitions" = 9\n"message.max.bytes" = -1\n', ("kawal.toml:3", "message.max.bytes")),
        ('"num.partitions" = 9\nthis is not TOML\n', ("kawal.toml", "line 3")),
        (
            '"num.partitions" = 9\n"group.min.session.timeout.ms" = 1900000\n',
            ("group.min.session.timeout.ms",),
        ),
    ],
)
def test_a_file_with_an_error_changes_nothing_and_its_place_is_named(
    server: Server, text: str, named: tuple[str, ...]
) -> None:
    before = server.gateway.broker.config
    (line,) = server.hang_up(text)
    assert line.startswith("SIGHUP: the configuration was not changed: ")
    assert all(part in line for part in named), line
    assert server.gateway.broker.config == before


def test_a_file_that_is_missing_changes_nothing(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    server.file.unlink()
    caplog.clear()
    trio.run(server.reloader.reload)
    assert "the configuration was not changed: cannot read" in caplog.text


def test_what_needs_a_restart_is_named_once(server: Server) -> None:
    lines = server.hang_up('"listeners" = ["127.0.0.1:7777"]\n')
    assert lines == [
        "SIGHUP: the configuration was read again; changed: nothing",
        "SIGHUP: these take effect at the next start only: listeners 127.0.0.1:9092 -> 127.0.0.1:7777",
    ]
    assert len(server.hang_up('"listeners" = ["127.0.0.1:7777"]\n')) == 1
    assert "127.0.0.1:8888" in server.hang_up('"listeners" = ["127.0.0.1:8888"]\n')[1]
    assert server.gateway.broker.config.listeners == ("127.0.0.1:9092",)


def test_what_clients_have_set_stands_over_the_file(server: Server) -> None:
    catalogue = server.gateway.broker.catalogue
    catalogue.replay(BrokerConfigs(broker_id="", configs={"message.max.bytes": "6000"}))
    (line,) = server.hang_up('"message.max.bytes" = 5000\n')
    assert line.endswith("message.max.bytes 1048588 -> 5000 (not in effect: clients have set 6000)")
    assert server.gateway.broker.config.message_max_bytes == 6000
    catalogue.replay(BrokerConfigs(broker_id="", configs={}))
    assert server.gateway.broker.config.message_max_bytes == 5000


def test_without_a_file_the_log_says_so(caplog: pytest.LogCaptureFixture) -> None:
    gateway = Gateway()
    before = gateway.broker.config
    trio.run(Reloader(gateway.broker, None).reload)
    assert "there is no configuration file to read again" in caplog.text
    assert gateway.broker.config is before


def test_level_and_format_of_the_log_change(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[bool, str]] = []
    monkeypatch.setattr(logs, "set_up", lambda *, json_lines, level: calls.append((json_lines, level)))
    server.hang_up('"kawal.log.level" = "debug"\n')
    server.hang_up('"kawal.log.level" = "debug"\n"kawal.log.format" = "json"\n')
    server.hang_up('"kawal.log.level" = "debug"\n"kawal.log.format" = "json"\n')
    assert calls == [(False, "debug"), (True, "debug")]


def test_the_supervisor_learns_of_the_beginning_and_the_end(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    monkeypatch.setattr(module, "tell_supervisor", lambda state, _, **__: told.append(state))
    server.hang_up('"num.partitions" = 0\n')
    assert [state.partition("\n")[0] for state in told] == ["RELOADING=1", "READY=1"]


def test_a_fault_of_our_own_does_not_end_the_server(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> None:
        raise RuntimeError("a bug")

    server.gateway.break_things()
    monkeypatch.setattr(server.gateway.broker.live_config, "change_static", fail)
    assert server.hang_up('"num.partitions" = 9\n') == ["internal error: reading the configuration again"]


def test_two_signals_read_the_file_one_after_the_other(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading = 0

    async def run_sync(work: Callable[[], LoadedConfig], **_: object) -> LoadedConfig:
        nonlocal reading
        reading += 1
        assert reading == 1
        await trio.lowlevel.checkpoint()
        reading -= 1
        return work()

    async def both() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(server.reloader.reload)
            nursery.start_soon(server.reloader.reload)

    monkeypatch.setattr(trio.to_thread, "run_sync", run_sync)
    trio.run(both)


def test_keys_without_effect_are_named_once(server: Server) -> None:
    warning = '"num.io.threads" = 3\n'
    assert "'num.io.threads' is a key of Kafka that has no effect" in server.hang_up(warning)[0]
    assert server.hang_up(warning) == ["SIGHUP: the configuration was read again; changed: nothing"]
