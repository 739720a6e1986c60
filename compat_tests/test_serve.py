"""`kawal serve` as scripts rely on it: the ready line, exit codes, one-sentence errors, quick ends."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import OFFSET_END, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic

from compat_tests.broker import API_VERSIONS_REQUEST, HOST, Broker
from compat_tests.confluent import make_producer, open_consumer, produce
from compat_tests.conftest import StartBroker
from compat_tests.kawal_broker import KAWAL
from compat_tests.process import queued_seconds
from compat_tests.served import Served, check_that_a_supervisor_hears_of_one_life, serving
from compat_tests.times import quickest, yardstick_seconds
from compat_tests.topics import create_topic
from compat_tests.waiting import eventually

pytestmark = pytest.mark.only_kawal(reason="the command line is the gateway's own")


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Any]:
    """Yield a function that runs `kawal serve` on a free port, data in `tmp_path/data`; later flags win."""
    # Its address is printed, too; test_web_console.py reads that.
    with serving(Served, tmp_path, "--listen", f"{HOST}:0", "--set", "kawal.console.listeners=none") as start:
        yield start


@contextmanager
def idle_connections(broker: Broker, count: int) -> Iterator[None]:
    """Open connections that say nothing."""
    with ExitStack() as stack:
        for _ in range(count):
            stack.enter_context(socket.create_connection((HOST, broker.port), timeout=60))
        yield


def broker_configs(port: int) -> dict[str, str]:
    admin = AdminClient({"bootstrap.servers": f"{HOST}:{port}"})
    node = str(next(iter(admin.list_topics(timeout=60).brokers)))
    resource = ConfigResource(ConfigResource.Type.BROKER, node)
    return {
        name: entry.value for name, entry in admin.describe_configs([resource])[resource].result(60).items()
    }


def test_exactly_one_line_is_printed_when_it_answers(serve: Any) -> None:
    served = serve()
    port = served.wait_until_ready()
    with socket.create_connection((HOST, port), timeout=60) as connection:
        connection.sendall(API_VERSIONS_REQUEST)
        assert connection.recv(100)
    served.end()
    assert served.out.read_text() == f"kawal ready {HOST}:{port}\n"


ENOUGH_STARTS = 8
YARDSTICKS = 4.5
"""Half a second where the yardstick takes 0.13 s, and a little more: other tests run beside this one."""


def test_the_first_answer_comes_about_half_a_second_after_the_start(serve: Any, tmp_path: Path) -> None:
    allowed_seconds = YARDSTICKS * yardstick_seconds()
    took: list[float] = []
    while len(took) < ENOUGH_STARTS and min(took, default=allowed_seconds) >= allowed_seconds:
        served = serve()
        port = served.wait_until_ready()
        with socket.create_connection((HOST, port), timeout=60) as connection:
            connection.sendall(API_VERSIONS_REQUEST)
            assert connection.recv(100)
        took.append(time.monotonic() - served.started - queued_seconds(served.process.pid))
        served.end()
    assert min(took) < allowed_seconds, (took, allowed_seconds)


def test_sigquit_writes_all_stacks_into_the_log_and_the_server_goes_on(serve: Any) -> None:
    served = serve()
    port = served.wait_until_ready()

    def dumps() -> int:
        return int(served.err.read_text().count("thread kawal-signals"))

    served.process.send_signal(signal.SIGQUIT)
    eventually(dumps, waiting_for="the stacks")
    served.process.send_signal(signal.SIGQUIT)
    eventually(lambda: dumps() == 2, waiting_for="the stacks once more")
    log = served.err.read_text()
    assert "the event loop turn=" in log
    assert "thread MainThread stack=" in log
    assert "thread kawal-disk-0 stack=" in log
    with socket.create_connection((HOST, port), timeout=60) as connection:
        connection.sendall(API_VERSIONS_REQUEST)
        assert connection.recv(100)
    served.end()


def test_systemd_is_told_of_the_start_of_life_and_of_the_stop(serve: Any) -> None:
    check_that_a_supervisor_hears_of_one_life(serve)


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_an_idle_server_at_once_with_exit_code_0(serve: Any, sent: signal.Signals) -> None:
    def ends() -> float:
        served = serve()
        served.wait_until_ready()
        seconds: float = served.end(sent)
        return seconds

    quickest(ends, below_seconds=2)


def test_sigterm_ends_a_busy_server_within_five_seconds_and_keeps_what_was_acked(
    start_broker: StartBroker,
) -> None:
    broker = start_broker()
    create_topic(broker, "busy")
    acked = produce(make_producer(broker), "busy", [b"v"] * 1_000)

    def ends() -> float:
        with open_consumer(broker, fetch_wait_max_ms=60_000) as consumer, idle_connections(broker, 20):
            consumer.assign([TopicPartition("busy", 0, OFFSET_END)])
            consumer.poll(1)
            code, seconds = broker.stop()
        assert code == 0
        broker.restart()
        acked.extend(produce(make_producer(broker), "busy", [b"v"]))
        return seconds

    quickest(ends, below_seconds=5, attempts=3)
    assert acked == list(range(len(acked)))


def test_a_port_in_use_is_refused_in_one_sentence(serve: Any, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        taken.listen()
        port = taken.getsockname()[1]
        sentence = serve("--listen", f"{HOST}:{port}").refusal()
    assert f"{HOST}:{port}" in sentence
    assert "in use" in sentence


def test_a_data_directory_in_use_is_refused_naming_the_process(serve: Any, tmp_path: Path) -> None:
    first = serve()
    first.wait_until_ready()
    sentence = serve().refusal()
    assert str(tmp_path / "data") in sentence
    assert str(first.process.pid) in sentence
    first.end()
    again = serve()
    again.wait_until_ready()
    again.end()


def test_a_directory_with_other_peoples_files_is_refused(serve: Any, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "holiday.jpg").write_bytes(b"beach")
    assert str(tmp_path / "data") in serve().refusal()
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["holiday.jpg"]


def test_lost_metadata_is_refused_and_never_made_anew(serve: Any, tmp_path: Path) -> None:
    served = serve()
    admin = AdminClient({"bootstrap.servers": f"{HOST}:{served.wait_until_ready()}"})
    admin.create_topics([NewTopic("precious", 1, 1)])["precious"].result(60)
    served.end()
    hidden = tmp_path / "data" / "meta"
    assert hidden.is_dir(), sorted(path.name for path in (tmp_path / "data").iterdir())
    hidden.rename(tmp_path / "elsewhere")
    assert "meta" in serve().refusal()
    (tmp_path / "elsewhere").rename(hidden)
    again = serve()
    again.wait_until_ready()
    again.end()


def test_an_unknown_setting_names_the_nearest_known_one(serve: Any) -> None:
    sentence = serve("--set", "num.partitons=3").refusal()
    assert "num.partitons" in sentence
    assert "'num.partitions'" in sentence


@pytest.mark.parametrize("setting", ["num.partitions=many", "num.partitions=0", "num.partitions"])
def test_a_value_a_setting_cannot_take_is_refused(serve: Any, setting: str) -> None:
    assert "num.partitions" in serve("--set", setting).refusal()


@pytest.mark.parametrize("address", ["nowhere", "127.0.0.1:99999", "127.0.0.1:x"])
def test_an_address_that_is_none_is_refused(serve: Any, address: str) -> None:
    assert address in serve("--listen", address).refusal()


def test_an_address_others_can_reach_needs_a_spoken_yes(serve: Any) -> None:
    assert "insecure" in serve("--listen", "0.0.0.0:0").refusal()


def test_flags_win_over_the_environment_and_that_over_the_file(serve: Any, tmp_path: Path) -> None:
    file = tmp_path / "kawal.toml"
    file.write_text('"num.partitions" = 2\n"log.retention.hours" = 3\n"log.roll.hours" = 5\n')
    served = serve(
        "--config", str(file), "--set", "num.partitions=9",
        KAWAL_NUM_PARTITIONS="7", KAWAL_LOG_RETENTION_HOURS="8",
    )  # fmt: skip
    configs = broker_configs(served.wait_until_ready())
    served.end()
    assert [configs[key] for key in ("num.partitions", "log.retention.hours", "log.roll.hours")] == [
        "9",
        "8",
        "5",
    ]


def test_mistakes_in_the_file_and_the_environment_name_their_place(serve: Any, tmp_path: Path) -> None:
    file = tmp_path / "kawal.toml"
    file.write_text('\n"num.partitons" = 2\n')
    sentence = serve("--config", str(file)).refusal()
    assert "kawal.toml" in sentence
    assert "'num.partitions'" in sentence
    assert "KAWAL_NUM_PARTITONS" in serve(KAWAL_NUM_PARTITONS="3").refusal()
    assert "missing.toml" in serve("--config", str(tmp_path / "missing.toml")).refusal()


def test_the_version_is_printed() -> None:
    printed = subprocess.run(
        [KAWAL, "version"], capture_output=True, text=True, timeout=60, check=True
    ).stdout
    assert re.search(r"\b0\.\d+\.\d+", printed)


def test_the_health_check_of_the_container_image_tells_a_server_that_answers(serve: Any) -> None:
    dockerfile = (Path(__file__).parent.parent / "Dockerfile").read_text()
    program, *command = json.loads(re.findall(r"HEALTHCHECK[^[]*(\[.*\])", dockerfile)[0])
    assert program == "kawal"
    served = serve()
    check = [KAWAL, *command, "--bootstrap", f"127.0.0.1:{served.wait_until_ready()}"]
    assert subprocess.run(check, capture_output=True, timeout=60, check=False).returncode == 0
    served.end()
    assert subprocess.run(check, capture_output=True, timeout=60, check=False).returncode == 1


def test_sighup_applies_the_file_and_a_file_with_an_error_changes_nothing(serve: Any, tmp_path: Path) -> None:
    file = tmp_path / "kawal.toml"
    file.write_text('"num.partitions" = 2\n')
    served = serve("--config", str(file))
    port = served.wait_until_ready()

    def hang_up(text: str, said: str) -> dict[str, str]:
        file.write_text(text)
        served.process.send_signal(signal.SIGHUP)
        eventually(lambda: said in served.err.read_text(), waiting_for=said)
        return broker_configs(port)

    configs = hang_up(
        '"num.partitions" = 3\n"kawal.vnodes" = 3\n', "at the next start only: kawal.vnodes 2 -> 3"
    )
    assert (configs["num.partitions"], "num.partitions 2 -> 3" in served.err.read_text()) == ("3", True)
    configs = hang_up('"num.partitions" = 4\n"num.partitons" = 4\n', "kawal.toml:2")
    assert configs["num.partitions"] == "3"
    served.end()


def test_sighup_without_a_file_says_so_and_nothing_else_happens(serve: Any) -> None:
    served = serve()
    port = served.wait_until_ready()
    served.process.send_signal(signal.SIGHUP)
    eventually(
        lambda: "no configuration file to read again" in served.err.read_text(), waiting_for="the log line"
    )
    assert broker_configs(port)["num.partitions"] == "4"
    served.end()


def test_what_the_server_writes_can_be_read_by_its_own_user_alone(serve: Any, tmp_path: Path) -> None:
    served = serve("--set", f"kawal.audit.file={tmp_path}/audit.log")
    served.wait_until_ready()
    data = tmp_path / "data"
    written = [tmp_path / "audit.log", data, *data.rglob("*")]
    served.end()
    assert len(written) > 5
    assert [path for path in written if path.exists() and path.stat().st_mode & 0o077] == []
